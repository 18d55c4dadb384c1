"""The workflow in a copy of the repository: what runs, what reruns, what is refused."""

import csv
import os
import subprocess
import sys

import pytest

COLUMNS = "row,metric,method,protocol,mean,sd,n_seeds,n_converged,n_attempted".split(",")
COLUMNS += ["published_mean", "published_sd", "deviation_sd"]
ONE = "differences:\n  block: 1\n  names: "
# 10^9 values, and a tenth as many mappings
BOMB = "\na0: &a0 {x: [1, 2, 3, 4, 5, 6, 7, 8, 9]}" + "".join(
    f"\na{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 9)
)
SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
qp:
  as-released:
    methods: [ep, qp]
    rows:
      wine13: {seeds: 1, block: 1}
      coal: {seeds: 2, block: 2}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory, copy_of_repository, snakemake):
    """A copy of the repository with a small configuration run in it, and what the run printed."""
    folder = copy_of_repository(tmp_path_factory.mktemp("a copy"), SMALL)  # a path with a space
    return folder, snakemake(folder)


def jobs_of(out):
    """Rule and wildcards of the jobs that a dry run names."""
    jobs, rule = set(), None
    for line in out.splitlines():
        words = line.split()
        if line.startswith(("rule ", "localrule ")):
            rule = words[1].rstrip(":")
            jobs.add(rule)
        elif line.strip().startswith("wildcards:") and "method=" in line:
            jobs.add(f"{rule}:{line.split('method=')[1].split(',')[0]}")
    return jobs - {"all", "fit"}


def edited(path, line="EDITED = True"):
    path.write_text(path.read_text(encoding="utf-8") + f"\n{line}\n", encoding="utf-8")


def test_artifacts_and_terminal_table(run):
    folder, out = run
    for name in ("qp_table1.csv", "qp_table1.md", "qp_table1.tex", "qp_fidelity.md", "report.html"):
        assert (folder / "tables" / "preview" / name).stat().st_size > 100
    for name in ("as-released.csv.gz", "variances.csv.gz", "provenance.json"):
        assert (folder / "results" / "preview" / "qp" / name).stat().st_size > 100
    for name in ("figure1a", "figure1b", "published"):
        for kind in ("pdf", "png"):
            assert (folder / "figures" / "preview" / "as-released" / f"{name}.{kind}").stat().st_size > 1000
    assert "wine13 as-released ep seed 0: 20/20 fits converged" in out  # progress
    assert "| Wine2" in out and "Report:" in out and "report.html" in out
    with (folder / "tables" / "preview" / "qp_table1.csv").open(newline="") as stream:
        assert stream.readline().strip().split(",") == COLUMNS
        rows = list(csv.DictReader(stream, COLUMNS))
    assert {(r["row"], r["method"]) for r in rows} == {
        (row, m) for row in ("Wine2", "Mining") for m in ("ep", "ep-tune", "qp")
    }
    for row in rows:
        assert row["n_converged"] == row["n_attempted"] == {"Wine2": "10", "Mining": "2"}[row["row"]]


def test_report_is_self_contained(run):
    html = (run[0] / "tables" / "preview" / "report.html").read_text(encoding="utf-8")
    assert "data:image/png;base64," in html
    assert 'src="http' not in html and 'href="http' not in html and "<script src" not in html


def test_a_second_run_does_nothing(run, snakemake):
    assert "Nothing to be done" in snakemake(run[0])


def test_edits_rerun_what_they_touch(run, snakemake):
    folder, _ = run
    results = {"compact", "artifacts"}
    source = folder / "src" / "tilted"
    for module, expected in [
        (source / "inference" / "qp.py", {"fit:qp"} | results),
        (source / "results" / "figures.py", {"artifacts"}),
        (source / "results" / "merge.py", results),
        (source / "__main__.py", set()),
    ]:
        before = module.read_text(encoding="utf-8")
        edited(module)
        assert jobs_of(snakemake(folder, "--dry-run")) == expected, module.name
        module.write_text(before, encoding="utf-8")
    edited(source / "gaussian.py", "# a comment")
    assert jobs_of(snakemake(folder, "--dry-run")) == set()


def test_a_lost_record_is_computed_again_to_the_same_numbers(run, snakemake):
    folder, _ = run
    table = folder / "tables" / "preview" / "qp_table1.csv"
    before = table.read_bytes()
    lost = folder / "data/fits/qp/as-released/coal/ep-000-001.jsonl.gz"
    lost.unlink()
    snakemake(folder)
    assert lost.is_file()
    assert table.read_bytes() == before


def tilted(folder, *arguments):
    """Run the command line in a copy of the repository; what it printed on either stream."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "tilted", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_records_alone_give_the_same_artifacts(run):
    """`make tables` in a clone without fits and without Snakemake's metadata."""
    folder, _ = run
    out = tilted(folder, "tables", "--records", "results/preview/qp", "--tables", "t", "--figures", "f")
    assert "NOT BY TODAY'S SOURCE" not in out
    for made, again in (("tables/preview", "t"), ("figures/preview", "f")):
        files = [path for path in (folder / made).rglob("*") if path.is_file()]
        assert len(files) == {"tables": 9, "figures": 12}[made.partition("/")[0]]
        for path in files:
            assert path.read_bytes() == (folder / again / path.relative_to(folder / made)).read_bytes(), path


def test_records_of_other_machines_are_kept(run, snakemake):
    """With `keep_records`, a run in a fresh clone replaces its own seeds only."""
    folder, _ = run
    tilted(folder, "records", "--fits", "data/fits/qp", "--records", "results/kept/qp")
    before = (folder / "results" / "kept" / "qp" / "provenance.json").read_text(encoding="utf-8")
    assert '"dataset": "wine13"' in before
    config = SMALL.replace("results: results/preview", "results: results/kept\nkeep_records: true")
    config = config.replace("preview", "kept").replace("name: small", "name: kept")
    config = config.replace("      wine13: {seeds: 1, block: 1}\n", "").replace(
        "seeds: 2, block: 2", "seeds: 1, block: 1"
    )
    (folder / "config" / "kept.yaml").write_text(config, encoding="utf-8")
    snakemake(folder, config="config/kept.yaml")
    log = (folder / "logs" / "kept" / "compact.log").read_text(encoding="utf-8")
    assert log == "0 seeds added, 3 replaced, 6 kept\n"  # coal: ep-tune, ep and qp of seed 0
    with (folder / "tables" / "kept" / "qp_table1.csv").open(newline="") as stream:
        rows = {(r["row"], r["method"]): r["n_seeds"] for r in csv.DictReader(stream)}
    assert rows["Wine2", "qp"] == "1" and rows["Mining", "ep"] == "2"
    assert "Nothing to be done" in snakemake(folder, config="config/kept.yaml")


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "wine13: {seeds: 1, block: 1}",
            "iris: {seeds: 1, block: 1}",
            "qp.as-released: unknown data set 'iris'; known: ionosphere, cancer",
        ),
        ("seeds: 1", "seeds: 0", "qp.as-released.rows.wine13.seeds: 0 is less than the minimum of 1"),
        ("block: 1", "block: 0", "qp.as-released.rows.wine13.block: 0 is less than the minimum of 1"),
        ("seeds: 1", "seeds: many", "qp.as-released.rows.wine13.seeds: 'many' is not of type 'integer'"),
        ("[ep, qp]", "[ep, laplace]", "qp.as-released.methods.1: 'laplace' is not one of ['ep', 'qp'"),
        (
            "[ep, qp]",
            "[ep, qp-own]",
            "protocol 'as-released' has no method 'qp-own' for classification; known:",
        ),
        ("as-released:", "as-dreamt:", "known: as-released, as-described, corrected"),
        ("tables: tables/preview\n", "", "top level: 'tables' is a required property"),
        ("tables: tables/preview", "tables: figures/preview", "tables and figures need folders of their own"),
        (
            "tables: tables/preview",
            "tables: results/preview/./qp/",
            "results and tables need folders of their",
        ),
        ("[ep, qp]", f"[{'x' * 999}]", f"qp.as-released.methods.0: '{'x' * 296}...\n"),
        ("name: small", f"name: small{BOMB}", "more than 100000 values and characters, aliases written out"),
        ("results: results/preview\n", "", "top level: 'results' is a required property"),
        (
            "name: small",
            "name: small\nkeep_records: perhaps",
            "keep_records: 'perhaps' is not of type 'boolean'",
        ),
        ("name: small", "name: small\ncolour: blue", "('colour' was unexpected); known: name, results"),
        (
            "qp:\n",
            ONE + "[vb, vib]\nqp:\n",
            "differences.names: no difference 'vb' to run; known: ard, loose",
        ),
        ("qp:\n", ONE + "[]\nqp:\n", "differences.names: [] should be non-empty"),
        ("qp:\n", ONE + "[plain-folds]\nqp:\n", "no results/preview/qp/corrected.csv.gz to compare with"),
        (
            SMALL,
            SMALL.partition("qp:")[0],
            "top level: qp, pep, pep_classification, mnist, rep, pesc, differences or lookup must say",
        ),
    ],
)
def test_wrong_configurations_are_refused_before_any_job(run, snakemake, old, new, message):
    """In one line that says where and what is known there."""
    folder, _ = run
    wrong = folder / "config" / "wrong.yaml"
    wrong.write_text(SMALL.replace(old, new, 1), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    (line,) = [line for line in out.splitlines() if not line.startswith("Using workflow specific profile")]
    assert line.startswith("In the configuration: ") and message in f"{line}\n"


def test_no_network_and_no_mirror(run, snakemake, tmp_path):
    """The message names the file, what was tried and how to place it by hand; nothing is left behind."""
    folder, _ = run
    registry = folder / "data" / "sources.yaml"
    before = registry.read_text(encoding="utf-8")
    lines = [
        "    urls: ['https://127.0.0.1:9/sonar.all-data']" if "sonar.all-data]" in line else line
        for line in before.splitlines()
    ]
    registry.write_text("\n".join(lines), encoding="utf-8")
    sonar = folder / "config" / "sonar.yaml"
    sonar.write_text(SMALL.replace("wine13", "sonar"), encoding="utf-8")
    out = snakemake(
        folder,
        "data/standard/as-released/sonar.h5",
        config="config/sonar.yaml",
        code=1,
        TILTED_DATA_MIRROR="",
    )
    registry.write_text(before, encoding="utf-8")
    assert "could not get 'sonar.all-data'" in out and "127.0.0.1:9" in out
    assert "To place it by hand" in out and "TILTED_DATA_MIRROR" in out
    assert list((folder / "data" / "raw").glob("*")) == []


def test_default_and_full_configurations_are_valid(run, snakemake):
    """The preview is the default; the full grid resolves to its jobs without running any."""
    folder, _ = run
    preview = snakemake(folder, "--dry-run", "--quiet", "rules", config=None)
    assert "Wine" not in preview  # nothing ran
    full = snakemake(folder, "--dry-run", config="config/paper.yaml")
    assert "qp-own" in full and "ionosphere" in full
