"""What people do to a command line and a checkout: slips of the pen, two at once, things left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

import papers
from papers.__main__ import main
from papers.evidence import files, store

HERE = Path(papers.__file__).parents[2]


@pytest.mark.parametrize(
    "arguments",
    [
        "verify --fits -1",
        "verify --fits 0",
        "verify --from-scratch -2",
        "verify --jobs 0",
        "reproduce PEP5 --sample -1",
        "reproduce PEP5 --cores 0",
        "compare --data x --rows 0",
        "compare --data x --seed -1",
    ],
)
def test_a_number_below_what_counts_is_refused(arguments, capsys):
    """Python would count from the end, or take every core."""
    with pytest.raises(SystemExit, match="2"):
        main(arguments.split())
    assert f"{arguments.split()[-1]} is below" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, said",
    [
        ("reproduce PEP5 --dry-run --protocol convergd", "--protocol convergd: these are judged under"),
        ("reproduce REP-figure4 --dry-run --protocol converged", "these are judged under none"),
        ("verify --papers rep --datasets heart wine99", "to make again in results with dataset wine99"),
        ("verify --papers pesc --methods no-such", "to make again in results with method no-such"),
    ],
)
def test_a_name_that_nothing_has_is_refused_also_beside_others(arguments, said, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    assert main(arguments.split()) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["results", "figures"])
def test_somebody_elses_results_are_not_replaced_by_a_reproduction(folder, tmp_path, capsys):
    kept = tmp_path / "pesc1" / folder / "mine.csv"
    kept.parent.mkdir(parents=True)
    kept.write_text("x\n", encoding="utf-8")
    assert main(["reproduce", "PESC1", "--output", str(tmp_path)]) == 2
    assert "is not of a run of this command" in capsys.readouterr().err and kept.exists()


def test_two_reproductions_of_one_name_do_not_share_a_folder(tmp_path, capsys):
    with files.alone(tmp_path / "pesc1"):
        assert main(["reproduce", "PESC1", "--output", str(tmp_path)]) == 2
    assert f"another process is at work in {tmp_path / 'pesc1'}" in capsys.readouterr().err


HOLDS = """
import sys, time
from papers.evidence import files
with files.alone(sys.argv[1]):
    print(flush=True)
"""


def test_who_waits_for_a_stopped_writer_says_so(tmp_path):
    """Stopped by ctrl-Z it holds the lock."""
    start = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    first = subprocess.Popen([sys.executable, "-c", f"{HOLDS}    time.sleep(600)", str(tmp_path)], **start)
    first.stdout.readline()
    first.send_signal(signal.SIGSTOP)
    second = subprocess.Popen([sys.executable, "-c", HOLDS, str(tmp_path)], **start)
    try:
        assert second.stderr.readline() == f"waiting for another process that writes in {tmp_path}\n"
        assert second.poll() is None
    finally:
        first.kill()
        first.communicate()
    second.communicate(timeout=60)
    assert second.returncode == 0


@pytest.fixture
def make(tmp_path):
    """Function of arguments: make by this Makefile, in a folder whose environment notes what it is asked."""
    program = tmp_path / "env/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(
        '#!/bin/sh\necho "begin $3" >> said\nsleep 0.2\necho "end $3" >> said\n', encoding="utf-8"
    )
    program.chmod(0o755)
    (tmp_path / "src/papers").mkdir(parents=True)
    for name in ("requirements.lock", "pyproject.toml", "src/papers/pyproject.toml", "env/.stamp"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time.time(),) * 2 if name == "env/.stamp" else (1, 1))

    def run(*arguments, **environment):
        command = ["make", "-f", HERE / "Makefile", "VENV=env", *arguments]
        # the tests may themselves be run by make, which would tell what it enters and leaves
        outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")
        own = {name: value for name, value in os.environ.items() if name not in outer}
        how = {"env": {**own, **environment}, "capture_output": True, "text": True}
        done = subprocess.run(command, cwd=tmp_path, **how)
        said = tmp_path / "said"
        return done, said.read_text(encoding="utf-8").split("\n")[:-1] if said.exists() else []

    return run


def test_make_does_one_target_after_another(make):
    """`make -j clean preview` would remove what the other makes."""
    done, said = make("check", "plan", MAKEFLAGS="-j4")
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in said] == ["begin", "end"] * 3 and said[1] == "end check"


RUNS = ["2\n3", "`touch ran`", "$(shell touch ran)", "$$(touch ran)"]


@pytest.mark.parametrize("cores", ["0", "-1", "four", "1.5", " ", *RUNS])
def test_make_asks_for_a_number_of_cores(make, cores, tmp_path):
    """Of none Snakemake waits for ever, without a word; a second line was run, and what a shell reads."""
    done, said = make("preview", CORES=cores)
    assert done.returncode and "CORES must be a whole number from 1" in done.stderr and not said
    assert not (tmp_path / "ran").exists()
    assert not make("preview", CORES="2")[0].returncode


def test_only_an_interrupted_reproduction_goes_on(tmp_path, monkeypatch):
    """With other packages, say, a second `--fresh` made nothing, and its receipt named them."""
    from papers.reproduce import command

    folder = tmp_path / "pesc1,share=0.001"
    made, seen = folder / "fits/data/fits/x.jsonl.gz", []

    def reproduced(*_):
        seen.append(made.exists())
        made.parent.mkdir(parents=True, exist_ok=True)
        made.touch()
        if len(seen) == 1:
            raise KeyboardInterrupt
        return []

    monkeypatch.setattr(command, "reproduced", reproduced)
    again = ["reproduce", "PESC1", "--fresh", "--share", "0.001", "--output", str(tmp_path)]
    assert [main(again) for _ in range(3)] == [130, 0, 0]
    assert seen == [False, True, False] and (folder / "receipt.json").exists()


def test_tables_of_two_moments_are_not_said_to_be_of_one(tmp_path, monkeypatch, capsys):
    """`make records` while `make tables` is at work: some tables are of the records before."""
    from papers import make
    from papers.evidence import records
    from papers.report import index

    def written(folder, *others):
        records.save(folder, {}, [], {"new": b"x"})
        return []

    monkeypatch.setattr(make, "write_all", written)
    monkeypatch.setattr(index, "write", lambda *folders: None)
    (tmp_path / "results").mkdir()
    places = [f"--{kind}={tmp_path}" for kind in ("tables", "figures")]
    assert main(["tables", "--records", str(tmp_path / "results"), *places]) == 2
    assert "changed meanwhile" in capsys.readouterr().err


@pytest.mark.parametrize("form", ["{0}\n{1}\n", "<<<<<<< HEAD\n{0}\n=======\n{1}\n>>>>>>> theirs\n"])
def test_verdicts_of_both_sides_of_a_merge_are_not_compared_with(form, tmp_path, monkeypatch):
    """The last would have counted as the committed one."""
    from papers.reproduce import results

    (tmp_path / "tables").mkdir()
    lines = (HERE / "tables/audit.csv").read_text(encoding="utf-8").splitlines()
    theirs = lines[-1].replace("holds", "is undecided")
    text = "\n".join(lines[:-1]) + "\n"
    (tmp_path / "tables/audit.csv").write_text(text + form.format(lines[-1], theirs), encoding="utf-8")
    monkeypatch.setattr(results, "CHECKOUT", tmp_path)
    with pytest.raises(ValueError, match="audit.csv .*make tables"):
        results.committed_verdicts([lines[-1].partition(",")[0]])


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Has a job of a reproduction made by a Snakemake that does nothing but what ``does`` of it says."""
    from papers.reproduce import fits, names, needs

    jobs = needs.of(names.find(["PESC1"]), HERE / "results", fresh=True).jobs[:1]
    monkeypatch.setattr(fits, "CHECKOUT", tmp_path)

    def make(mirror=None, does="pass"):
        told = {}

        def run(command, log, environment):
            told.update(environment)
            store.write_text(tmp_path / jobs[0].path, "made")
            exec(does, {"place": tmp_path / jobs[0].path, "log": log})

        monkeypatch.setattr(fits, "_run", run)
        fits.make(jobs, tmp_path / "run", False, 1, None, mirror)
        return told

    return make


def test_a_mirror_is_a_folder_of_where_the_command_was_given(asked, tmp_path, monkeypatch):
    """Snakemake works in another."""
    monkeypatch.chdir(tmp_path)
    away = "https://example.org/raw"
    of = [("raw", "", tmp_path / "raw"), ("~/raw", "", Path.home() / "raw"), (away, "", away)]
    for given, variable, meant in [*of, (None, "raw", tmp_path / "raw")]:
        monkeypatch.setenv("TILTED_DATA_MIRROR", variable)
        assert asked(given)["TILTED_DATA_MIRROR"] == str(meant)


def test_a_reproduction_keeps_no_password_of_a_mirror(asked, tmp_path, monkeypatch):
    """It stood in the configuration that Snakemake was given."""
    from papers.reproduce import fits

    told = fits._run
    address = "https://user:secret@example.org/raw"
    assert asked(address)["TILTED_DATA_MIRROR"] == address
    (tmp_path / "run").mkdir(exist_ok=True)
    told([sys.executable, "-c", f"print('could not get {address}/x')"], tmp_path / "run/log")
    assert "https://***@example.org/raw/x" in (tmp_path / "run/log").read_text(encoding="utf-8")
    for path in (tmp_path / "run").iterdir():
        assert "secret" not in path.read_text(encoding="utf-8")


def test_a_snakemake_that_makes_nothing_is_no_success(asked):
    """As with a profile of the user's that says ``dry-run: true``."""
    from papers.reproduce import fits

    with pytest.raises(fits.FitsFailed, match="ended well and made 0 of 1 files.*SNAKEMAKE_PROFILE"):
        asked(does="place.unlink()")


def test_a_snakemake_that_fails_is_named_by_its_last_error(tmp_path):
    """A cache that cannot be made: the message pointed to the log alone."""
    from papers.reproduce import fits

    (tmp_path / "Snakefile").write_text(
        "rule all:\n    input: 'a', 'b'\n\n"
        "rule a:\n    output: 'a'\n    shell: 'exit 3'\n\n"
        "rule b:\n    output: 'b'\n    run:\n        raise PermissionError(13, 'https://user:secret@x/cache')\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(tmp_path / "Snakefile"), "--keep-going"]
    with pytest.raises(
        fits.FitsFailed, match=r"every fit, PermissionError.*Errno 13.*\*\*\*@x/cache.*log \("
    ):
        fits._run([*command, "--cores", "1", "--directory", str(tmp_path)], tmp_path / "log")
    with pytest.raises(fits.FitsFailed, match=r"every fit, FileNotFoundError.*no/such.yaml.*log \("):
        fits._run([*command, "--cores", "1", "--configfile", "no/such.yaml"], tmp_path / "log")


def test_an_environment_whose_interpreter_is_gone_is_made_again(make, tmp_path):
    """The system's Python was upgraded; the stamp is up to date."""
    program = tmp_path / "env/bin/python"
    (tmp_path / "env/pyvenv.cfg").write_text("", encoding="utf-8")
    assert "venv --clear env" not in make("--dry-run", "check")[0].stdout
    program.unlink()
    program.symlink_to("/nowhere/python3")
    done, _ = make("--dry-run", "check")
    assert "env/bin/python leads nowhere: env is made again" in done.stdout
    assert "python3 -m venv --clear env" in done.stdout


def test_the_commit_of_a_checkout_of_another_user_is_known(tmp_path, monkeypatch):
    """In a container git calls its owner dubious: no commit was named, and no unfinished merge."""
    from papers.evidence import runs

    git = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    name = subprocess.run(
        [*git, "rev-parse", "--short=12", "HEAD"], check=True, capture_output=True, text=True
    )
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    assert subprocess.run([*git, "status"], capture_output=True).returncode == 128
    monkeypatch.setattr(runs, "CHECKOUT", tmp_path)
    runs.commit.cache_clear()
    assert runs.commit() == name.stdout.strip()
    runs.commit.cache_clear()


def test_setup_installs_into_its_environment_whatever_the_user_told_pip(make, tmp_path):
    """As images and clusters set it; PYTHONPATH names a folder that has the package already."""
    venv.create(tmp_path / "real", with_pip=True)
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("thing.py", "")
        file.writestr("thing-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n")
        file.writestr("thing-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        file.writestr("thing-1.0.dist-info/RECORD", "")
    zipfile.ZipFile(wheel).extractall(tmp_path / "module")
    command = ["--eval", "probe:; $(PIP) --no-index --find-links . thing", "VENV=real", "probe"]
    (site,) = (tmp_path / "real").glob("lib/*/site-packages")
    there = str(tmp_path / "there")
    (tmp_path / "pip.conf").write_text(f"[install]\nuser = true\nconstraint = {there}\n", encoding="utf-8")
    told = {"PYTHONPATH": str(tmp_path / "module"), "PIP_USER": "1", "PIP_TARGET": there, "PIP_PREFIX": there}
    told |= {"PYTHONHOME": there, "PIP_DRY_RUN": "1", "PIP_REQUIRE_HASHES": "1", "PIP_CONSTRAINT": there}
    for name, value in {**told, "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}.items():
        done, _ = make(*command, **{name: value})
        assert done.returncode == 0, done.stderr
        assert (site / "thing.py").exists(), name
        for left in site.glob("thing*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def test_make_runs_the_packages_of_its_environment(make):
    """Whose `papers.py` or `tilted` lies in a folder of PYTHONPATH got its code run, or a traceback."""
    done, _ = make("--eval", "probe:; @echo $${PYTHONPATH-none}", "probe", PYTHONPATH="/mine")
    assert (done.returncode, done.stdout) == (0, "none\n"), done


def test_settings_of_pip_that_nothing_overrides_are_named(make, tmp_path):
    """In place of packages that are nowhere to be found later."""
    (tmp_path / "pip.conf").write_text("[install]\ntarget = /there\n", encoding="utf-8")
    how = {"PIP_CONFIG_FILE": str(tmp_path / "pip.conf"), "PYTHONHOME": str(tmp_path)}
    done, _ = make("VENV=real", f"PYTHON={sys.executable}", "setup", **how)
    assert done.returncode == 2 and "install.target='/there'" in done.stdout
    assert "run it with PIP_CONFIG_FILE=/dev/null" in done.stdout and not (tmp_path / "real/.stamp").exists()


def test_an_environment_in_which_nothing_was_installed_is_not_taken_for_whole(make, tmp_path):
    """Whatever else told pip so; here it has nothing to do."""
    pip = "PIP=true"
    done, _ = make("VENV=real", f"PYTHON={sys.executable}", pip, "setup", PIP_CONFIG_FILE="/dev/null")
    assert done.returncode == 2 and "installed nothing into real" in done.stdout
    assert not (tmp_path / "real/.stamp").exists()


def test_an_interrupt_while_the_command_is_loaded(monkeypatch, capsys):
    """It takes a second or two; there was a traceback."""

    def loading():
        raise KeyboardInterrupt

    monkeypatch.setattr("papers.__main__.parser", loading)
    assert main(["datasets"]) == 130
    assert capsys.readouterr().err == "tilted: interrupted; every file is whole\n"
