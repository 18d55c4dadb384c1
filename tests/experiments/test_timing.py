"""The timing experiment: equal hyperparameters, cold inferences, times that compare."""

from dataclasses import replace

import pandas as pd
import pytest

from tilted import api, data
from tilted.__main__ import main
from tilted.experiments import qp, timing
from tilted.provenance import closure_hash
from tilted.results import stamps


@pytest.fixture(scope="module")
def wine():
    return data.load("wine13", "as-released")


def test_every_method_infers_at_eps_first_tuning(wine, monkeypatch):
    calls = []
    fit = api.fit
    monkeypatch.setattr(timing.api, "fit", lambda *a, **k: calls.append((a, k)) or fit(*a, **k))
    ep, other, quick = timing.measure(wine, "as-released", [(1, 4)], repeats=2)
    timed = [call for call in calls if call[1]["optimise"] is False]
    tuned = qp.run_cell(wine, "as-released", "ep", 1, 4)[0]
    assert [a[3] for a, _ in timed] == ["ep"] * 2 + ["qp"] * 4
    assert [k["projection"] is None for _, k in timed] == [True] * 4 + [False] * 2
    assert {(a[4].variance, a[4].lengthscale) for a, _ in timed} == {
        (tuned["hyperparameters"]["variance"], tuned["hyperparameters"]["lengthscale"])
    }
    assert all(k.get("start") is None for _, k in timed)
    assert tuple(ep) == timing.COLUMNS and (ep["seed"], ep["fold"], ep["N"]) == (1, 4, tuned["n_train"])
    assert (ep["method"], other["method"], quick["method"]) == timing.METHODS
    assert other["sweeps"] == quick["sweeps"]
    assert ep["sweeps"] > 1 and 0 < ep["seconds"] < other["seconds"]


def test_a_time_is_the_best_of_its_repeats(wine, monkeypatch):
    clock = iter([0.0, 5.0, 10.0, 12.0, 20.0, 29.0])
    record = qp.run_cell(wine, "as-released", "ep", 0, 0)[0]
    monkeypatch.setattr(timing.time, "process_time", lambda: next(clock))
    assert timing._timed(wine, "as-released", record, "ep", 3)[1] == 2.0


def test_a_time_of_what_did_not_converge_compares_with_nothing(wine, monkeypatch):
    fit = api.fit

    def unfinished(*arguments, **options):
        found = fit(*arguments, **options)
        done = options.get("optimise", True) or arguments[3] != "qp"
        return found if done else replace(found, status=replace(found.status, converged=False))

    monkeypatch.setattr(timing.api, "fit", unfinished)
    ep, other, _ = timing.measure(wine, "as-released", [(0, 0)], repeats=1)
    assert ep["seconds"] > 0 and (other["seconds"], other["sweeps"]) == (None, None)
    failed = {"hyperparameters": None, "n_train": 96, "seed": 0, "fold": 0}
    monkeypatch.setattr(timing.qp, "run_cell", lambda *a: [failed])
    assert all(line["seconds"] is None for line in timing.measure(wine, "as-released", [(0, 0)]))


def test_bad_requests_are_refused(wine):
    with pytest.raises(ValueError, match="classification"):
        next(timing.measure(data.load("coal", "as-released"), "as-released", [(0, 0)]))
    with pytest.raises(ValueError, match="repeat"):
        next(timing.measure(wine, "as-released", [(0, 0)], repeats=0))


def test_command_line_writes_the_table(tmp_path, capsys):
    path = tmp_path / "timing.csv"
    arguments = ["timing", "--datasets", "wine13", "--seeds", "1", "--repeats", "1", "--output", str(path)]
    assert main(arguments) == 0
    table = pd.read_csv(path)
    assert tuple(table.columns) == (*timing.COLUMNS, *stamps.COLUMNS)
    assert set(table["source"]) == {closure_hash(*timing.modules_of("as-released", "wine13"))}
    assert table["method"].tolist() == list(timing.METHODS) and (table["seconds"] > 0).all()
    assert str(path) in capsys.readouterr().out
    assert main(["timing", "--datasets", "coal", "--output", str(path)]) == 2
