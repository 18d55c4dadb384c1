"""The relaxed-EP paper's sets in the workflow: from raw to standard files, what reruns, what is refused."""

import numpy as np
import pytest

from tilted import data
from tilted.data import relaxed

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
rep:
  sets: [heart, pima]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_of_repository):
    """A copy of the repository with a small configuration."""
    return copy_of_repository(tmp_path_factory.mktemp("rep"), SMALL)


def test_sets_from_their_raw_files_and_what_reruns(folder, snakemake, mirror):
    mirrored = {"TILTED_DATA_MIRROR": str(mirror)}
    out = snakemake(folder, **mirrored)
    assert out.count("rule standardise_relaxed:") == 2 and out.count("rule download:") == 3
    for name, shape in (("heart", (270, 13)), ("pima", (532, 7))):
        made = data.read_standard(folder / f"data/standard/relaxed/{name}.h5")
        assert (made.name, made.variant, made.X.shape) == (name, "relaxed", shape)
        np.testing.assert_array_equal(made.X, relaxed.load(name, folder / "data").X)
    assert "Nothing to be done" in snakemake(folder, **mirrored)
    found = {}
    for name in ("data/relaxed.py", "data/readers.py", "data/classification.py"):
        module = folder / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        found[name] = snakemake(folder, "--dry-run").count("rule standardise_relaxed:")
        module.write_text(before, encoding="utf-8")
    assert found == {"data/relaxed.py": 2, "data/readers.py": 2, "data/classification.py": 0}


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[heart, pima]", "[sonar]", "rep.sets.0: 'sonar' is not one of ['heart', 'pima', 'diabetes'"),
        ("[heart, pima]", "[]", "rep.sets: [] should be non-empty"),
        ("sets:", "rows:", "('rows' was unexpected); known: sets"),
    ],
)
def test_wrong_configurations_are_refused_before_any_job(folder, snakemake, old, new, message):
    (folder / "config/wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    assert "In the configuration: " in out and message in out


def test_the_preview_has_none_of_them(folder, snakemake):
    out = snakemake(folder, "--dry-run", config="config/preview.yaml")
    assert "standardise_relaxed" not in out and "rule download:" not in out
