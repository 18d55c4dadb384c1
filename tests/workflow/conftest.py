"""Copies of the repository with a configuration of their own, and snakemake in them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["Snakefile", "environment.yml", "src", "workflow", "config", "profiles"]
DATA = ["sources.yaml", "coal_counts.csv", "published"]


def _copy_of_repository(folder, config):
    for name in [*PARTS, *(f"data/{part}" for part in DATA)]:
        source = ROOT / name
        (folder / name).parent.mkdir(exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, folder / name)
    (folder / "config" / "small.yaml").write_text(config, encoding="utf-8")
    return folder


def _snakemake(folder, *arguments, config="config/small.yaml", code=0, **variables):
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), **variables}
    environment.pop("TILTED_DATA", None)
    command = [sys.executable, "-m", "snakemake", "--cores", "2"]
    command += [*arguments, *(["--configfile", config] if config else [])]
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, f"exit status {done.returncode}\n{done.stdout}"
    return done.stdout


@pytest.fixture(scope="session")
def copy_of_repository():
    """Function of a folder and a configuration's text, which becomes config/small.yaml; the folder."""
    return _copy_of_repository


@pytest.fixture(scope="session")
def snakemake():
    """Function that runs snakemake in a copy of the repository; its output, both streams."""
    return _snakemake
