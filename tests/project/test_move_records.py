"""The records' move to ``runs.csv``: every cell but stamps is what it was in commit b08d090."""

import csv
import gzip
import importlib.util
import io
import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "b08d090"
STAMP = {"source", "date", "environment"}


@pytest.fixture(scope="module")
def moved(tmp_path_factory):
    """The records before the move and after it."""
    folder = tmp_path_factory.mktemp("move")
    git = ["git", "-C", str(ROOT), "archive", BEFORE, "results"]
    made = subprocess.run(git, capture_output=True)
    if made.returncode:
        pytest.skip(f"commit {BEFORE} is not here")
    subprocess.run(["tar", "x", "-C", str(folder)], input=made.stdout, check=True)
    spec = importlib.util.spec_from_file_location("move_records", ROOT / "tools" / "move_records.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.move(folder / "results", folder / "moved")
    return folder / "results", folder / "moved", module


def text(path):
    content = path.read_bytes()
    return gzip.decompress(content).decode() if path.suffix == ".gz" else content.decode()


def table(path):
    return list(csv.DictReader(io.StringIO(text(path))))


@pytest.mark.slow  # neither the script nor what it read changes
def test_every_other_cell_is_what_it_was(moved):
    old, new, module = moved
    tables = [p for p in sorted(old.rglob("*.csv*")) if p.name not in module.LEFT_BEHIND]
    assert len(tables) == 24
    for path in tables:
        before, after = table(path), table(new / path.relative_to(old))
        assert len(before) == len(after) > 0
        kept = [name for name in before[0] if name not in STAMP]
        assert [*kept, "run"] == list(after[0])
        for one, other in zip(before, after, strict=True):
            assert [one[name] for name in kept] == [other[name] for name in kept]


@pytest.mark.slow  # neither the script nor what it read changes
def test_ground_truth_is_what_it_was(moved):
    old, new, _ = moved
    paths = sorted(old.rglob("*.json.gz"))
    assert len(paths) == 10
    for path in paths:
        before, after = json.loads(text(path)), json.loads(text(new / path.relative_to(old)))
        assert after.pop("run")
        assert after == {name: value for name, value in before.items() if name not in STAMP}


@pytest.mark.slow  # neither the script nor what it read changes
def test_runs_say_what_the_stamps_said(moved):
    old, new, module = moved
    runs = {line["run"]: line for line in table(new / "runs.csv")}
    listed = {}
    for file in sorted(new.rglob("*.csv*")):
        if file.name not in ("runs.csv", "SHA256SUMS"):
            for line in table(file):
                assert runs[line["run"]]["study"] == file.relative_to(new).as_posix()
                listed[line["run"]] = listed.get(line["run"], 0) + 1
    assert all(int(runs[name]["lines"]) == count for name, count in listed.items())
    assert {line["commit"] for line in runs.values()} == {""}, "it was not recorded"
    for name in ("pep/toy.csv", "rep/points.csv.gz"):
        for one, other in zip(table(old / name), table(new / name), strict=True):
            run = runs[other["run"]]
            assert (one["date"], one["environment"]) == (run["date"], run["environment"])
    seeds = module.stamps_of(old / "qp" / "provenance.json", module.KEYS["qp"])
    for line in table(new / "qp" / "corrected.csv.gz"):
        stamp = seeds["corrected", line["dataset"], line["method"], line["seed"]]
        run = runs[line["run"]]
        assert stamp[1:] == (run["protocol"], run["environment"], run["date"])


def test_committed_records_of_before_are_what_the_move_made(moved):
    """Lines of runs that were moved stand in today's records unchanged, but for those made again since."""
    _, new, _ = moved
    for file in sorted(new.rglob("*.csv*")):
        name = file.relative_to(new)
        if name.name in ("runs.csv", "SHA256SUMS"):
            continue
        moved_lines = table(file)
        columns, runs = list(moved_lines[0]), {line["run"] for line in moved_lines}
        here = [line for line in table(ROOT / "results" / name) if line["run"] in runs]
        kept = {tuple(line[column] for column in columns) for line in here}  # a column may have come since
        assert kept <= {tuple(line.values()) for line in moved_lines}
