"""Records of sets that no paper used: they have rows, with dashes for what is not printed, and no claims."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from papers.pep import compare, scores
from papers.pep import tables as pep_tables
from papers.pep.records import REGRESSION

ROOT = Path(__file__).resolve().parents[3]


def described(task, **labels):
    file = {"path": f"{task}.csv", "sha256": "0" * 64, "bytes": 1, "urls": []}
    about = {"title": "x", "licence": "x", "citation": "x", "target": -1, "shape": [9, 1]}
    return {**about, **labels, "task": task, "files": [file]}


@pytest.fixture(autouse=True)
def added(tmp_path, monkeypatch):
    """A registry with a set of labels, of counts and of real targets more."""
    registry = yaml.safe_load((ROOT / "data/sources.yaml").read_text(encoding="utf-8"))
    pumps = described("classification", positive=["a"], negative=["b"])
    registry["sets"] = {"pumps_2": pumps, "calls": described("counts"), "springs": described("regression")}
    (tmp_path / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
    monkeypatch.setenv("TILTED_DATA", str(tmp_path))


def test_regressions_have_means_and_no_wins(fits_of_regressions):
    frame = scores.compared(fits_of_regressions)
    assert scores.datasets(frame) == ["boston", "springs"]
    assert set(scores.real(frame)["dataset"]) == {"boston"} and len(scores.made_up(frame)) == 0
    assert set(compare.means(frame)["dataset"]) == {"boston", "springs"}
    assert set(pep_tables.wins(frame)["dataset"]) == {"all", "boston"}
    assert [line.split(":")[0] for line in pep_tables.covered(frame)] == ["UCI", "Others"]
    with pytest.raises(ValueError, match="unknown outcome or data set: iris"):
        scores.compared(frame.replace({"dataset": {"springs": "iris"}}))


def line(dataset, alpha, split):
    scores = {"nlml": 123.5, "smse": 0.125, "smll": -1.25}
    where = {"dataset": dataset, "split": split, "alpha": alpha, "m": 5, "start": "data"}
    where["protocol"] = "as-described"
    return {
        **where,
        "n_train": 455,
        "n_test": 51,
        **scores,
        "evaluations": 77,
        "outcome": "ok",
        "message": "",
    }


@pytest.fixture
def fits_of_regressions():
    wanted = product(("springs", "boston"), ("0", "1"), (0, 1))
    return REGRESSION.frame(line(*each) for each in wanted)
