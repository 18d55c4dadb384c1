"""The digits in the workflow: from the raw files to the record, what reruns, and what is refused."""

import pytest

from tilted.results.pep import mnist

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
mnist:
  one: {alphas: [0.5], m: [4], seeds: 1, steps: 2}
  two: {alphas: [0.5], m: [4], seeds: 1, steps: 2}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_of_repository):
    """A copy of the repository with a small configuration."""
    return copy_of_repository(tmp_path_factory.mktemp("mnist"), SMALL)


def test_runs_become_a_record_and_a_lost_one_alone_is_made_again(folder, snakemake, mirror):
    mirrored = {"TILTED_DATA_MIRROR": str(mirror)}
    out = snakemake(folder, **mirrored)
    assert out.count("rule mnist:") == 1 and out.count("rule mnist_record:") == 1 and "Records: " in out
    table = mnist.read(folder / "results/preview/pep" / mnist.FILE)
    assert table["step"].tolist() == [1, 2] and set(table["outcome"]) == {"ok"}
    assert 0.05 < table["error"].iloc[-1] < 0.5 and -0.69 < table["log_likelihood"].iloc[-1] < -0.2
    (log,) = (folder / "logs/mnist").iterdir()
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2
    assert "Nothing to be done" in snakemake(folder, **mirrored)
    found = {}
    for name in ("minibatch.py", "inference/vb.py", "results/pep/mnist.py", "regression.py"):
        module = folder / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        out = snakemake(folder, "--dry-run")
        found[name] = out.count("rule mnist:"), out.count("rule mnist_record:")
        module.write_text(before, encoding="utf-8")
    assert found == {
        "minibatch.py": (1, 1),
        "inference/vb.py": (1, 1),
        "results/pep/mnist.py": (0, 1),
        "regression.py": (1, 1),
    }


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("[0.5]", "[1.5]", "mnist.one.alphas.0: 1.5 is greater than the maximum of 1"),
        ("[4]", "[0]", "mnist.one.m.0: 0 is less than the minimum of 1"),
        ("steps: 2", "stops: 2", "('stops' was unexpected); known: alphas, m, seeds, steps"),
        ("  one:", "  One:", "mnist: 'One' does not match"),
    ],
)
def test_wrong_grids_are_refused_before_any_job(folder, snakemake, old, new, message):
    (folder / "config/wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    assert "In the configuration: " in out and message in out


def test_the_configurations_hold_both_grids(folder, snakemake):
    for name, runs in (("paper", 30), ("pep-middle", 12)):
        out = snakemake(folder, "digits", "--dry-run", "--quiet", "rules", config=f"config/{name}.yaml")
        (line,) = {line for line in out.splitlines() if line.startswith("mnist ")}
        assert line.split() == ["mnist", f"{runs}"]


def test_the_plan_counts_the_runs(folder, snakemake):
    snakemake(folder, "plan", config="config/pep-middle.yaml")
    text = (folder / "logs/pep-middle/plan.log").read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("digits")]
    assert line.split()[1:5] == ["12", "12", "12", "12"]
