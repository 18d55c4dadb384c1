"""A checkout that was copied or moved, a folder with an odd name, no HOME."""

import os
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

import papers
from papers.evidence import place

HERE = Path(papers.__file__).parents[2]


@pytest.fixture
def checkout(tmp_path, repository):
    """What `make setup` reads, with an environment that it made."""
    folder = tmp_path / "first"
    (folder / "src/papers").mkdir(parents=True)
    for name in ("Makefile", "requirements.lock", "pyproject.toml", "src/papers/pyproject.toml"):
        shutil.copy(repository / name, folder / name)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=folder, check=True)
    (folder / ".venv/.stamp").touch()
    return folder


def dry(folder):
    """What `make setup` would do."""
    words = ["make", "--dry-run", "setup"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def test_setup_notices_that_the_folder_changed(checkout, tmp_path):
    """The environment is made again where it was copied or moved, and nowhere else, links to it included."""
    assert "Nothing to be done" in dry(checkout)
    (tmp_path / "link").symlink_to(checkout)
    assert "Nothing to be done" in dry(tmp_path / "link")
    shutil.copytree(checkout, tmp_path / "copy", symlinks=True)
    said = dry(tmp_path / "copy")
    assert f".venv was made as {checkout}/.venv: it is made again" in said
    assert "-m venv --clear .venv" in said and "-e . -e src/papers" in said
    shutil.rmtree(tmp_path / "copy/.venv")
    (tmp_path / "copy/.venv").symlink_to(checkout / ".venv")  # somebody else's, on purpose: never cleared
    assert "Nothing to be done" in dry(tmp_path / "copy")
    (tmp_path / "link").unlink()
    checkout.rename(tmp_path / "moved")
    assert "it is made again" in dry(tmp_path / "moved")


@pytest.mark.parametrize(("asked", "said"), [("3.99", "is Python 3.99, but .venv has"), ("", "Python none")])
def test_another_python_than_the_environment_has_is_refused(checkout, tmp_path, asked, said):
    """It was taken for the one asked for, and nothing was said."""
    other = tmp_path / "python3.99"
    if asked:
        other.write_text(f"#!/bin/sh\necho {asked}\n", encoding="utf-8")
        other.chmod(0o755)
    how = {"cwd": checkout, "capture_output": True, "text": True}
    done = subprocess.run(["make", "--dry-run", "setup", f"PYTHON={other}"], **how)
    assert done.returncode != 0 and said in done.stderr and "leave PYTHON out" in done.stderr
    done = subprocess.run(["make", "--dry-run", "setup", f"PYTHON={sys.executable}"], **how)
    assert done.returncode == 0 and "Nothing to be done" in done.stdout


def test_a_package_that_is_there_in_part_is_named(checkout, repository):
    """A set-up was killed: of a package METADATA alone was there, which pip took for installed."""
    shown = 'half: ; @.venv/bin/python -I -c "$$HALF_INSTALLED"'
    command = ["make", "--eval", shown, "-f", str(repository / "Makefile"), "half"]
    how = {"cwd": checkout, "capture_output": True, "text": True}
    assert subprocess.run(command, **how).returncode == 0
    (packages,) = (checkout / ".venv/lib").glob("python*/site-packages")
    (packages / "some-1.0.dist-info").mkdir()
    (packages / "some-1.0.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: some\nVersion: 1.0\n")
    done = subprocess.run(command, **how)
    assert done.returncode and "installed in part" in done.stderr
    assert f"some; delete {checkout}/.venv and run" in done.stderr
    assert (
        '-c "$HALF_INSTALLED"'
        in subprocess.run(["make", "--dry-run", "-W", "pyproject.toml", "setup"], **how).stdout
    )


def test_a_second_setup_at_once_is_refused(checkout, tmp_path):
    """Of two terminals: pip of the second met half written packages, and ended in a traceback."""
    (checkout / ".venv/.stamp").unlink()
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\ntest "$2" != venv || { echo "an environment is made"; sleep 3; exit 7; }\n')
    python.chmod(0o755)
    how = {"cwd": checkout, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    command = ["make", "setup", f"PYTHON={python}"]
    together = [subprocess.Popen(command, **how) for _ in range(3)]
    said = [each.communicate()[0] for each in together]
    assert all(each.returncode for each in together)
    assert sum("an environment is made" in text for text in said) == 1
    (first,) = (each.pid for each, text in zip(together, said, strict=True) if "is made" in text)
    assert sum(f"another make, process {first}, sets up .venv" in text for text in said) == 2
    # the first failed, and its number is another's now
    (checkout / ".venv.pid").write_text(f"{os.getpid()}\n")
    python.write_text(python.read_text().replace("sleep 3; ", ""))
    later = subprocess.run(command, **how).stdout
    assert "another make" not in later and "an environment is made" in later
    elsewhere = subprocess.run([*command, "VENV=not/yet/there"], **how).stdout
    assert "an environment is made" in elsewhere


def test_the_workflow_runs_the_code_of_its_own_checkout(tmp_path):
    assert place.unfit(HERE, HERE, "/usr/bin/python3") == ""
    (tmp_path / "link").symlink_to(HERE)
    assert place.unfit(tmp_path / "link", HERE, "/usr/bin/python3") == ""
    (tmp_path / "copy/src").mkdir(parents=True)
    said = place.unfit(tmp_path / "copy", tmp_path / "copy", "/usr/bin/python3")
    assert "it would run another checkout; run `make setup` here" in said
    assert str(HERE / "src/papers") in said and str(tmp_path / "copy/src") in said


def test_the_workflow_called_from_another_folder_says_where_to_run(tmp_path):
    said = place.unfit(HERE, tmp_path, "/usr/bin/python3")
    assert f"{tmp_path} is no checkout" in said and said.endswith(f"--directory {HERE}")


def test_an_environment_that_the_users_shell_names_is_not_installed_into(checkout):
    """VENV is a common name; as an argument of make it is meant."""
    how = {"cwd": checkout, "capture_output": True, "text": True}
    mine = {**os.environ, "VENV": "/envs/mine"}
    done = subprocess.run(["make", "--dry-run", "setup"], env=mine, **how)
    assert done.returncode == 2 and "VENV is set in your environment (/envs/mine)" in done.stderr
    assert "venv" not in done.stdout
    meant = subprocess.run(["make", "--dry-run", "setup", "VENV=other"], env=mine, **how)
    assert meant.returncode == 0 and "other/bin/python" in meant.stdout


@pytest.mark.parametrize("letter", '{}$`"\\')
def test_a_folders_name_that_snakemake_would_read(letter):
    assert "clone to another" in place.unfit(HERE, Path(f"/a{letter}b"), "/usr/bin/python3")
    assert "without spaces" in place.unfit(HERE, HERE, "/a b/python3")


@pytest.mark.parametrize("name", ["a b", "a\nb", 'a"b', "a$(touch run)b", "a`touch run`b", "a{b", "a\\b"])
def test_setup_runs_nothing_of_a_folders_name(name, tmp_path, repository):
    """The name stood in a command between double quotes."""
    folder = tmp_path / name
    (folder / "src/papers").mkdir(parents=True)
    for file in ("Makefile", "requirements.lock", "pyproject.toml", "src/papers/pyproject.toml"):
        shutil.copy(repository / file, folder / file)
    python = f"PYTHON={sys.executable}"
    done = subprocess.run(["make", "setup", python], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2 and "clone to another folder" in done.stdout
    assert not [*tmp_path.rglob("run"), *tmp_path.rglob(".venv")]


def test_the_workflow_asks_where_it_is(repository):
    """Before anything else of ours."""
    text = (repository / "workflow/rules/common.smk").read_text(encoding="utf-8")
    where = "Path(str(workflow.current_basedir)).parents[1], Path.cwd(), sys.executable"
    asked = text.index(f"place.unfit({where})")
    assert asked < text.index("ASKED = asked(config)")


def test_without_a_home_caches_are_beside_the_environment(checkout, tmp_path):
    def cache(home, **more):
        words = ["make", "-s", "--eval", "show:;@echo $$XDG_CACHE_HOME $$MPLCONFIGDIR", "show"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG", "MPL"))}
        here = {"cwd": checkout, "env": {**kept, "HOME": str(home), **more}}
        return subprocess.run(words, **here, capture_output=True, text=True, check=True).stdout.split()

    assert cache(tmp_path) == []
    (tmp_path / "file").touch()
    inside = str(checkout / ".venv/cache")
    assert cache(tmp_path / "file/home") == [inside, f"{inside}/matplotlib"]
    assert cache(tmp_path, XDG_CACHE_HOME=str(tmp_path / "file/purged")) == [inside, f"{inside}/matplotlib"]


NAMELESS = """
import pwd, sys
from snakemake.cli import main

def nameless(number):
    raise KeyError(f"uid not found: {number}")

pwd.getpwuid = nameless
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_user_without_a_name(fresh):
    """As a container's may be: Snakemake asks for it."""
    known = {"LOGNAME", "USER", "LNAME", "USERNAME", "TILTED_DATA"}
    environment = {name: value for name, value in os.environ.items() if name not in known}
    said = ["--cores", "1", "--configfile", "config/small.yaml", "--", "data/standard/as-released/coal.h5"]
    done = subprocess.run(
        [sys.executable, "-c", NAMELESS, *said],
        cwd=fresh.folder,
        env={**environment, "PYTHONPATH": str(fresh.folder / "src")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_a_clock_that_is_behind_is_told(tmp_path, monkeypatch):
    """Its fits were passed over as older than the recorded ones, which were counted as made."""
    monkeypatch.setattr("papers.evidence.runs.today", lambda: date(2026, 11, 21))
    assert place.behind(tmp_path) == "", "there are no runs"
    for day, told in (("2026-11-20", False), ("2026-11-22", False), ("2026-11-23", True), ("2026", False)):
        head = "run,study,commit,version,protocol,environment,date,core_seconds,lines,replaced"
        text = f"{head}\na,b,,,,,{day},1,1,0\nc,d,,,,,never,1,1,0\n"
        (tmp_path / "runs.csv").write_text(text, encoding="utf-8")
        said = place.behind(tmp_path)
        assert (f"the clock says 2026-11-21, and {tmp_path}/runs.csv has a run of {day}" in said) == told
        assert bool(said) == told, "a day may be another's time zone"
