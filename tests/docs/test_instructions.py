"""The pages on how to add something: their diffs, applied to a copy, do what the pages say."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from papers import configuration, data
from papers.core import claims, files
from papers.data import regression
from papers.pep import jobs
from papers.pep import regression as pep

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["Snakefile", "environment.yml", "pyproject.toml", "src", "workflow", "config", "profiles"]
PARTS += ["data/sources.yaml", "data/coal_counts.csv", "data/published"]
PARTS += ["tests/conftest.py", "tests/helpers.py", "tests/reference", "tests/library"]
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


PAGE = "add-a-dataset.md"
ADDED = ("pumps", "calls", "springs")


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A copy with the page on data sets followed: its files, of which a mirror has one, and its diffs."""
    folder = copy(tmp_path_factory.mktemp("dataset"))
    raw, mirror = folder / "data/raw", folder / "mirror"
    raw.mkdir()
    mirror.mkdir()
    (code,) = blocks(PAGE, "python")
    before = os.getcwd()
    os.chdir(raw)
    try:
        exec(compile(code, PAGE, "exec"), {})
    finally:
        os.chdir(before)
    assert apply(folder, PAGE) == ["data/sources.yaml", "config/mine.yaml"]
    return folder


def test_the_commands_of_the_page_give_the_registered_sums_and_sizes(followed):
    entries = yaml.safe_load((followed / "data/sources.yaml").read_text(encoding="utf-8"))["sets"]
    first, second, *_ = "".join(blocks(PAGE, "console")).splitlines()
    for name in ADDED:
        (file,) = entries[name]["files"]
        for command, said in ((first, file["sha256"]), (second, str(file["bytes"]))):
            words = command.replace("pumps.csv", file["path"]).split()
            out = subprocess.run(words, cwd=followed, capture_output=True, text=True, check=True).stdout
            assert out.split()[0] == said


@pytest.mark.slow
def test_the_commands_of_the_page_list_the_sets_and_show_a_split(followed):
    lines = "".join(blocks(PAGE, "console")).splitlines()
    listed, fitted, shown = (shlex.split(line)[1:] for line in lines if line.startswith("python"))
    names = [line.split()[0].rpartition(":")[2] for line in run(followed, *listed[1:]).splitlines() if line]
    assert set(ADDED) <= set(names)
    assert "pumps corrected seed 0 fold 0 ep: 53 training, 6 test points" in run(followed, *fitted[1:])
    environment = {**os.environ, "TILTED_DATA": str(followed / "data")}
    out = subprocess.run(
        [sys.executable, *shown], env=environment, capture_output=True, text=True, check=True
    )
    assert len(out.stdout.strip("[]\n").split()) == 6


def test_a_data_set_needs_no_python(followed):
    home = followed / "data"
    pumps, calls = (data.load(name, home=home) for name in ("pumps", "calls"))
    assert pumps.features == ("load", "site=north", "site=south") and set(pumps.y) == {-1.0, 1.0}
    assert calls.counts and len(data.split(calls, "thinned-events", 0).y_train) == 60
    dataset = regression.load("springs", home)
    assert dataset.X.shape == (60, 2) and regression.parts(dataset, 19)[0].shape == (54, 2)
    config = files.read_yaml(followed / "config/mine.yaml")
    configuration.check(config)
    grid = {**config["pep"]["small"], "protocol": "as-described"}
    (record,) = jobs.run_block(pep, "springs", [0], {**grid, "alphas": [1], "m": [5]}, dataset)
    assert record["evaluations"] > 1 and record["smse"] > 0 and record["n_train"] == 54


@pytest.mark.slow
def test_the_pipeline_makes_a_row_of_every_set(followed):
    if importlib.util.find_spec("snakemake") is None:
        pytest.skip("snakemake is not installed")
    (command,) = [line for line in "".join(blocks(PAGE, "console")).splitlines() if "snakemake" in line]
    os.replace(followed / "data/raw/calls.csv", followed / "mirror/calls.csv")
    run(followed, *command.split(), TILTED_DATA_MIRROR=str(followed / "mirror"))
    text = (followed / "tables/mine/qp_table1.md").read_text(encoding="utf-8")
    for name in ("pumps", "calls"):
        ours, published = re.search(rf"\| {name} +\| ours (.*)\n\| +\| published (.*)", text).groups()
        assert len(re.findall(r"\d ± ", ours)) == 6 and ours.split()[-2] == "2"
        assert set(published.split()) == {"|", "-"}
    means = (followed / "tables/mine/pep.md").read_text(encoding="utf-8")
    assert "### springs, SMSE" in means and "Others: 1 set, splits 0-1" in means
    assert (followed / "results/mine/pep/regression.csv.gz").is_file()
    audit = (followed / "tables/mine/audit.md").read_text(encoding="utf-8")
    assert "pumps" not in audit and "springs" not in audit


def test_the_configuration_of_the_page_is_valid():
    (text,) = blocks("configuration.md", "yaml")
    fits = "".join(configuration.asked(yaml.safe_load(text)).jobs)
    assert "qp/as-released/coal/qp-000-019" in fits and "pep/small/synthetic" in fits


def test_the_claim_of_the_page_has_the_fields_of_claims():
    (text,) = blocks("add-a-claim.md", "yaml")
    for fields in yaml.safe_load(text).values():
        assert claims.Claim(**fields).title == fields["wording"]


@pytest.mark.parametrize(
    "page, changed, least",
    [
        ("add-a-likelihood.md", "likelihoods/duration likelihoods/__init__ likelihoods/test_likelihoods", 7),
        pytest.param(
            "add-a-method.md",
            "inference/hellinger inference/__init__ inference/test_equivalence",
            4,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_likelihood_and_a_method_are_one_file_and_its_name(page, changed, least, tmp_path):
    folder = copy(tmp_path)
    made, named, tested = (f"{name}.py" for name in changed.split())
    assert apply(folder, page) == [f"src/tilted/{made}", f"src/tilted/{named}", f"tests/library/{tested}"]
    assert passed(folder, page) >= least
