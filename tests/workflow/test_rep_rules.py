"""The relaxed-EP paper in the workflow: raw to standard files, five points, what reruns, what is refused."""

import numpy as np
import pytest

from tilted import data
from tilted.data import relaxed
from tilted.results.rep import records

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
rep:
  points: {sets: 2, block: 1}
  sets:
    blobs: {splits: 4, block: 2, flips: [0.1, 0.2]}
    heart: {splits: 3, block: 2, flips: [0], own: 3}
    pima: {splits: 2, block: 2, flips: [0]}
  boundary: {split: 0, steps: 5}
"""
STANDARD = [f"data/standard/relaxed/{name}.h5" for name in ("heart", "pima")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_of_repository):
    """A copy of the repository with a small configuration."""
    return copy_of_repository(tmp_path_factory.mktemp("rep"), SMALL)


def test_what_a_configuration_asks_for(folder, snakemake, mirror):
    out = snakemake(folder, "--dry-run", TILTED_DATA_MIRROR=str(mirror))
    counts = {
        "relaxed_choices": 2 + 3 + 1,  # once a set and share of flips, and on two more splits of heart
        "relaxed_fits": 4 + 2 + 1,
        "relaxed_own": 2,
        "relaxed_points": 2,
        "relaxed_picture": 2,
        "relaxed_records": 1,
        "standardise_relaxed": 2,
    }
    assert {rule: out.count(f"rule {rule}:") for rule in counts} == counts


def test_sets_from_their_raw_files_and_what_reruns(folder, snakemake, mirror):
    mirrored = {"TILTED_DATA_MIRROR": str(mirror)}
    out = snakemake(folder, *STANDARD, **mirrored)
    assert out.count("rule standardise_relaxed:") == 2 and out.count("rule download:") == 3
    for name, shape in (("heart", (270, 13)), ("pima", (532, 7))):
        made = data.read_standard(folder / f"data/standard/relaxed/{name}.h5")
        assert (made.name, made.variant, made.X.shape) == (name, "relaxed", shape)
        np.testing.assert_array_equal(made.X, relaxed.load(name, folder / "data").X)
    assert "Nothing to be done" in snakemake(folder, *STANDARD, **mirrored)
    found = {}
    for name in ("data/relaxed.py", "data/readers.py", "data/classification.py"):
        module = folder / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        found[name] = snakemake(folder, "--dry-run", *STANDARD).count("rule standardise_relaxed:")
        module.write_text(before, encoding="utf-8")
    assert found == {"data/relaxed.py": 2, "data/readers.py": 2, "data/classification.py": 0}


def test_five_points_to_their_record(folder, snakemake):
    points = SMALL[: SMALL.index("  sets:")]
    (folder / "config/points.yaml").write_text(points, encoding="utf-8")
    out = snakemake(folder, "relaxed", config="config/points.yaml")
    assert out.count("rule relaxed_points:") == 2
    table = records.read(folder / "results/preview/rep", "points")
    assert sorted(table["set"].unique()) == [-1, 0, 1]
    assert set(table["outcome"]) <= {"converged", "diverged", "unsettled"}
    assert "Nothing to be done" in snakemake(folder, "relaxed", config="config/points.yaml")


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("heart:", "sonar:", "rep.sets.sonar: no such set; known: blobs, heart, pima"),
        ("splits: 3", "splits: 21", "rep.sets.heart: there are 20 splits"),
        ("own: 3", "own: 30", "rep.sets.heart: there are 20 splits"),
        ("0.2]", "0.5]", "rep.sets.blobs.flips.1: 0.5 is greater than or equal to the maximum"),
        ("boundary:", "border:", "('border' was unexpected); known: sets, points, exact, boundary"),
    ],
)
def test_wrong_configurations_are_refused_before_any_job(folder, snakemake, old, new, message):
    (folder / "config/wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    assert "In the configuration: " in out and message in out


def test_the_preview_needs_no_raw_file_for_them(folder, snakemake):
    out = snakemake(folder, "--dry-run", config="config/preview.yaml")
    assert "rule relaxed_points:" in out
    assert "standardise_relaxed" not in out and "rule download:" not in out
