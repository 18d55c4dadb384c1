"""Fixtures shared by all tests."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy: one BLAS thread a worker, as in make

import hypothesis
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = Path(__file__).parent / "reference"
PARTS = ["Snakefile", "environment.yml", "src", "workflow", "config", "profiles"]
DATA = ["sources.yaml", "coal_counts.csv", "published"]

for profile, examples in (("quick", 25), ("thorough", 200)):  # `make test`, `make test-full`
    hypothesis.settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        derandomize=profile == "quick",
        suppress_health_check=list(hypothesis.HealthCheck),
    )
hypothesis.settings.load_profile("quick")


LONG = (
    "test_workflow.py",
    "test_cluster_jobs.py",
    "test_estimators.py",
    "test_batches.py",
    "test_differences.py",
)
"""Files that take long: begun first, so that no worker is left with one at the end; two of the workflow."""


def pytest_collection_modifyitems(items):
    """The `LONG` files first; `--no-loadscope-reorder` keeps that."""
    items.sort(key=lambda item: LONG.index(item.path.name) if item.path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def values():
    """Reference values of single formulas, as numbers."""
    return json.loads((REFERENCE / "reference_values.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def cells():
    """Cells computed by the released code of the QP paper."""
    return json.loads((REFERENCE / "reference_cells.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def mirror():
    """Folder with the raw files, if this machine has one."""
    folder = os.environ.get("TILTED_DATA_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no folder with the raw data here (TILTED_DATA_MIRROR)")
    return Path(folder).resolve()


@pytest.fixture
def toy():
    """A small classification problem that is not separable: X [30, 2], y [30]."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=30) > 0, 1.0, -1.0)
    return X, y


@pytest.fixture
def uneven():
    """A quarter of the labels positive, not separable: X [40, 2], y [40]."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] + 0.8 * rng.normal(size=40) > 0.8, 1.0, -1.0)


@pytest.fixture
def counts():
    """A small count problem: X [25, 1], y [25]."""
    rng = np.random.default_rng(11)
    X = np.linspace(0.0, 5.0, 25)[:, None]
    return X, rng.poisson((1.0 + np.sin(X[:, 0])) ** 2).astype(float)


@contextlib.contextmanager
def _without_pictures(but=()):
    from papers.core import figure_data, style
    from papers.core.store import write_bytes

    drawn = style.save

    def save(figure, path_stem):
        if Path(path_stem).name in but:
            return drawn(figure, path_stem)
        figure_data.write(figure, path_stem)
        return tuple(write_bytes(f"{path_stem}.{kind}", b"") for kind in ("pdf", "png"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(style, "save", save)
        yield


@pytest.fixture(scope="session")
def without_pictures():
    """Context in which figures, ``but`` those of some names, are saved as empty files.

    What they show is written beside them as ever. Drawing takes most of the time of writing artifacts.
    """
    return _without_pictures


@pytest.fixture
def undrawn(without_pictures):
    """No figure is drawn."""
    with without_pictures():
        yield


def _copy_of_repository(folder, config):
    folder.mkdir(parents=True, exist_ok=True)
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
        timeout=1200,
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
