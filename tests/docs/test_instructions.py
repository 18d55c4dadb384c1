"""The pages on how to add something: their diffs, applied to a copy, do what the pages say."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from tilted.data import DataError, registry, regression
from tilted.experiments import pep

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["Snakefile", "environment.yml", "pyproject.toml", "src", "workflow", "config", "profiles"]
PARTS += ["data/sources.yaml", "data/coal_counts.csv", "data/published"]
PARTS += ["tests/conftest.py", "tests/reference", "tests/numerics"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page, language):
    """Fenced blocks of a page of docs/ in one language."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [body for found, body in BLOCK.findall(text) if found == language]


def copy(folder):
    """A copy of the repository without results and documents."""
    ignore = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in PARTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


def apply(folder, page):
    """Apply every diff of a page; names of the files it changes."""
    changed = []
    for diff in blocks(page, "diff"):
        command = ["git", "apply", "-C1", "--verbose", "-"]
        done = subprocess.run(command, cwd=folder, input=diff, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        changed += re.findall(r"^\+\+\+ b/(.*)$", diff, re.M)
    return changed


def run(folder, *command, **variables):
    """Output of a Python module in the copy; an error if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), **variables}
    environment.pop("TILTED_DATA", None)
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def passed(folder, page):
    """Run the pytest commands of a page; the number of tests that passed."""
    (command,) = [line for block in blocks(page, "console") for line in block.splitlines()]
    words = re.fullmatch(r"python -m pytest (\S+) -k (?:\"(.+)\"|(\S+))", command)
    out = run(folder, "pytest", "-q", "-p", "no:cacheprovider", words[1], "-k", words[2] or words[3])
    return int(re.search(r"(\d+) passed", out)[1])


@pytest.fixture(scope="module")
def springs(tmp_path_factory):
    """A copy with the page on data sets followed: its file, its diffs."""
    folder = copy(tmp_path_factory.mktemp("dataset"))
    (folder / "data/raw").mkdir()
    (code,) = blocks("add-a-dataset.md", "python")
    before = os.getcwd()
    os.chdir(folder / "data/raw")
    try:
        exec(compile(code, "add-a-dataset.md", "exec"), {})
    finally:
        os.chdir(before)
    return folder, apply(folder, "add-a-dataset.md")


def test_a_data_set_needs_no_python(springs):
    folder, changed = springs
    assert changed == ["data/sources.yaml", "config/mine.yaml"]
    home = folder / "data"
    dataset = regression.load("springs", home)
    assert dataset.X.shape == (60, 2) and regression.parts(dataset, 19)[0].shape == (54, 2)
    assert any(row["name"] == "springs" for row in regression.table_of_regression_sets(home))
    schema = json.loads((folder / "workflow/schemas/config.schema.json").read_text(encoding="utf-8"))
    config = yaml.safe_load((folder / "config/mine.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(config, schema)
    grid = config["pep"]["small"]
    (record,) = pep.run_block("springs", [0], {**grid, "alphas": [1], "m": [5]}, dataset)
    assert record["status"]["evaluations"] > 1 and record["smse"] > 0 and record["n_train"] == 54


def test_a_wrong_block_is_refused(springs, tmp_path):
    folder, _ = springs
    text = (folder / "data/sources.yaml").read_text(encoding="utf-8")
    for old, new, error in [
        ("    columns: 3\n", "", registry.RegistryError),
        ("shape: [60, 2]", "shape: [61, 2]", DataError),
        ("sha256: bba9", "sha256: aba9", DataError),
    ]:
        home = tmp_path / error.__name__ / old[:8].strip()
        (home / "raw").mkdir(parents=True)
        shutil.copy(folder / "data/raw/springs.txt", home / "raw")
        (home / "sources.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(error, match="springs|columns"):
            regression.load("springs", home)


@pytest.mark.slow
def test_the_pipeline_fits_the_data_set(springs):
    if importlib.util.find_spec("snakemake") is None:
        pytest.skip("snakemake is not installed")
    folder, _ = springs
    (command,) = [
        line for line in "".join(blocks("add-a-dataset.md", "console")).splitlines() if "snakemake" in line
    ]
    assert "springs" in run(folder, "tilted", "datasets")
    run(folder, *command.split())
    assert (folder / "results/mine/pep/regression.csv.gz").is_file()


def test_a_likelihood_is_one_file(tmp_path):
    folder = copy(tmp_path)
    assert apply(folder, "add-a-likelihood.md") == [
        "src/tilted/likelihoods/laplace.py",
        "src/tilted/likelihoods/__init__.py",
        "tests/numerics/test_likelihoods.py",
    ]
    assert passed(folder, "add-a-likelihood.md") >= 7


def test_a_method_is_one_rule(tmp_path):
    folder = copy(tmp_path)
    assert apply(folder, "add-a-method.md") == [
        "src/tilted/inference/hellinger.py",
        "src/tilted/inference/__init__.py",
        "tests/numerics/test_equivalence.py",
    ]
    assert passed(folder, "add-a-method.md") >= 4
