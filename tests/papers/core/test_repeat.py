"""Repeating rows in blocks, and what an interrupted run leaves."""

from dataclasses import replace

import pandas as pd
import pytest

from papers.core import records
from papers.core import repeat as module
from papers.core.files import MissingData
from papers.core.repeat import align, repeat
from papers.core.study import Source

HERE = Source("a-mirror", "a-folder")


@pytest.fixture
def calls():
    """The (data set, seeds) of each call of the study's `repeat`."""
    return []


@pytest.fixture
def repeated(study, calls, monkeypatch):
    """A study that gives back its rows a block of a data set and seed at a time, and stops after some."""

    def again(rows, source):
        assert source == HERE
        calls.append((rows["dataset"].iloc[0], *sorted(set(rows["seed"]))))
        if rows["dataset"].iloc[0] == "iono" and again.missing:
            raise MissingData("no such data")
        if len(calls) > again.most:
            raise KeyboardInterrupt
        yield from ((of, {**row, "score": row["score"] + 1}) for row in rows.to_dict("records"))

    again.most, again.missing = 100, False
    of = replace(study, repeat=again, together=("dataset", "seed"))
    monkeypatch.setattr(records, "studies", lambda: [of])
    return of


@pytest.fixture
def rows(study, make):
    """Two methods of two data sets, three seeds each."""
    every = [
        make(dataset, method, seed, seconds=seed)
        for dataset in ("wine", "iono")
        for method in ("ep", "vb")
        for seed in range(3)
    ]
    return study.frame({**row, "run": "r"} for row in every)


def keys(result, study):
    return sorted((row["dataset"], row["method"], row["seed"]) for row in result.rows[study])


def test_rows_that_are_compared_are_repeated_together_the_longest_first(repeated, rows, calls):
    result = repeat({repeated: rows}, HERE)
    assert sorted(calls) == [(name, seed) for name in ("iono", "wine") for seed in range(3)]
    assert [seed for _, seed in calls] == [2, 2, 1, 1, 0, 0]
    assert len(keys(result, repeated)) == 12 and result.missing == []
    assert {round(row["score"], 6) for row in result.rows[repeated]} == {1.123457}


def test_a_killed_run_goes_on(repeated, rows, calls, tmp_path):
    kept = tmp_path / "kept.jsonl"
    repeated.repeat.most = 2
    with pytest.raises(KeyboardInterrupt):
        repeat({repeated: rows}, HERE, progress=kept)
    kept.write_text(kept.read_text() + '\n["0123", [["toy/fits.csv.gz", {"datas')  # what a kill cut short
    calls.clear()
    repeated.repeat.most = 1
    with pytest.raises(KeyboardInterrupt):
        repeat({repeated: rows}, HERE, progress=kept)
    calls.clear()
    repeated.repeat.most = 100
    result = repeat({repeated: rows}, HERE, progress=kept)
    assert len(calls) == 3 and len(keys(result, repeated)) == len(set(keys(result, repeated))) == 12
    calls.clear()
    again = repeat({repeated: rows}, HERE, progress=kept)
    assert calls == [] and keys(again, repeated) == keys(result, repeated)
    few = rows[rows["seed"] == 0].head(1)  # another block, of which nothing is kept
    assert len(keys(repeat({repeated: few}, HERE, progress=kept), repeated)) == len(calls) == 1


def test_missing_data_are_named_and_the_rest_is_repeated(repeated, rows, tmp_path):
    repeated.repeat.missing = True
    result = repeat({repeated: rows}, HERE, progress=tmp_path / "kept")
    assert result.missing == ["toy/fits.csv.gz: no such data"]
    assert {row["dataset"] for row in result.rows[repeated]} == {"wine"}
    repeated.repeat.missing = False
    assert len(keys(repeat({repeated: rows}, HERE, progress=tmp_path / "kept"), repeated)) == 12


def test_repeated_rows_stand_beside_the_recorded_ones(study, make, rows):
    made = [make(seed=2, score=0.5), make(seed=0, score=0.25), make(seed=9), make("iono", score=0.125)]
    recorded, again, lost = align(study, rows[rows["method"] == "ep"], made)
    assert recorded["seed"].tolist() == again["seed"].tolist() == [0, 2, 0]
    assert again["score"].tolist() == [0.25, 0.5, 0.125] and lost == 3
    assert list(recorded.columns) == list(again.columns) == list(study.types)


def test_seconds_are_those_of_the_rows_or_of_the_study(study, rows):
    assert module.seconds_of(study, rows[:3]).tolist() == [0.0, 1.0, 2.0]
    assert module.seconds_of(replace(study, seconds=0.5), pd.DataFrame({"x": [1, 2]})).tolist() == [0.5] * 2


def test_processes_find_a_study_by_its_file():
    from papers.rep.records import POINTS

    recorded = records.load(POINTS, "results")
    few = recorded[(recorded["method"] == "ep") & recorded["set"].isin([-1, 0])]
    result = repeat({POINTS: few}, Source(None, "results"), cores=2)
    first, second, lost = align(POINTS, few, result.rows[POINTS])
    assert len(few) == 2 and lost == 0 and result.missing == []
    assert first["sweeps"].tolist() == second["sweeps"].tolist()
