"""PESC in the workflow: from nothing to the studies, what reruns, and what is refused."""

import pytest

from tilted.results import studies

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
pesc:
  accuracy: {problems: 1}
  searches: {repeats: 1, evaluations: 5}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory, copy_of_repository):
    """A copy of the repository with a small configuration."""
    return copy_of_repository(tmp_path_factory.mktemp("pesc"), SMALL)


def test_jobs_become_studies_and_edits_rerun_what_they_touch(folder, snakemake):
    out = snakemake(folder)
    assert out.count("rule pesc_accuracy:") == 4 and out.count("rule pesc_searches:") == 2
    accuracy = studies.read(folder / "results/preview/pesc", studies.ACCURACY)
    assert sorted(accuracy["family"]) == ["1-D, K = 1", "1-D, K = 2", "2-D, K = 1", "2-D, K = 2"]
    assert accuracy["kept"].min() > 1000
    regret = studies.read(folder / "results/preview/pesc", studies.REGRET)
    assert len(regret) == 2 * 3 and set(regret["evaluations"]) == {5}
    assert "Nothing to be done" in snakemake(folder)
    found = {}
    for name in ("bayesopt/nfcpd.py", "bayesopt/loop.py", "results/pesc/records.py"):
        module = folder / "src" / "tilted" / name
        before = module.read_text(encoding="utf-8")
        module.write_text(before + "\nEDITED = True\n", encoding="utf-8")
        out = snakemake(folder, "--dry-run")
        found[name] = tuple(out.count(f"rule pesc_{rule}:") for rule in ("accuracy", "searches", "records"))
        module.write_text(before, encoding="utf-8")
    assert found == {
        "bayesopt/nfcpd.py": (4, 2, 1),
        "bayesopt/loop.py": (0, 2, 1),
        "results/pesc/records.py": (0, 0, 1),
    }


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("problems: 1", "problems: 0", "pesc.accuracy.problems: 0 is less than the minimum of 1"),
        ("evaluations: 5", "evaluations: 4", "pesc.searches.evaluations: 4 is less than the minimum of 5"),
        ("accuracy:", "errors:", "('errors' was unexpected); known: accuracy, searches"),
    ],
)
def test_wrong_configurations_are_refused_before_any_job(folder, snakemake, old, new, message):
    (folder / "config/wrong.yaml").write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    assert "In the configuration: " in out and message in out
