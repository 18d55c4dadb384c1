"""Wheel and sdist: what they hold, and that the wheel works installed outside the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import tilted

ROOT = Path(__file__).resolve().parents[2]
NEEDED = [
    "pyproject.toml",
    "MANIFEST.in",
    "README.md",
    "LICENSE",
    "CITATION.cff",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
BUILD = "from setuptools import build_meta as b; print(b.build_{kind}('built'))"
SMOKE = """
import numpy as np, tilted
from tilted import GPClassifier
X = np.linspace(-2, 2, 12)[:, None]
y = np.where(X[:, 0] + 0.3 * np.cos(9 * X[:, 0]) > 0, 1, -1)
assert tilted.fit(X, y, method="qp", optimise=False).status.converged
assert GPClassifier().fit(X, y).score(X, y) > 0.8
assert len(tilted.protocols.names()) >= 3
print(tilted.__file__)
"""

pytestmark = pytest.mark.slow


def run(*command, cwd, **variables):
    """What a command did, outside of this checkout's environment."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TILTED_DATA")}
    return subprocess.run(command, cwd=cwd, env=clean | variables, capture_output=True, text=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Wheel and sdist, made in a copy by the pinned backend without network."""
    if int(metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("needs setuptools >= 77")
    folder = tmp_path_factory.mktemp("package")
    for name in NEEDED:
        shutil.copy(ROOT / name, folder)
    for name in ("src", "docs"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    (folder / "data").mkdir()
    for name in ("README.md", "sources.yaml", "coal_counts.csv"):
        shutil.copy(ROOT / "data" / name, folder / "data")
    for kind in ("wheel", "sdist"):
        done = run(sys.executable, "-c", BUILD.format(kind=kind), cwd=folder)
        assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = (folder / "built").glob("*.whl"), (folder / "built").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """A folder outside of the checkout and the Python of a fresh environment with the wheel in it.

    The dependencies are this environment's, whose folder comes behind the fresh one's.
    """
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    site = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).stdout[:-1]
    )
    behind = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    site.joinpath("dependencies.pth").write_text("\n".join(behind) + "\n", encoding="utf-8")
    target = ["--no-deps", "--no-index", "--quiet", "--target", str(site), str(built[0])]
    done = run(sys.executable, "-m", "pip", "install", *target, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, python


def test_the_wheel_holds_the_package_and_its_licence(built):
    names = zipfile.ZipFile(built[0]).namelist()
    sources = {str(p.relative_to(ROOT / "src")) for p in (ROOT / "src/tilted").rglob("*.py")}
    data = {
        str(p.relative_to(ROOT / "src"))
        for s in ("yaml", "json", "j2")
        for p in (ROOT / "src").rglob(f"*.{s}")
    }
    assert sources | data <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert [
        n for n in names if n.split("/")[0] not in ("tilted", f"tilted-{tilted.__version__}.dist-info")
    ] == []


def test_the_sdist_holds_what_explains_it(built):
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {*NEEDED, "docs/README.md", "data/README.md", "data/sources.yaml", "data/coal_counts.csv"} <= names


def test_the_installed_wheel_fits(installed):
    folder, python = installed
    done = run(python, "-W", "error::ImportWarning", "-c", SMOKE, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(folder)


def test_the_installed_command_lists_data_sets_and_says_where_the_registry_is_missing(installed):
    folder, python = installed
    listed = run(python, "-m", "tilted", "datasets", cwd=folder, TILTED_DATA=str(ROOT / "data"))
    assert listed.returncode == 0 and "wine12" in listed.stdout, listed.stderr
    missing = run(python, "-m", "tilted", "datasets", cwd=folder)
    assert missing.returncode == 2 and "TILTED_DATA" in missing.stderr
