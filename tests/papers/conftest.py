"""What tests of several papers need."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]


def described(task, **labels):
    file = {"path": f"{task}.csv", "sha256": "0" * 64, "bytes": 1, "urls": []}
    about = {"title": "x", "licence": "x", "citation": "x", "target": -1, "shape": [9, 1]}
    return {**about, **labels, "task": task, "files": [file]}


@pytest.fixture
def added_sets(tmp_path, monkeypatch):
    """A registry with a set of labels, pumps_2, of counts, calls, and of real targets, springs, more."""
    registry = yaml.safe_load((ROOT / "data/sources.yaml").read_text(encoding="utf-8"))
    pumps = described("classification", positive=["a"], negative=["b"])
    registry["sets"] = {"pumps_2": pumps, "calls": described("counts"), "springs": described("regression")}
    (tmp_path / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
    monkeypatch.setenv("TILTED_DATA", str(tmp_path))
