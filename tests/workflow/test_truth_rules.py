"""Ground truth in the workflow: made when asked for, from committed records to the same artifacts."""

import shutil

import pytest

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
truth:
  wine13: {chains: 8, iterations: 40, runs: 16, share: 0.9}
qp:
  as-released:
    methods: [ep]
    rows:
      wine13: {seeds: 1, block: 1}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, copy_of_repository, snakemake):
    """A copy of the repository in which the ground truth of one data set was made."""
    folder = copy_of_repository(tmp_path_factory.mktemp("truth"), SMALL)
    snakemake(folder, "tables/preview/qp_truth.csv")
    return folder


def test_records_table_and_figure_are_made(run):
    for name in ("qp_truth.csv", "qp_truth.md"):
        assert "Wine2" in (run / "tables/preview" / name).read_text(encoding="utf-8")
    for kind in ("pdf", "png"):
        assert (run / f"figures/preview/qp_truth.{kind}").stat().st_size > 1000
    sampled, committed = run / "data/truth/wine13.json.gz", run / "results/preview/qp/truth/wine13.json.gz"
    assert sampled.read_bytes() == committed.read_bytes()


def test_edits_rerun_what_they_touch(run, snakemake):
    out = {}
    for name in ("exact/moves.py", "results/truth_figure.py", "results/merge.py"):
        module = run / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        plan = snakemake(run, "--dry-run", "tables/preview/qp_truth.csv")
        out[name] = {rule for rule in ("truth", "artifacts") if f"rule {rule}:" in plan}
        module.write_text(before, encoding="utf-8")
    assert out == {
        "exact/moves.py": {"truth", "artifacts"},
        "results/truth_figure.py": {"artifacts"},
        "results/merge.py": {"artifacts"},  # in whose records the table stands too
    }


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("wine13: {chains", "iris: {chains", "truth: Additional properties are not allowed ('iris'"),
        ("chains: 8", "chains: 1", "truth.wine13.chains: 1 is less than the minimum of 2"),
        ("0.9", "1.0", "truth.wine13.share: 1.0 is greater than or equal to the maximum of 1"),
    ],
)
def test_wrong_configurations_are_refused(run, snakemake, old, new, message):
    (run / "config" / "wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(run, "--dry-run", config="config/wrong.yaml", code=1)
    assert f"In the configuration: {message}" in out and "rule truth" not in out


def test_committed_records_do_not_make_a_run_look_done(run, snakemake):
    """In a fresh clone the records are there and the samples are not."""
    (run / "data/truth/wine13.json.gz").unlink()
    shutil.rmtree(run / ".snakemake")
    plan = snakemake(run, "--dry-run")
    assert "rule truth:" in plan
