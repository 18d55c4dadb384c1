"""A small study and fit files of it."""

import pytest

from papers.core import records, store
from papers.core.study import Float, Integer, Study, Text, ordered_text, seconds

STUDY = Study(
    "toy/fits.csv.gz",
    {
        "dataset": ordered_text(("wine", "iono")),
        "method": Text(),
        "seed": Integer(),
        "sweeps": Integer(nullable=True),
        "score": Float(6),
        "outcome": Text(),
        "message": Text(),
        "seconds": seconds(),
    },
    key=("dataset", "method", "seed"),
    order=("dataset", "method", "seed"),
    group=("dataset", "method"),
    checks=lambda frame: (
        ((frame["outcome"] == "failed") != frame["score"].isna(), "score against outcome"),
    ),
)
STAMP = {
    "commit": "abc",
    "version": "0.2.0",
    "protocol": "p",
    "environment": "python 3, here",
    "date": "2026-11-22",
}


def fit(dataset="wine", method="ep", seed=0, score=0.123456789, **more):
    """A line of the study, with the stamp of its job."""
    line = {
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "sweeps": 7,
        "score": score,
        "outcome": "ok",
        "message": "",
        "seconds": 1.5,
    }
    stamp = {name: more.pop(name) for name in STAMP if name in more}
    return {**line, **more, "run": {**STAMP, **stamp}}


@pytest.fixture(scope="session")
def study():
    return STUDY


@pytest.fixture(scope="session")
def make():
    return fit


@pytest.fixture
def collect(study, tmp_path, monkeypatch):
    """Function of lists of fits: write a file of each, and join them to the rows of a folder."""
    monkeypatch.setattr(records, "rows_function", lambda path: lambda record: [(study, record)])

    def written(*lists, folder=tmp_path / "results"):
        start = len(list(tmp_path.glob("*.jsonl.gz")))
        paths = [
            store.write_records(tmp_path / f"{start + k}.jsonl.gz", fits) for k, fits in enumerate(lists)
        ]
        return records.collect(paths, folder)[study.file]

    return written


@pytest.fixture
def folder(study, make, collect, tmp_path):
    """A folder with three rows of the study."""
    collect([make(seed=seed) for seed in range(3)])
    return tmp_path / "results"
