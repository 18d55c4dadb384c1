"""A set-up that is interrupted, and what an environment's modules set."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import papers

HERE = Path(papers.__file__).parents[2]
PYTHON = """#!/bin/sh
echo "$*" >> commands
case "$*" in
  -c*) exec {python} "$@" ;;
  "-m venv"*) mkdir -p env/bin && cp python env/bin/python ;;
  *"-r requirements.lock"*) test ! -e interrupted ;;
esac
"""


@pytest.fixture
def make(tmp_path):
    """Function of arguments: make in a folder whose Python only notes its commands; the process."""
    (tmp_path / "src/papers").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    for name in (
        "Makefile",
        "requirements.lock",
        "pyproject.toml",
        "src/papers/pyproject.toml",
        "tools/setup.sh",
    ):
        shutil.copy(HERE / name, tmp_path / name)
    (tmp_path / "python").write_text(PYTHON.format(python=sys.executable), encoding="utf-8")
    (tmp_path / "python").chmod(0o755)

    def run(*arguments, folder=tmp_path, **environment):
        command = ["make", "VENV=env", "PYTHON=./python", *arguments]
        outer = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # the tests may themselves be run by make
        own = {name: value for name, value in os.environ.items() if name not in outer}
        return subprocess.run(command, cwd=folder, env={**own, **environment}, capture_output=True, text=True)

    return run


def test_an_interrupted_setup_starts_anew(make, tmp_path):
    """Packages that pip left in part would count as installed."""
    (tmp_path / "interrupted").touch()
    assert make("setup").returncode == 2
    (tmp_path / "env/half").touch()
    (tmp_path / "interrupted").unlink()
    done = make("setup")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Setting up env (about a minute) ...\n", "")
    assert not (tmp_path / "env/half").exists()
    noted = (tmp_path / "commands").read_text(encoding="utf-8")
    assert noted.count("-e . -e src/papers") == 1  # the first ended before it
    make("setup")
    assert (tmp_path / "commands").read_text(encoding="utf-8") == noted


@pytest.mark.parametrize(
    "name, refused", [("R&D", True), ("main(1)", True), ("my work", True), ("müller_2.0", False)]
)
def test_a_folder_whose_name_a_shell_would_not_take_is_refused(make, tmp_path, name, refused):
    """All fits of a run failed there, and a part of the name was executed."""
    folder = shutil.copytree(tmp_path, tmp_path.with_name("copies") / name)
    done = make("setup", folder=folder)
    assert (done.returncode, "rename the folder" in done.stdout) == (2 * refused, refused), done
    assert (folder / "env").exists() is not refused


def test_packages_of_pythonpath_do_not_hide_those_of_the_environment(make):
    """As a cluster's modules set it."""
    done = make("--eval", "probe:; @echo $${PYTHONPATH-none}", "probe", PYTHONPATH="/mine")
    assert (done.returncode, done.stdout) == (0, "none\n"), done
