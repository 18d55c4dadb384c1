"""The search: its minimum, its log, its errors, no constraints, decoupled functions."""

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from tilted.bayesopt import log as logs
from tilted.bayesopt.loop import Evaluation, minimise
from tilted.bayesopt.rules import Settings

QUICK = Settings(optima=5, candidates=100)
BOX = [(-1.0, 2.0)]


def bowl(x):
    return float((x[0] - 0.3) ** 2)


def right(x):
    """Feasible from 0.8 on: the constrained minimum is there."""
    return float(x[0] - 0.8)


@pytest.mark.parametrize("rule", ["pesc", "improvement"])
def test_it_finds_the_constrained_minimum(rule):
    found = minimise(bowl, [right], BOX, 12, 0, rule=rule, settings=QUICK)
    assert found.confident
    assert found.recommended[0] == pytest.approx(0.8, abs=0.03)
    assert found.best.values[0] == pytest.approx(0.25, abs=0.03)
    assert found.best.feasible
    assert len(found.evaluations) == 12
    assert [e.why["rule"] for e in found.evaluations][2:4] == ["initial", rule]


def wave(x):
    return float(np.sin(4.0 * x[0]))


@pytest.mark.parametrize(
    "objective, constraint, asked, place",
    [(wave, right, 0, 1.178), pytest.param(bowl, right, 1, 0.8, marks=pytest.mark.slow)],
)
def test_decoupled_evaluations_are_of_the_function_that_matters(objective, constraint, asked, place):
    settings = Settings(optima=5, candidates=100, decoupled=True)
    found = minimise(objective, [constraint], BOX, 14, 2, settings=settings)
    later = found.evaluations[3:]
    assert all(sum(v is not None for v in e.values) == 1 for e in later)
    assert np.mean([e.values[asked] is not None for e in later]) > 0.7
    assert found.recommended[0] == pytest.approx(place, abs=0.1)


def test_it_goes_on_from_its_log_as_if_never_interrupted(tmp_path):
    path = tmp_path / "log.jsonl"
    whole = minimise(bowl, [right], BOX, 8, 3, settings=QUICK)
    seen = []

    def killed(x):
        if len(seen) == 5:
            raise KeyboardInterrupt
        return bowl(x)

    with pytest.raises(KeyboardInterrupt):
        minimise(killed, [right], BOX, 8, 3, path, settings=QUICK, progress=seen.append)
    with path.open("ab") as file:
        file.write(b'{"iteration": 5, "x": [0.')  # what a kill in the middle of a line leaves
    found = minimise(bowl, [right], BOX, 8, 3, path, settings=QUICK, progress=seen.append)
    assert found.resumed == 5
    assert [e.iteration for e in seen] == list(range(8))
    assert [e.x for e in found.evaluations] == [e.x for e in whole.evaluations]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["iteration"] for line in lines[1:]] == list(range(8))
    again = minimise(bowl, [right], BOX, 8, 3, path, settings=QUICK, progress=seen.append)
    assert again.resumed == 8 and len(seen) == 8
    np.testing.assert_array_equal(again.recommended, found.recommended)


SEARCH = """
import sys, time
from tilted.bayesopt.loop import minimise
from tilted.bayesopt.rules import Settings

def bowl(x):
    if len(seen) == 5:
        print("evaluating", flush=True)
        time.sleep(600)
    return float((x[0] - 0.3) ** 2)

seen = []
minimise(bowl, [lambda x: float(x[0] - 0.8)], [(-1.0, 2.0)], 8, 3, sys.argv[1],
         settings=Settings(optima=5, candidates=100), progress=seen.append)
"""


@pytest.mark.slow
def test_nothing_is_lost_by_sigkill(tmp_path):
    """A search killed while it evaluates goes on from what it had, to where it would have come."""
    path = tmp_path / "log.jsonl"
    child = subprocess.Popen([sys.executable, "-c", SEARCH, str(path)], stdout=subprocess.PIPE)
    try:
        assert child.stdout.readline() == b"evaluating\n"
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    assert child.returncode == -signal.SIGKILL
    assert len(logs.read(path)) == 1 + 5
    found = minimise(bowl, [right], BOX, 8, 3, path, settings=QUICK)
    whole = minimise(bowl, [right], BOX, 8, 3, settings=QUICK)
    assert found.resumed == 5
    assert found.evaluations == whole.evaluations
    np.testing.assert_array_equal(found.recommended, whole.recommended)


@pytest.mark.parametrize("gone, line", [(3, 4), (2, 3)])
def test_a_log_from_which_lines_are_missing_is_refused(tmp_path, gone, line):
    path = tmp_path / "log.jsonl"
    minimise(bowl, [], BOX, 4, 3, path, settings=QUICK, initial=5)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:gone] + lines[gone + 1 :]))
    with pytest.raises(ValueError, match=f"line {line} is not evaluation {line - 2}"):
        minimise(bowl, [], BOX, 6, 3, path, settings=QUICK, initial=5)
    path.write_text(lines[0] + '{"iteration": 0}\n')
    with pytest.raises(ValueError, match="line 2 is no evaluation"):
        minimise(bowl, [], BOX, 6, 3, path, settings=QUICK, initial=5)


def test_rounding_does_not_cross_the_bounds():
    """0.3 + 1.0 * (0.9 - 0.3) is above 0.9."""
    low, high = 0.3, 0.9
    assert low + 1.0 * (high - low) > high
    seen = []

    def falling(x):
        seen.append(x[0])
        return -float(x[0])

    found = minimise(falling, [], [(low, high)], 6, 0, settings=QUICK)
    assert max(seen) <= high and high - 1e-9 < found.recommended[0] <= high


def test_a_log_of_another_search_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    minimise(bowl, [], BOX, 2, 3, path, settings=QUICK)
    with pytest.raises(ValueError, match="another search: functions, seed differ"):
        minimise(bowl, [right], BOX, 2, 4, path, settings=QUICK)
    path.write_text("no json\n")
    with pytest.raises(ValueError, match="line 1 is not JSON"):
        minimise(bowl, [], BOX, 2, 3, path, settings=QUICK)


def test_an_infeasible_start_is_legal_and_said():
    found = minimise(bowl, [lambda x: -1.0 - x[0] ** 2], BOX, 5, 0, settings=QUICK)
    assert found.best is None and not found.confident
    assert "no feasible one was found" in found.message
    assert found.evaluations[-1].why["rule"] == "feasibility"
    assert found.evaluations[-1].why["infeasible_draws"] > 0


def test_bad_observations_name_place_and_function(tmp_path):
    path = tmp_path / "log.jsonl"
    with pytest.raises(ValueError, match=r"constraint 1 is nan at \["):
        minimise(bowl, [lambda x: np.nan], BOX, 4, 0, path, settings=QUICK)
    assert len(logs.read(path)) == 1  # nothing of that evaluation
    with pytest.raises(ValueError, match="the objective is inf"):
        minimise(lambda x: np.inf, [], BOX, 4, 0)
    with pytest.raises(ValueError, match="the objective is None at .*; observations must be finite"):
        minimise(lambda x: None, [], BOX, 4, 0)
    with pytest.raises(ValueError, match="constraint 2 is array.*, which is not a number"):
        minimise(bowl, [right, lambda x: np.zeros(2)], BOX, 4, 0)


@pytest.mark.parametrize(
    "changed, what",
    [
        ({"n_iter": 0}, "n_iter"),
        ({"seed": -1}, "seed"),
        ({"rule": "best"}, "no rule 'best'; known: pesc"),
        ({"rule": "improvement", "settings": Settings(decoupled=True)}, "only by the rule 'pesc'"),
    ],
)
def test_bad_arguments_are_refused(changed, what):
    arguments = {"n_iter": 3, "seed": 0} | changed
    with pytest.raises(ValueError, match=what):
        minimise(bowl, [], BOX, **arguments)


@pytest.mark.parametrize("settings", [{"optima": 0}, {"candidates": 0}, {"confidence": 1.0}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Settings(**settings)


def test_feasibility_of_what_was_not_observed_is_unknown():
    assert Evaluation(0, (0.0,), (1.0, None, 2.0)).feasible is None
    assert Evaluation(0, (0.0,), (1.0, None, -2.0)).feasible is False
    assert Evaluation(0, (0.0,), (1.0, 0.0, 2.0)).feasible is True
    assert Evaluation(0, (0.0,), (1.0,)).feasible is True


@pytest.mark.parametrize("content", ['{"yields": [1, 2, 3]}', "x,y,12,3", '{"bounds": [[0, 1]], "see'])
def test_a_file_that_is_no_log_stays_as_it_is(tmp_path, content):
    """It has no end of a line, as what a kill leaves of a first line: it was written over."""
    path = tmp_path / "mine.json"
    path.write_text(content)
    with pytest.raises(ValueError, match="something else than a log of this search"):
        minimise(bowl, [], BOX, 2, 3, path, settings=QUICK)
    assert path.read_text() == content


def test_two_searches_do_not_share_a_log(tmp_path):
    """Lines of both were in it, which no search could go on from."""
    path = tmp_path / "log.jsonl"

    def other(x):
        with pytest.raises(ValueError, match="another search is at work on"):
            minimise(bowl, [], BOX, 2, 3, path, settings=QUICK)
        return bowl(x)

    assert len(minimise(other, [], BOX, 2, 3, path, settings=QUICK).evaluations) == 2
    assert minimise(bowl, [], BOX, 3, 3, path, settings=QUICK).resumed == 2
