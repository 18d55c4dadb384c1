"""Regressions in the workflow: from a grid to compact records, and what reruns, is refused and planned."""

import shutil

import pytest

from tilted.results import studies
from tilted.results.pep import records, toy
from tilted.results.pep.forms import CLASSIFICATION

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
pep:
  one:
    alphas: [0.5, full]
    m: [4]
    rows:
      synthetic: {splits: 3, block: 2}
  two:
    alphas: [1]
    m: [4]
    starts: [data, k-means]
    rows:
      synthetic: {splits: 1, block: 1}
toy: {splits: 3, block: 2, n_train: [500]}
pep_classification:
  three:
    protocols: [as-released]
    alphas: [1]
    m: [4]
    rows:
      banana: {splits: 2, block: 1}
"""
FITS = "data/fits/pep"


@pytest.fixture(scope="module")
def run(tmp_path_factory, copy_of_repository, snakemake):
    """A copy of the repository with a small configuration run in it, and what the run printed."""
    folder = copy_of_repository(tmp_path_factory.mktemp("pep"), SMALL)
    return folder, snakemake(folder)


def read(folder):
    return records.read_records(folder / "results/preview/pep" / records.REGRESSION.file)


def test_a_grid_becomes_compact_records_with_their_provenance(run):
    folder, out = run
    fits = read(folder)[["split", "alpha", "m", "start"]]
    assert sorted(map(tuple, fits.to_numpy().tolist())) == sorted(
        [(split, *cell) for split in (0, 1, 2) for cell in (("0.5", 4, "data"), ("full", 0, "data"))]
        + [(0, "1", 4, "data"), (0, "1", 4, "k-means")]
    )
    made = records.made(folder / "results/preview/pep")
    assert [part.what for part in made] == ["synthetic"] and made[0].source == made[0].today
    assert "Records: " in out and "Table 1" not in out
    log = (folder / "logs/pep/one-synthetic-00-01.log").read_text(encoding="utf-8")
    assert len(log.splitlines()) == 4


def test_true_and_learned_hyperparameters_become_a_record(run, snakemake):
    folder, _ = run
    path = folder / "results/preview/pep"
    table = toy.read(path)
    assert table["split"].tolist() == [0, 0, 1, 1, 2, 2] and set(table["n_train"]) == {500}
    assert studies.made(studies.TOY, table)[0].source == studies.todays(studies.TOY, "synthetic")
    before = table.drop(columns="seconds")
    (folder / "data/fits/pep-toy/02-02.jsonl.gz").unlink()
    out = snakemake(folder)
    assert out.count("rule toy_regressions:") == 1 and out.count("rule regressions:") == 0
    assert toy.read(path).drop(columns="seconds").equals(before)


def test_classifications_have_a_record_of_their_own(run):
    folder, out = run
    fits = records.load(folder / "results/preview/pep", CLASSIFICATION)
    found = [(r.dataset, r.protocol, r.split, r.alpha, r.m) for r in fits.itertuples()]
    assert found == [("banana", "as-released", split, "1", 4) for split in (0, 1)]
    (made,) = records.made(folder / "results/preview/pep", CLASSIFICATION)
    assert made.what == "banana" and made.source == made.today and "classification.csv.gz" in out


def test_a_lost_block_alone_is_fitted_again(run, snakemake):
    folder, _ = run
    assert "Nothing to be done" in snakemake(folder)
    before = read(folder).drop(columns="seconds")
    (folder / FITS / "one/synthetic/02-02.jsonl.gz").unlink()
    out = snakemake(folder)
    assert out.count("rule regressions:") == 1 and out.count("rule regression_records:") == 1
    assert read(folder).drop(columns="seconds").equals(before)


def test_edits_rerun_what_they_touch(run, snakemake):
    folder, _ = run
    found = {}
    names = (
        "regression.py sparse_search.py results/pep/records.py data/regression.py data/classification.py "
        "experiments/pep_toy.py"
    )
    for name in names.split():
        module = folder / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        out = snakemake(folder, "--dry-run")
        rules = ("regressions", "regression_records", "toy_regressions", "toy_record",
                 "classifications", "classification_records")  # fmt: skip
        found[name] = tuple(out.count(f"rule {rule}:") for rule in rules)
        module.write_text(before, encoding="utf-8")
    assert found == {
        "regression.py": (3, 1, 2, 1, 2, 1),
        "sparse_search.py": (0, 1, 0, 1, 2, 1),  # what the records hold depends on all experiments
        "results/pep/records.py": (0, 1, 0, 0, 0, 1),
        "data/regression.py": (3, 1, 2, 1, 2, 1),
        "data/classification.py": (0, 1, 0, 1, 2, 1),
        "experiments/pep_toy.py": (0, 0, 2, 1, 0, 0),
    }
    config = SMALL.replace("[data, k-means]", "[data]")
    (folder / "config/other.yaml").write_text(config, encoding="utf-8")
    out = snakemake(folder, "--dry-run", config="config/other.yaml")
    assert out.count("rule regressions:") == 1 and "data/fits/pep/two" in out


def test_a_regression_set_from_its_raw_file(run, snakemake, mirror):
    folder, _ = run
    config = SMALL.replace("synthetic: {splits: 3, block: 2}", "wine_red: {splits: 1, block: 1}")
    config = config.replace("[0.5, full]", "[0]").replace("name: small", "name: red")
    (folder / "config/red.yaml").write_text(config, encoding="utf-8")
    target = f"{FITS}/one/wine_red/00-00.jsonl.gz"
    snakemake(folder, target, config="config/red.yaml", TILTED_DATA_MIRROR=str(mirror))
    assert (folder / "data/standard/regression/wine_red.h5").is_file()
    records.fold_in([folder / target], folder / "r")
    (fit,) = records.read_records(folder / "r" / records.REGRESSION.file).to_dict("records")
    assert (fit["n_train"], fit["n_test"], fit["alpha"]) == (1439, 160, "0") and fit["smse"] < 0.8


def test_a_classification_set_from_its_raw_file(run, snakemake, mirror):
    folder, _ = run
    config = SMALL.replace("banana: {splits: 2", "crabs: {splits: 1").replace("[as-released]", "[corrected]")
    (folder / "config/crabs.yaml").write_text(config.replace("name: small", "name: crabs"), encoding="utf-8")
    target = "data/fits/pep-classification/three/corrected/crabs/00-00.jsonl.gz"
    snakemake(folder, target, config="config/crabs.yaml", TILTED_DATA_MIRROR=str(mirror))
    assert (folder / "data/standard/classification/corrected/crabs.h5").is_file()
    records.fold_in([folder / target], folder / "r", form=CLASSIFICATION)
    (fit,) = records.load(folder / "r", CLASSIFICATION).to_dict("records")
    assert (fit["n_train"], fit["n_test"], fit["protocol"]) == (180, 20, "corrected") and fit["error"] < 0.2


def test_the_plan_counts_jobs_and_hours_before_anything_runs(run, snakemake):
    folder, _ = run
    (folder / "config/planned.yaml").write_text(SMALL.replace("[4]", "[4, 8]"), encoding="utf-8")
    shutil.rmtree(folder / FITS / "two")
    snakemake(folder, "plan", config="config/planned.yaml")
    assert not (folder / FITS / "two").exists()
    lines = (folder / "logs/small/plan.log").read_text(encoding="utf-8").splitlines()
    head, one, two, three, exact, both, _ = lines
    assert one.split()[:6] == ["PEP", "one", "2", "0", "9", "0"]
    assert two.split()[:6] == ["PEP", "two", "1", "1", "4", "4"]
    assert three.split()[:7] == ["PEP", "classes", "three", "2", "0", "4", "0"]
    assert exact.split()[:6] == ["PEP", "toy", "2", "0", "6", "0"] and exact.split()[6] != "0.0+?"
    assert both.split()[:5] == ["together", "7", "1", "23", "4"]
    snakemake(folder)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[0.5, full]", "[1.5]", "pep.one.alphas.0: 1.5 is greater than the maximum of 1"),
        ("[0.5, full]", "[half]", "pep.one.alphas.0: 'half' does not match '^full"),
        ("m: [4]", "m: [501]", "pep.one: 501 pseudo-points for the 500 training points of synthetic"),
        ("synthetic: {splits: 3", "iris: {splits: 3", "unknown regression set 'iris'; known: boston"),
        ("synthetic: {splits: 3", "yacht: {splits: 21", "pep.one: yacht has 20 splits, not 21"),
        ("k-means]", "there]", "pep.two.starts.1: 'there' is not one of ['data', 'data-2'"),
        ("  one:", "  One:", "pep: 'One' does not match"),
        ("[500]", "[700]", "toy.n_train.0: 700 is not one of [500, 1000]"),
        ("toy: {splits: 3", "toy: {splits: 31", "toy.splits: 31 is greater than the maximum of 30"),
        ("banana: {splits: 2", "banana: {splits: 21", "pep_classification.three: banana has 20 splits"),
        ("[as-released]", "[as-described]", "three.protocols.0: 'as-described' is not one of"),
    ],
)
def test_wrong_grids_are_refused_before_any_job(run, snakemake, old, new, message):
    folder, _ = run
    (folder / "config/wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    (line,) = [line for line in out.splitlines() if not line.startswith("Using workflow specific profile")]
    assert line.startswith("In the configuration: ") and message in line


def test_the_configurations_hold_the_grids_of_the_paper_and_the_middle(run, snakemake):
    folder, _ = run
    full = snakemake(folder, "pep", "--dry-run", "--quiet", "rules", config="config/paper.yaml")
    middle = snakemake(folder, "--dry-run", "--quiet", "rules", config="config/pep-middle.yaml")
    for out in (full, middle):
        assert "toy_regressions " in out and "toy_record " in out
        assert "regressions " in out and "regression_records" in out and "artifacts" not in out
        assert "classifications " in out and "classification_records" in out
