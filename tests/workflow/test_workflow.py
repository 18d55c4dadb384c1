"""The workflow in a copy of the repository: what runs, what runs again, what is refused.

What configurations ask for, and most of what is refused, is in tests/papers/test_configuration.py.
"""

import csv
import gzip
import os
import re
import shutil
import subprocess
import sysconfig
import venv
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from papers import captions
from papers.cli import main
from papers.core import records, store
from papers.data import relaxed, standard
from papers.pep.records import CLASSIFICATION, REGRESSION, TOY
from papers.pesc.records import ACCURACY
from papers.qp.accuracy.records import TRUTH
from papers.rep.records import POINTS

pytestmark = pytest.mark.workflow
COLUMNS = "row,metric,method,protocol,mean,sd,n_seeds,n_converged,n_attempted".split(",")
COLUMNS += ["published_mean", "published_sd", "deviation_sd"]
QP = """\
qp:
  as-released:
    methods: [ep, qp]
    rows:
      wine13: {seeds: 1, block: 1}
      coal: {seeds: 2, block: 2}
"""
SMALL = f"""\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
{QP}
truth:
  wine13: {{chains: 8, iterations: 40, runs: 16, share: 0.9}}
pep:
  one:
    alphas: [0.5, full]
    m: [4]
    rows:
      synthetic: {{splits: 2, block: 1}}
toy: {{splits: 1, block: 1, n_train: [500]}}
pep_classification:
  two:
    protocols: [as-released]
    alphas: [1]
    m: [4]
    rows:
      banana: {{splits: 1, block: 1}}
rep:
  points: {{sets: 1, block: 1}}
pesc:
  accuracy: {{problems: 1}}
"""
TABLES = (
    "qp_table1.csv",
    "qp_table1.md",
    "qp_table1.tex",
    "qp_fidelity.md",
    "qp_truth.csv",
    "qp_truth.md",
    "pep.md",
    "pep_classification.md",
    "audit.md",
)


@pytest.fixture(scope="module")
def run(tmp_path_factory, copy_of_repository, snakemake):
    """A copy of the repository with a small configuration run in it, and what the run printed.

    Its pictures are empty files of some size: `make preview` draws them.
    """
    folder = copy_of_repository(tmp_path_factory.mktemp("a copy"), SMALL)  # a path with a space
    style = folder / "src/papers/core/style.py"
    text, drawn = style.read_text(encoding="utf-8"), "figure.savefig(content, format=suffix, "
    assert text.count(drawn) == 1
    style.write_text(text.replace(drawn, "(lambda **_: content.write(bytes(2000)))("), encoding="utf-8")
    return folder, snakemake(folder)


def jobs_of(out):
    """Number of jobs of each rule that a run or dry run names."""
    rules = re.findall(r"^(?:local)?rule (\w+):$", out, re.M)
    return {rule: rules.count(rule) for rule in rules if rule != "all"}


def test_every_kind_of_job_becomes_records(run):
    folder, out = run
    results = folder / "results" / "preview"
    assert records.damaged(results) == []
    fits = records.load(REGRESSION, results)[["split", "alpha", "m", "start"]]
    cells = (("0.5", 4, "data"), ("full", 0, "data"))
    assert sorted(map(tuple, fits.to_numpy().tolist())) == [
        (split, *cell) for split in (0, 1) for cell in cells
    ]
    assert records.load(TOY, results)["hyperparameters"].tolist() == ["true", "learned"]
    assert records.load(CLASSIFICATION, results)["dataset"].tolist() == ["banana"]
    assert sorted(records.load(POINTS, results)["set"].unique()) == [-1, 0]
    assert len(records.load(ACCURACY, results)) == 4
    assert records.load(TRUTH, results)["dataset"].tolist() == ["wine13"]
    for run_of in records.read_runs(results).values():
        assert run_of.version and run_of.date and run_of.lines > 0
    (stamp,) = {tuple(r["run"]) for r in store.read_records(folder / "data/fits/pep-toy/00-00.jsonl.gz")}
    assert "source" in stamp and "commit" in stamp
    assert "REP    212 rows, none of which has a record" in out


def test_artifacts_and_terminal_table(run):
    folder, out = run
    for name in TABLES:
        assert (folder / "tables" / "preview" / name).stat().st_size > 100
    for name in ("as-released/figure1a", "as-released/figure1b", "as-released/published", "qp_truth"):
        for kind in ("pdf", "png"):
            assert (folder / "figures" / "preview" / f"{name}.{kind}").stat().st_size > 1000
    assert "fits/qp/as-released/wine13/ep-000-000.jsonl.gz: " in out  # progress
    assert "| Wine2" in out and "Tables:" in out
    with (folder / "tables" / "preview" / "qp_table1.csv").open(newline="") as stream:
        assert stream.readline().strip().split(",") == COLUMNS
        rows = list(csv.DictReader(stream, COLUMNS))
    assert {(r["row"], r["method"]) for r in rows} == {
        (row, m) for row in ("Wine2", "Mining") for m in ("ep", "ep-tune", "qp")
    }
    for row in rows:
        assert row["n_converged"] == row["n_attempted"] == {"Wine2": "10", "Mining": "2"}[row["row"]]


def test_an_option_for_the_queue_changes_no_other_need_of_a_job(run, snakemake):
    """`--default-resources` replaces all of a profile's; groups then asked for a core a job."""
    out = snakemake(run[0], "--dry-run", "--forceall", "--default-resources", "slurm_partition=p")
    needs = re.findall(r"^rule (?!all:)\w+:$.*?^    resources: ([^\n]*)$", out, re.M | re.S)
    assert len(needs) > 15
    for line in needs:
        assert re.search(r"mem_mb=[12]000\b", line) and re.search(r"runtime=\d", line), line
        assert "at_once=1" in line and "slurm_partition=p" in line, line


def test_the_reason_of_a_failed_job_is_in_its_log(run, snakemake):
    folder, _ = run
    script, log = folder / "workflow/scripts/audit.py", folder / "logs/small/audit.log"
    text = script.read_text(encoding="utf-8")
    script.write_text(text.replace("    chapters = ", "    chapters = 1 / 0, "), encoding="utf-8")
    out = snakemake(folder, "--forcerun", "audit", code=1)
    script.write_text(text, encoding="utf-8")
    assert log.read_text(encoding="utf-8").splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "tilted: ZeroDivisionError: division by zero (logs/small/audit.log)" in out
    snakemake(folder)


def test_a_second_run_does_nothing_nor_does_one_of_a_paper(run, snakemake):
    assert "Nothing to be done" in snakemake(run[0], "all", "qp", "pep", "rep", "pesc")


def test_edits_make_again_what_they_touch(run, snakemake):
    folder, _ = run
    rule, comment = (folder / "src/tilted" / name for name in ("inference/qp.py", "gaussian.py"))
    record, lists, steps = (
        folder / f"src/papers/{name}.py" for name in ("pesc/records", "pep/jobs", "rep/points")
    )
    before = {path: path.read_text(encoding="utf-8") for path in (rule, comment, record, lists, steps)}
    for path in (rule, record, lists, steps):
        path.write_text(f"{before[path]}\nEDITED = True\n", encoding="utf-8")
    comment.write_text(f"{before[comment]}\n# EDITED = True\n", encoding="utf-8")  # no experiment's module
    planned = jobs_of(snakemake(folder, "--dry-run"))
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")
    changed = {"qp_fit": 2, "qp_truth": 1, "qp_nearer": 1, "rep_points": 1}
    assert planned == {
        **changed,
        **dict.fromkeys(("qp_rows", "rep_rows", "pesc_rows"), 1),
        **dict.fromkeys(("qp_artifacts", "pep_artifacts", "rep_artifacts", "pesc_artifacts"), 1),
        "audit": 1,
    }


def test_a_lost_figure_makes_its_paper_again_and_no_other(run, snakemake):
    folder, _ = run
    figure = folder / "figures" / "preview" / "qp_truth.png"
    figure.rename(folder / "kept.png")
    planned = jobs_of(snakemake(folder, "--dry-run"))
    (folder / "kept.png").rename(figure)
    assert planned == {"qp_artifacts": 1, "audit": 1}


def test_a_printed_number_that_is_corrected_makes_its_paper_again_and_no_other(run, snakemake):
    folder, _ = run
    path = folder / "data/published/pep_win_rates.csv"
    before = path.read_bytes()
    path.write_bytes(before.replace(b"PEP5,SMLL,1,0,93", b"PEP5,SMLL,1,0,39"))
    assert path.read_bytes() != before
    planned = jobs_of(snakemake(folder, "--dry-run"))
    path.write_bytes(before)
    assert planned == {"pep_artifacts": 1, "audit": 1}


def test_snakemakes_report_has_tables_and_figures_by_paper_each_with_what_it_shows(run, snakemake):
    folder, _ = run
    snakemake(folder, "--report", "report.html")
    text = (folder / "report.html").read_text(encoding="utf-8")
    for expected in ("Paper QP", "Paper PEP", "Audit", "qp_table1.csv", "qp_truth.png", "qp_artifacts"):
        assert expected in text
    tables = [captions.about_table(name) for name in ("qp_table1.md", "pep_wins.csv", "audit.csv")]
    for shown in (*tables, captions.PAPERS[2].captions["figure1"]):
        assert shown.split(",")[0] in text


@pytest.mark.slow
def test_numbers_inside_an_override_are_numbers(run, snakemake):
    more = "qp={as-released: {rows: {coal: {seeds: 4, block: 2}}}}"
    planned = jobs_of(
        snakemake(run[0], "--dry-run", "results/preview/qp/as-released.csv.gz", "--config", more)
    )
    assert planned == {"qp_fit": 2, "qp_rows": 1}


def test_fits_alone_are_those_of_every_paper(run, snakemake, monkeypatch):
    """They were the first paper's: on a configuration of another, nothing was done and said to be."""
    monkeypatch.setenv("TILTED_DATA", "/nowhere/data")  # of the user's shell: a run has a registry of its own
    planned = jobs_of(snakemake(run[0], "--dry-run", "--forceall", "fits"))
    assert {"qp_fit", "pep_regression", "pep_classification", "rep_points"} < set(planned), planned
    assert not {name for name in planned if name.endswith("_artifacts")} and "qp_rows" not in planned


def test_another_snakefile_may_use_the_workflow(run, snakemake, tmp_path):
    folder, _ = run
    shown = (Path(__file__).resolve().parents[2] / "docs/pipeline.md").read_text(encoding="utf-8")
    outer = shown.split("```text\nmodule tilted")[1].split("```")[0]
    (tmp_path / "Snakefile").write_text(
        f"module tilted{outer}".replace("/path/to/tilted", str(folder)), encoding="utf-8"
    )
    asked = ("--snakefile", str(tmp_path / "Snakefile"), "--forceall", "--dry-run")
    planned = jobs_of(snakemake(folder, *asked))
    assert planned["mine"] == planned["tilted_qp_artifacts"] == 1 and "pep_artifacts" not in str(planned)
    as_a_job = ("--mode", "subprocess", "--config", "name=outer")  # nothing says what its run began with
    snakemake(folder, *asked, *as_a_job)


@pytest.mark.slow
def test_what_was_lost_is_computed_again_to_the_same_numbers(run, snakemake):
    """Fits are needed for the tables of rows alone: where these are whole, Snakemake asks for no fit."""
    folder, _ = run
    table = folder / "tables" / "preview" / "qp_table1.csv"
    before, toy = table.read_bytes(), records.load(TOY, folder / "results/preview")
    for lost in ("qp/as-released/coal/ep-000-001.jsonl.gz", "pep-toy/00-00.jsonl.gz"):
        (folder / "data/fits" / lost).unlink()
    for lost in ("qp/as-released.csv.gz", TOY.file):
        (folder / "results/preview" / lost).unlink()
    made = jobs_of(snakemake(folder))
    assert made == {
        "qp_fit": 2,
        "qp_rows": 1,
        "pep_exact": 1,
        "pep_rows": 1,
        "qp_artifacts": 1,
        "pep_artifacts": 1,
        "audit": 1,
    }
    assert table.read_bytes() == before
    again = records.load(TOY, folder / "results/preview")
    assert again.drop(columns=["seconds", "run"]).equals(toy.drop(columns=["seconds", "run"]))


@pytest.mark.usefixtures("undrawn")
def test_records_alone_give_the_same_artifacts(run, tmp_path, monkeypatch):
    """`make tables` where there are no fits and no metadata of Snakemake; pictures are not compared."""
    folder, _ = run
    monkeypatch.chdir(tmp_path)
    where = {"records": "results/preview", "published": "data/published"}
    options = [word for name, path in where.items() for word in (f"--{name}", str(folder / path))]
    assert main(["tables", *options]) == 0
    for kind in ("tables", "figures"):
        # no time stamps of Snakemake
        files = {path.relative_to(folder / kind / "preview") for path in (folder / kind).rglob("[!.]*.*")}
        assert len(files) > 15
        for path in files:
            again = (tmp_path / kind / path).read_bytes()
            if path.suffix not in (".pdf", ".png"):
                assert again == (folder / kind / "preview" / path).read_bytes(), path


def lines_of(path):
    """(data set, method, seed, fold) -> what a record of fits says, but for its run."""
    with gzip.open(path, "rt", newline="") as stream:
        rows = list(csv.DictReader(stream))
    key = ("dataset", "method", "seed", "fold")
    return {tuple(row[name] for name in key): {**row, "run": ""} for row in rows}


@pytest.fixture
def kept(run, tmp_path, monkeypatch):
    """A copy of the repository whose fits are committed, and a configuration that keeps them: its text."""
    folder, _ = run
    monkeypatch.chdir(tmp_path)  # of this process, whose code is not the copy's
    options = ["--fits", str(folder / "data/fits"), "--records", str(folder / "results")]
    assert main(["records", *options]) == 0
    folders = SMALL.partition("qp:")[0].replace("results/preview", "data/rows/kept")
    rows = QP.replace("      wine13: {seeds: 1, block: 1}\n", "").replace("seeds: 2", "seeds: 1")
    yield folder, f"{folders.replace('preview', 'kept').replace('small', 'kept')}keep_records: true\n{rows}"
    for path in (folder / "results").iterdir():
        if path.name != "preview":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.slow
def test_committed_rows_are_kept_beside_new_ones(kept, snakemake):
    """With `keep_records` the tables are of both, and the committed files stay as they are."""
    folder, config = kept
    (folder / "config/kept.yaml").write_text(config, encoding="utf-8")
    committed = (folder / "results/qp/as-released.csv.gz").read_bytes()
    snakemake(folder, config="config/kept.yaml")
    assert (folder / "results/qp/as-released.csv.gz").read_bytes() == committed
    rows = folder / "data/rows/kept"
    before, after = (lines_of(place / "qp/as-released.csv.gz") for place in (folder / "results", rows))
    assert after.keys() == before.keys()
    changed = {line[:3] for line in after if after[line] != before[line]}
    assert changed and changed <= {("coal", method, "0") for method in ("ep-tune", "ep", "qp")}
    with (folder / "tables/kept/qp_table1.csv").open(newline="") as stream:
        seeds = {(r["row"], r["method"]): r["n_seeds"] for r in csv.DictReader(stream)}
    assert seeds["Wine2", "qp"] == "1" and seeds["Mining", "ep"] == "2"
    assert records.damaged(rows) == []
    assert "Nothing to be done" in snakemake(folder, config="config/kept.yaml")
    # asked for more, recorded fits reused: nothing but the third seed, although none of the files is there
    more = config.replace("seeds: 1, block: 2", "seeds: 3, block: 1")
    (folder / "config/kept.yaml").write_text(f"{more}reuse: true\n", encoding="utf-8")
    (folder / "data/fits").rename(folder / "data/fits-before")
    planned = snakemake(folder, "--dry-run", config="config/kept.yaml")
    (folder / "data/fits-before").rename(folder / "data/fits")
    made = set(re.findall(r"output: data/fits/(\S+)", planned))
    assert made == {f"qp/as-released/coal/{method}-002-002.jsonl.gz" for method in ("ep", "qp")}


FAILS = "raise SystemExit(1)"
KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.slow
@pytest.mark.parametrize("ends", [FAILS, KILLED])
@pytest.mark.parametrize("place", ["changes = records", "store.write_text(job.log"])
def test_joining_that_fails_or_is_killed_is_done_again(kept, snakemake, ends, place):
    """Before any row is joined, and when all are."""
    folder, config = kept
    more = config.replace("seeds: 1, block: 2", "seeds: 3, block: 1")
    (folder / "config/kept.yaml").write_text(more, encoding="utf-8")
    script, rows = folder / "workflow/scripts/rows.py", folder / "data/rows/kept"
    shutil.rmtree(rows, ignore_errors=True)
    code = script.read_text(encoding="utf-8")
    assert code.count(place) == 1
    script.write_text(code.replace(place, f"{ends}\n    {place}"), encoding="utf-8")
    snakemake(folder, "qp_rows", config="config/kept.yaml", code=1)
    script.write_text(code, encoding="utf-8")
    snakemake(folder, "qp_rows", config="config/kept.yaml")
    assert records.damaged(rows) == [] and ("coal", "ep", "2", "0") in lines_of(
        rows / "qp/as-released.csv.gz"
    )


def test_a_wrong_configuration_is_refused_before_any_job(run, snakemake):
    """In one line that says where and what is known there."""
    folder, _ = run
    wrong = folder / "config" / "wrong.yaml"
    wrong.write_text(SMALL.replace("wine13: {seeds", "iris: {seeds"), encoding="utf-8")
    out = snakemake(folder, config="config/wrong.yaml", code=1)
    (line,) = [line for line in out.splitlines() if not line.startswith("Using workflow specific profile")]
    assert line.startswith(
        "In the configuration (config/wrong.yaml): qp.as-released: unknown data set 'iris'; known: ionosphere"
    )


def test_a_set_of_ones_own_is_read_again_when_its_entry_changes(run, snakemake):
    """Its fits were made again, of the old file, and noted as of the new entry."""
    folder, _ = run
    registry, raw = folder / "data/sources.yaml", folder / "data/raw/mine.csv"
    before = registry.read_text(encoding="utf-8")
    raw.parent.mkdir(exist_ok=True)

    def register(content, **entry):
        raw.write_bytes(content)
        os.utime(raw, (1e9, 1e9))  # an old date, as `cp -p` gives
        file = {"path": "mine.csv", "urls": [], "sha256": sha256(content).hexdigest(), "bytes": len(content)}
        said = {"title": "Mine", "licence": "mine", "citation": "mine", "task": "regression", "files": [file]}
        said |= {"target": 1, "delimiter": ",", "shape": [8, 1], **entry}
        sets = yaml.safe_dump({"sets": {"mine": said}})
        registry.write_text(f"{before}\n{sets}", encoding="utf-8")

    def read():
        asked = "data/standard/regression/mine.h5"
        snakemake(folder, asked)
        return standard.read_standard(folder / asked)

    lines = b"".join(b"%d,%d,%d\n" % (n, n + 1, n * n) for n in range(8))
    register(lines, drop=[2])
    assert read().X[:, 0].tolist() == list(range(8))
    register(lines, drop=[0])
    assert read().X[:, 0].tolist() == [n * n for n in range(8)]
    register(lines.replace(b"49", b"50"), drop=[0])
    assert read().X[7, 0] == 50
    registry.write_text(before, encoding="utf-8")
    raw.unlink()


def test_no_network_and_no_mirror(run, snakemake):
    """The message names the file, what was tried and how to place it by hand; nothing is left behind."""
    folder, _ = run
    registry = folder / "data" / "sources.yaml"
    before = registry.read_text(encoding="utf-8")
    lines = [
        "    urls: ['https://127.0.0.1:9/sonar.all-data']" if "sonar.all-data]" in line else line
        for line in before.splitlines()
    ]
    registry.write_text("\n".join(lines), encoding="utf-8")
    out = snakemake(folder, "data/standard/as-released/sonar.h5", code=1, TILTED_DATA_MIRROR="")
    registry.write_text(before, encoding="utf-8")
    assert "could not get 'sonar.all-data'" in out and "127.0.0.1:9" in out
    assert "To place it by hand" in out and "TILTED_DATA_MIRROR" in out
    assert list((folder / "data" / "raw").glob("*")) == []


STANDARD = {
    "as-described/sonar": (208, 60),
    "regression/wine_red": (1599, 11),
    "classification/corrected/crabs": (200, 6),
    "relaxed/heart": (270, 13),
}


def test_raw_files_become_standard_files_of_every_family(run, snakemake, mirror):
    folder, _ = run
    wanted = [f"data/standard/{name}.h5" for name in STANDARD]
    assert jobs_of(snakemake(folder, *wanted, TILTED_DATA_MIRROR=str(mirror))) == {
        "download": 4,
        "standardise": 4,
    }
    for name, shape in STANDARD.items():
        made = standard.read_standard(folder / f"data/standard/{name}.h5")
        assert (made.name, made.X.shape) == (name.rpartition("/")[2], shape)
    made = standard.read_standard(folder / "data/standard/relaxed/heart.h5")
    assert (made.X == relaxed.load("heart", folder / "data").X).all()


def test_configurations_of_one_name_with_other_folders_share_no_chapters(run, snakemake):
    """Else one's audit would be made of the other's, where Snakemake looks at dates alone."""
    folder, _ = run
    (chapters,) = (folder / "data/chapters").glob("small-*")
    said = snakemake(folder, "--dry-run", "--config", "tables=tables/copy", "figures=figures/copy")
    asked = set(re.findall(r"data/chapters/[^/\s]+", said))
    assert len(asked) == 1 and str(chapters.relative_to(folder)) not in asked


def test_where_failed_jobs_keep_what_they_made_nothing_else_is_lost(run, snakemake):
    """`--touch` removed what it was to touch, and figures, which are a folder, could not be removed."""
    folder, _ = run
    made = {
        path for part in ("data/fits", "results", "tables", "figures") for path in (folder / part).rglob("*")
    }
    snakemake(folder, "--touch", "--forceall", "--keep-incomplete")
    assert all(path.exists() for path in made)
    lost = folder / "tables/preview/pep.md"
    lost.unlink()
    snakemake(folder, "--keep-incomplete")
    assert all(path.exists() for path in made)


ELSEWHERE = """\
name: elsewhere
results: results/elsewhere
tables: tables/elsewhere
figures: figures/elsewhere
pesc: {accuracy: {problems: 1}}
"""


@pytest.mark.slow
def test_an_environment_of_another_folder_runs_the_workflow(copy_of_repository, tmp_path):
    """As those do that conda makes of environment.yml: the packages of the lock, and this checkout's two."""
    folder = copy_of_repository(tmp_path / "checkout", ELSEWHERE)
    venv.create(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    (packages,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    locked = sysconfig.get_path("purelib")
    (packages / "installed.pth").write_text(f"{folder / 'src'}\n{locked}\n", encoding="utf-8")
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    command = [python, "-m", "snakemake", "--cores", "1", "--configfile", "config/small.yaml"]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    made = store.read_records(next((folder / "data" / "fits" / "pesc").rglob("*.jsonl.gz")))
    assert len(list(made)) > 0 and records.damaged(folder / "results" / "elsewhere") == []


@pytest.mark.slow
def test_the_default_configuration_is_the_preview(run, snakemake):
    out = snakemake(run[0], "--dry-run", "--quiet", "rules", config=None)
    assert re.search(r"^qp_fit +12$", out, re.M) and re.search(r"^pesc_searches +2$", out, re.M)
