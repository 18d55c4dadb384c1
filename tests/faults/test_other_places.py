"""The command beside other checkouts, other repositories, unfinished merges, signals and wrong clocks."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import papers
from papers.__main__ import main
from papers.evidence import jobs, place, records, runs, store
from papers.pep import published
from papers.reproduce import fits

HERE = Path(papers.__file__).parents[2]
GIT = ("git", "-c", "user.name=somebody", "-c", "user.email=somebody@example.org")


def git(folder, *arguments, **options):
    return subprocess.run([*GIT, *arguments], cwd=folder, capture_output=True, text=True, **options)


@pytest.fixture
def repository_with_one_commit(tmp_path):
    folder = tmp_path / "outer"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", check=True)
    git(folder, "commit", "-q", "--allow-empty", "-m", "first", check=True)
    return folder


@pytest.fixture
def asked_anew():
    """The commit is asked for once a process."""
    runs.commit.cache_clear()
    yield
    runs.commit.cache_clear()


def test_another_repositorys_commit_is_never_named(repository_with_one_commit, asked_anew, monkeypatch):
    """A copy without a history below it; then a hook of the other one, which says so in the environment."""
    other = git(repository_with_one_commit, "rev-parse", "--short=12", "HEAD").stdout.strip()
    own = runs.commit()
    assert len(other) == 12 and not own.startswith(other)
    for name, value in {"GIT_DIR": ".git", "GIT_WORK_TREE": ".", "GIT_INDEX_FILE": "none"}.items():
        monkeypatch.setenv(name, str(repository_with_one_commit / value))
    runs.commit.cache_clear()
    assert runs.commit() == own
    inside = repository_with_one_commit / "copy"
    inside.mkdir()
    monkeypatch.setattr(runs, "CHECKOUT", inside)
    runs.commit.cache_clear()
    assert runs.commit() == ""
    monkeypatch.setattr(runs, "CHECKOUT", repository_with_one_commit)
    runs.commit.cache_clear()
    assert runs.commit() == other


def test_a_new_source_that_git_is_told_not_to_mention(repository_with_one_commit, asked_anew, monkeypatch):
    """By habit (`status.showUntrackedFiles=no`): a fit by new code named the commit as if it had it."""
    monkeypatch.setattr(runs, "CHECKOUT", repository_with_one_commit)
    git(repository_with_one_commit, "config", "status.showUntrackedFiles", "no", check=True)
    (repository_with_one_commit / "src").mkdir()
    (repository_with_one_commit / "src/new.py").touch()
    assert runs.commit().endswith(runs.DIRTY)


def test_what_is_not_as_committed_is_known(repository_with_one_commit, asked_anew, monkeypatch):
    """Bundled counts make fits other ones; records and tables are what a reproduction compares with."""
    folder = repository_with_one_commit
    monkeypatch.setattr(runs, "CHECKOUT", folder)
    for name in ("data/coal_counts.csv", "results/runs.csv", "docs/page.md"):
        (folder / name).parent.mkdir()
        (folder / name).write_text("1\n", encoding="utf-8")
    git(folder, "add", ".", check=True)
    git(folder, "commit", "-q", "-m", "all", check=True)
    assert runs.uncommitted("results", "data") == []
    for name in ("results/runs.csv", "docs/page.md"):
        (folder / name).write_text("2\n", encoding="utf-8")
    assert runs.uncommitted("results", "data") == ["results/runs.csv"]
    git(folder, "add", ".", check=True)
    assert runs.uncommitted("results", "data") == ["results/runs.csv"]
    assert not runs.commit().endswith(runs.DIRTY)
    runs.commit.cache_clear()
    (folder / "data/coal_counts.csv").write_text("2\n", encoding="utf-8")
    assert runs.commit().endswith(runs.DIRTY)
    monkeypatch.setattr(runs, "CHECKOUT", folder / "none")
    runs.commit.cache_clear()
    assert runs.uncommitted("results", "data") is None


def sourced(folder, monkeypatch):
    """The repository as the checkout, with a source that is committed."""
    monkeypatch.setattr(runs, "CHECKOUT", folder)
    (folder / "src").mkdir()
    (folder / "src/old.py").write_text("A = 1\n", encoding="utf-8")
    git(folder, "add", "src", check=True)
    git(folder, "commit", "-q", "-m", "source", check=True)
    return folder


@pytest.mark.parametrize(
    "told", ["--skip-worktree", "--assume-unchanged", "core.excludesFile", "info/exclude"]
)
def test_a_source_that_git_is_told_not_to_look_at(repository_with_one_commit, asked_anew, monkeypatch, told):
    """Fits and lines of what was verified named the commit as if it had the edits."""
    folder = sourced(repository_with_one_commit, monkeypatch)
    assert not runs.commit().endswith(runs.DIRTY)
    if told.startswith("--"):
        git(folder, "update-index", told, "src/old.py", check=True)
        (folder / "src/old.py").write_text("A = 2\n", encoding="utf-8")
    else:
        ignored = folder / ".git" / ("ignored" if told.startswith("core") else told)
        ignored.parent.mkdir(exist_ok=True)
        ignored.write_text("new*\n.litter\n", encoding="utf-8")
        if told.startswith("core"):
            git(folder, "config", told, str(ignored), check=True)
        (folder / "src/.litter").touch()  # as file managers and editors leave: nothing that runs
        runs.commit.cache_clear()
        assert not runs.commit().endswith(runs.DIRTY)
        (folder / "src/new.py").touch()
    assert git(folder, "status", "--porcelain").stdout == ""
    runs.commit.cache_clear()
    assert runs.commit().endswith(runs.DIRTY)


@pytest.mark.parametrize("how", ["edited", "new", "committed"])
def test_sources_that_change_while_a_run_works(repository_with_one_commit, asked_anew, monkeypatch, how):
    """Modules are imported when they are needed: what ran then was said to be of the commit alone."""
    folder = sourced(repository_with_one_commit, monkeypatch)
    name = runs.commit()
    (folder / "page.md").write_text("no source\n", encoding="utf-8")
    git(folder, "add", "page.md", check=True)
    git(folder, "commit", "-q", "-m", "page", check=True)
    assert runs.stamp()["commit"] == name
    (folder / f"src/{'new' if how == 'new' else 'old'}.py").write_text("A = 2\n", encoding="utf-8")
    if how == "committed":
        git(folder, "commit", "-q", "-a", "-m", "edited", check=True)
    assert runs.stamp()["commit"] == name + runs.DIRTY == runs.still(name)
    assert runs.still("") == "" and runs.still(name + runs.DIRTY) == name + runs.DIRTY


@pytest.mark.parametrize("broken", ["index", "settings"])
def test_where_git_cannot_say_whether_sources_differ_they_may(
    repository_with_one_commit, asked_anew, monkeypatch, tmp_path, broken
):
    """Its index lost its bytes in a power failure, or a user's settings name a file that is gone: the name
    of a commit is known, and edits passed for it."""
    folder = sourced(repository_with_one_commit, monkeypatch)
    name = runs.commit()
    assert name and not name.endswith(runs.DIRTY)
    runs.commit.cache_clear()
    if broken == "index":
        (folder / ".git/index").write_bytes(b"")
        assert runs.commit() == name + runs.DIRTY
    else:
        git(folder, "config", "diff.orderFile", str(tmp_path / "none"), check=True)
        assert runs.commit() == name
        (folder / "src/old.py").write_text("A = 2\n", encoding="utf-8")
        assert runs.still(name) == name + runs.DIRTY


def test_files_that_are_as_committed_are_no_edits_whatever_their_dates(
    repository_with_one_commit, asked_anew, monkeypatch
):
    """A user's settings have git compare dates alone: a checkout that was copied passed for edited."""
    folder = sourced(repository_with_one_commit, monkeypatch)
    git(folder, "config", "diff.autoRefreshIndex", "false", check=True)
    os.utime(folder / "src/old.py", (0, 0))
    assert not runs.commit().endswith(runs.DIRTY)


def test_a_file_in_conflict_is_named_once(repository_with_one_commit, asked_anew, monkeypatch):
    """Git has it several times: as it is, and as each side of the merge has it."""
    folder = sourced(repository_with_one_commit, monkeypatch)
    for branch, text in (("other", "A = 2\n"), ("main", "A = 3\n")):
        git(folder, "checkout", "-q", *([] if branch == "main" else ["-b"]), branch, check=True)
        (folder / "src/old.py").write_text(text, encoding="utf-8")
        git(folder, "commit", "-q", "-a", "-m", branch, check=True)
    git(folder, "merge", "-q", "other")
    assert runs.uncommitted("src") == ["src/old.py"]


def test_which_of_two_commits_comes_first(repository_with_one_commit, asked_anew, monkeypatch):
    folder = repository_with_one_commit
    monkeypatch.setattr(runs, "CHECKOUT", folder)
    git(folder, "commit", "-q", "--allow-empty", "-m", "second", check=True)
    first, second = (
        git(folder, "rev-parse", "--short=12", name).stdout.strip() for name in ("HEAD~", "HEAD")
    )
    assert runs.precedes(first, second) and runs.precedes(f"{first}+", second)
    for pair in ((second, first), (first, first), (first, f"{first}+"), ("", second), ("f" * 12, second)):
        assert not runs.precedes(*pair)
    assert not runs.precedes("--octopus", second)


def test_the_command_of_another_checkout_is_refused(tmp_path, monkeypatch, capsys):
    """Its code would make this one's tables and records."""
    (tmp_path / "src/papers").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    assert "it would run another checkout" in said and str(HERE / "src/papers") in said


def test_an_unfinished_merge_is_named(repository_with_one_commit, monkeypatch, capsys):
    """Files with the lines of both sides; tables and figures are what is made again to finish it."""
    folder = repository_with_one_commit
    for branch in ("theirs", "main"):
        git(folder, "checkout", "-q", *(["-b"] if branch == "theirs" else []), branch, check=True)
        for name in ("claims.yaml", "tables/qp_table1.md"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(f"of {branch}\n", encoding="utf-8")
        git(folder, "add", ".", check=True)
        git(folder, "commit", "-q", "-m", branch, check=True)
    monkeypatch.setattr(runs, "CHECKOUT", folder)
    assert runs.unmerged() == []
    assert git(folder, "merge", "-q", "theirs").returncode == 1
    assert "=======" in (folder / "claims.yaml").read_text(encoding="utf-8")
    assert runs.unmerged() == ["claims.yaml"]
    assert runs.unmerged(()) == ["claims.yaml", "tables/qp_table1.md"]  # those that read them
    git(folder, "add", "claims.yaml", check=True)
    assert main(["tables", "--records", "nowhere"]) == 2 and "merge" not in capsys.readouterr().err
    assert main(["reproduce", "PEP5"]) == 2 and "(git status): tables/qp" in capsys.readouterr().err
    git(folder, "reset", "-q", "--hard", check=True)
    assert git(folder, "merge", "-q", "theirs").returncode == 1
    assert main(["datasets"]) == 2
    said = "a merge is not finished (git status): claims.yaml"
    assert capsys.readouterr().err == f"tilted: {said}\n"
    assert place.unfit(HERE, HERE, sys.executable) == said  # the workflow asks this


SIDES = "<<<<<<< HEAD\n{0}\n=======\n{0}\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    "name, read", [(published.FILE, published.read), (published.SETS_FILE, published.read_counts)]
)
@pytest.mark.parametrize("form", ["{0}\n{0}\n", SIDES])
def test_printed_numbers_of_both_sides_of_a_merge_are_refused(tmp_path, name, read, form):
    """Also where somebody added the file as it was: the number would count twice."""
    lines = (HERE / "data/published" / name).read_text(encoding="utf-8").splitlines()
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(read(tmp_path)) == len(lines) - 1
    (tmp_path / name).write_text("\n".join(lines) + "\n" + form.format(lines[-1]), encoding="utf-8")
    with pytest.raises(ValueError, match=name):
        read(tmp_path)


def test_claims_of_both_sides_of_a_merge_are_refused(tmp_path, monkeypatch, capsys):
    """Of two rules of one claim the last would have counted."""
    from papers.evidence import claims

    text = claims.FILE.read_text(encoding="utf-8")
    monkeypatch.setattr(claims, "FILE", tmp_path / "claims.yaml")
    for wrong, what in ((SIDES.format("x: 1") + text, "is no YAML"), (text + text, "is there twice")):
        claims.FILE.write_text(wrong, encoding="utf-8")
        claims.load.cache_clear()
        assert main(["reproduce", "QP10", "--dry-run"]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"tilted: {claims.FILE}") and what in said
    claims.load.cache_clear()


def test_fits_of_a_day_to_come_are_not_folded_in(tmp_path, monkeypatch):
    """A node's clock is ahead: later fits, which are of an earlier day, would never replace these."""
    path, today = tmp_path / "fits/qp/coal.jsonl.gz", runs.today()
    stamp = {**runs.stamp(), **store.COUNTED}
    record = {"run": {**stamp, "date": today.replace(year=today.year + 10, day=1).isoformat()}}
    store.write_records(path, [record], jobs.place_of(path))
    from papers.pesc.records import STUDIES

    with pytest.raises(store.RecordError, match="coal.jsonl.gz: a record of .*a day to come"):
        records.fold_in(STUDIES[0], [path], tmp_path / "results")
    assert not (tmp_path / "results").exists()


LONG = """
import os, sys, time
from joblib import Parallel, delayed
import papers.__main__ as command

def work(kind):
    open(f"worker-{os.getpid()}", "w").close()
    if kind == "killed":
        os.kill(os.getpid(), 9)
    if kind == "memory":
        raise MemoryError("no more memory")
    time.sleep(600)

command.RUN["datasets"] = lambda arguments: Parallel(n_jobs=2)(delayed(work)(sys.argv[1]) for _ in range(2))
sys.exit(command.main(["datasets"]))
"""


def at_their_default():
    """To be called in a child: signals are as in a terminal, also where these tests run under nohup."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize(
    "kind, code, said",
    [
        ("killed", 2, "SIGKILL"),
        ("memory", 2, "no more memory"),
        ("SIGTERM", 130, "interrupted"),
        ("SIGHUP", 130, "interrupted"),
        ("SIGINT", 130, "interrupted"),
    ],
)
def test_a_command_whose_worker_or_itself_is_killed(tmp_path, kind, code, said):
    """A sentence, no traceback, and no worker left behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, kind],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE / "src")},
        preexec_fn=at_their_default,
    )
    workers = []
    while len(workers) < (2 if code == 130 else 1):
        time.sleep(0.02)
        workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]
    if code == 130:
        process.send_signal(getattr(signal, kind))
    error = process.communicate(timeout=120)[1]
    assert process.returncode == code and error.startswith("tilted: ") and said in error
    assert "Traceback" not in error
    for _ in range(500):
        if not any(alive(worker) for worker in workers):
            break
        time.sleep(0.02)
    else:
        raise AssertionError("workers live on")


class Interrupting:
    """In the place of what looks for the steps of Snakemake in its lines."""

    def search(self, line):
        raise KeyboardInterrupt


def test_an_interrupted_reproduction_ends_snakemake(tmp_path, monkeypatch):
    """Else it would go on alone, and the next one would find its lock."""
    monkeypatch.setattr(fits, "STEPS", Interrupting())
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with pytest.raises(KeyboardInterrupt):
        fits._run([sys.executable, "-c", code], tmp_path / "log")
    assert not alive((tmp_path / "log").read_text(encoding="utf-8").strip())


def alive(process):
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    return "State:\tZ" not in status
