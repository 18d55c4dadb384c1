"""The timing experiment: equal hyperparameters, cold inferences, times that compare."""

from dataclasses import replace

import pytest

from papers import data
from papers.cli import main
from papers.core import records
from papers.core.verdicts import FAILS, HOLDS, IN_PART, TOO_FEW, UNDECIDED
from papers.core.verify import Selection, verify
from papers.qp import fits as qp
from papers.qp import timing
from papers.qp.records import TIMING
from tilted import api


@pytest.fixture(scope="module")
def wine():
    return data.load("wine13", "as-released")


def test_every_method_infers_at_eps_first_tuning(wine, monkeypatch):
    calls = []
    fit = api.fit
    monkeypatch.setattr(api, "fit", lambda *a, **k: calls.append((a, k)) or fit(*a, **k))
    ep, other, quick = timing.measure(wine, "as-released", [(1, 4)], repeats=2)
    timed = [call for call in calls if call[1]["optimise"] is False]
    tuned = qp.run_fold(wine, "as-released", "ep", 1, 4)[0]
    assert [a[3] for a, _ in timed] == ["ep"] * 2 + ["qp"] * 4
    assert [k["projection"] is None for _, k in timed] == [True] * 4 + [False] * 2
    assert {(a[4].variance, a[4].lengthscale) for a, _ in timed} == {
        (tuned["hyperparameters"]["variance"], tuned["hyperparameters"]["lengthscale"])
    }
    assert all(k.get("start") is None for _, k in timed)
    assert set(ep) == {*TIMING.columns} and (ep["seed"], ep["fold"], ep["N"]) == (1, 4, tuned["n_train"])
    assert (ep["method"], other["method"], quick["method"]) == timing.METHODS
    assert other["sweeps"] == quick["sweeps"]
    assert ep["sweeps"] > 1 and 0 < ep["seconds"] < other["seconds"]


def test_a_time_is_the_best_of_its_repeats(wine, monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    record = qp.run_fold(wine, "as-released", "ep", 0, 0)[0]
    monkeypatch.setattr(timing.time, "process_time", lambda: next(clock))
    cell = qp.cell_of(wine, "as-released", "ep", 0, 0)
    assert timing._timed(cell, record, "ep", 3)[1] == 2.0


def test_a_time_of_what_did_not_converge_compares_with_nothing(wine, monkeypatch):
    fit = api.fit

    def unfinished(*arguments, **options):
        found = fit(*arguments, **options)
        done = options.get("optimise", True) or arguments[3] != "qp"
        return found if done else replace(found, status=replace(found.status, converged=False))

    monkeypatch.setattr(api, "fit", unfinished)
    ep, other, _ = timing.measure(wine, "as-released", [(0, 0)], repeats=1)
    assert ep["seconds"] > 0 and (other["seconds"], other["sweeps"]) == (None, None)
    failed = {"hyperparameters": None, "n_train": 96, "seed": 0, "fold": 0}
    monkeypatch.setattr(qp, "run_fold", lambda *a: [failed])
    assert all(line["seconds"] is None for line in timing.measure(wine, "as-released", [(0, 0)], 1))


@pytest.fixture
def results(tmp_path):
    """Times of one fold."""
    lines = timing.timed(["wine13"], ["as-released"], seeds=1, repeats=1)
    records.put(tmp_path, {TIMING: lines})
    return tmp_path


def test_times_of_other_sets_stay_and_so_do_those_of_more_seeds(results, capsys):
    """Those of one set, timed again by itself, took the whole file's place."""
    of_one = records.load(TIMING, results)
    others = [line | {"dataset": "glass", "seed": seed} for seed in (0, 1) for line in _lines(of_one)]
    records.put(results, {TIMING: others})
    words = ["study", "timing", "--seeds", "1", "--repeats", "1", "--records", str(results)]
    assert main([*words, "--datasets", "wine13"]) == 0
    assert len(records.load(TIMING, results)) == len(of_one) + len(others)
    seen = capsys.readouterr().out
    records.put(results, {TIMING: [line | {"dataset": "glass"} for line in _lines(of_one)]})
    assert len(records.load(TIMING, results)) == len(of_one) + len(others), "two seeds are more than one"
    assert "0 added, 1 replaced, 0 the same" in seen, "times are never the same"


def _lines(frame):
    return frame.drop(columns="run").to_dict("records")


def test_sweeps_are_counted_again_and_seconds_are_not_compared(results, monkeypatch):
    frame = records.load(TIMING, results)
    assert frame["method"].tolist() == list(timing.METHODS) and (frame["seconds"] > 0).all()
    records.put(results, {TIMING: _lines(frame.assign(seconds=9.0))})
    found = verify([TIMING], results, Selection({}))
    assert [(row.rows, row.same) for row in found.groups] == [(3, 3)] and found.differences == []
    other = frame.assign(sweeps=frame["sweeps"].where(frame["method"] != "qp", frame["sweeps"] + 1))
    records.put(results, {TIMING: _lines(other)})
    (difference,) = verify([TIMING], results, Selection({})).differences
    assert "method qp: sweeps by -1" in difference
    monkeypatch.setattr(timing, "_timed", lambda *_: (None, None))
    assert verify([TIMING], results, Selection({})).groups[0].different == 3


# QP8


@pytest.mark.parametrize(
    "ratio, jitter, expected",
    [
        (1.0, 0.02, HOLDS),
        (1.2, 0.01, HOLDS),
        (1 / 1.2, 0.01, HOLDS),
        (1.3, 0.01, FAILS),
        (20.0, 0.01, FAILS),
        (1 / 1.3, 0.01, FAILS),
        (1.0, 0.5, UNDECIDED),
    ],
)
def test_same_time(studies, ratio, jitter, expected):
    """Sweeps in the ratio of the seconds, so that a sweep costs the same everywhere."""
    times = studies["timing"](ratio, jitter, cells=16)
    sweeps, each, *whole = timing.same_time(times.assign(sweeps=times["seconds"]), "as-released")
    assert [block.verdict for block in (sweeps, *whole)] == 3 * [expected] and each.verdict == HOLDS
    assert sweeps.decisive.effect == pytest.approx(ratio) or expected == HOLDS
    assert "the running time of the paper's is not testable" in sweeps.remark


def test_sweeps_decide_and_what_one_costs_stands_beside(studies):
    """Twice the sweeps of half the cost take the same time; neither is the same."""
    times = studies["timing"](cells=16)
    here = (times["method"] == "qp-lookup") & (times["dataset"] == "sonar")
    times.loc[here, "sweeps"] *= 2
    blocks = timing.same_time(times, "as-released")
    assert [block.rows()["Sonar"] for block in blocks] == ["no", "no", "yes", "yes"]
    sonar = [line.effect for block in blocks[:2] for line in block.lines if line.row == "Sonar"]
    assert sonar == pytest.approx([2.0, 0.5])
    assert [block.verdict for block in blocks] == [IN_PART, IN_PART, HOLDS, HOLDS]


def test_seconds_by_quadrature_stand_beside(studies):
    times = studies["timing"](cells=16)
    times.loc[times["method"] == "qp", "seconds"] *= 30
    *by_table, quadrature = timing.same_time(times, "as-released")
    assert [block.verdict for block in by_table] == 3 * [HOLDS] and quadrature.verdict == FAILS
    assert quadrature.decisive.effect == pytest.approx(30.0)
    low, high = quadrature.decisive.sample.low, quadrature.decisive.sample.high
    assert low < 30 < high and low * high == pytest.approx(900)  # symmetric in logarithms


def test_times_are_missing(studies):
    for times in (
        studies["timing"]()[:0],
        studies["timing"](protocol="corrected"),
        studies["timing"](methods=("ep", "qp")),
    ):
        block = timing.same_time(times, "as-released")[0]
        assert block.verdict == TOO_FEW and "timing.csv" in block.remark
    times = studies["timing"]()
    times.loc[(times["dataset"] == "glass") & (times["method"] == "ep") & (times["seed"] > 0), "seconds"] = (
        None
    )
    line = next(x for x in timing.same_time(times, "as-released")[0].lines if x.row == "Glass")
    assert (line.sample.status, line.note) == ("no data", "1 fold timed")
