"""The two projects: what the library's wheel and sdist hold, that it works installed outside the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import tilted

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
EXPLAINED = {"README.md", "LICENSE", "CITATION.cff", "CHANGELOG.md"}
DOCUMENTS = {
    f"docs/{name}.md"
    for name in (
        "add-a-likelihood add-a-method bayesian-optimisation classification corrections counts-and-ordinal "
        "getting-started kernels limits many-rows regression theory"
    ).split()
} | {"docs/choosing-a-method.md"}
PROJECT = {"pyproject.toml", "setup.py", "MANIFEST.in"}
BUILD = "from setuptools import build_meta as b; print(b.build_{kind}('built'))"
LARGEST = 10e6  # bytes that an installation may add beside numpy, scipy and scikit-learn
SMOKE = """
import numpy as np, tilted
from tilted import GPClassifier
X = np.linspace(-2, 2, 12)[:, None]
y = np.where(X[:, 0] + 0.3 * np.cos(9 * X[:, 0]) > 0, 1, -1)
assert tilted.fit(X, y, inference="qp", optimise=False).status.converged
assert GPClassifier().fit(X, y).score(X, y) > 0.8
print(tilted.__file__)
"""


def run(*command, cwd, **variables):
    """What a command did, outside of this checkout's environment."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "TILTED_DATA")}
    return subprocess.run(command, cwd=cwd, env=clean | variables, capture_output=True, text=True)


def files_of(package, *endings):
    """Files of a package with these endings, below ``src``."""
    paths = (path for ending in endings for path in (SOURCES / package).rglob(f"*{ending}"))
    return {str(path.relative_to(SOURCES)) for path in paths}


def build(folder, kind):
    """A wheel or sdist of the project in a folder, by the pinned backend and without network."""
    done = run(sys.executable, "-c", BUILD.format(kind=kind), cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "built" / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of what a project could pack."""
    if int(metadata.version("setuptools").split(".")[0]) < 77:
        pytest.skip("needs setuptools >= 77")
    folder = tmp_path_factory.mktemp("package")
    for name in (*PROJECT, "Makefile", "CONTRIBUTING.md", *EXPLAINED):
        shutil.copy(ROOT / name, folder)
    for name in ("src", "docs"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    return folder


@pytest.fixture(scope="module")
def wheel(checkout):
    return build(checkout, "wheel")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
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
    target = ["--no-deps", "--no-index", "--quiet", "--target", str(site), str(wheel)]
    done = run(sys.executable, "-m", "pip", "install", *target, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, python, site


@pytest.mark.slow
def test_the_wheel_holds_the_library_and_its_licence_and_nothing_else(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    told = {name for name in names if name.startswith(f"tilted-{tilted.__version__}.dist-info/")}
    assert names - told == files_of("tilted", ".py", "py.typed")
    assert {name.partition("/")[2] for name in told} == {
        "METADATA",
        "RECORD",
        "WHEEL",
        "licenses/LICENSE",
        "top_level.txt",
    }


@pytest.mark.slow
def test_the_sdist_holds_the_library_and_what_explains_it(checkout):
    with tarfile.open(build(checkout, "sdist")) as archive:
        names = {member.name.partition("/")[2] for member in archive if member.isfile()}
    made = {"PKG-INFO", "setup.cfg", *(name for name in names if name.startswith("src/tilted.egg-info/"))}
    library = {f"src/{name}" for name in files_of("tilted", ".py", "py.typed")}
    assert names - made == library | EXPLAINED | DOCUMENTS | PROJECT


@pytest.mark.slow
def test_the_installed_wheel_is_small_and_fits(installed):
    folder, python, site = installed
    assert 0 < sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) <= LARGEST
    done = run(python, "-W", "error::ImportWarning", "-c", SMOKE, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(folder)


@pytest.mark.slow
def test_the_reproduction_is_a_project_with_a_command_of_its_own(checkout):
    wheel = zipfile.ZipFile(build(checkout / "src" / "papers", "wheel"))
    names = set(wheel.namelist())
    told = {name for name in names if name.startswith(f"tilted_papers-{tilted.__version__}.dist-info/")}
    assert names - told == files_of("papers", ".py", ".yaml", ".json", ".j2")
    (scripts,) = (name for name in told if name.endswith("entry_points.txt"))
    assert wheel.read(scripts).decode().split() == [
        "[console_scripts]",
        "tilted",
        "=",
        "papers.cli:main",
    ]


def test_the_projects_name_each_other_right():
    """What the second repeats of the first, and its packages, which cannot be found by themselves."""
    library, papers = (
        tomllib.loads(path.read_text(encoding="utf-8"))
        for path in (ROOT / "pyproject.toml", SOURCES / "papers" / "pyproject.toml")
    )
    assert "scripts" not in library["project"]
    assert {name.split(">")[0] for name in library["project"]["dependencies"]} == {
        "numpy",
        "scipy",
        "scikit-learn",
    }
    assert papers["project"]["version"] == tilted.__version__
    assert f"tilted=={tilted.__version__}" in papers["project"]["dependencies"]
    assert set(library["project"]["dependencies"]) <= set(papers["project"]["dependencies"])
    folders = {path.parent.relative_to(SOURCES) for path in (SOURCES / "papers").rglob("__init__.py")}
    assert papers["tool"]["setuptools"]["packages"] == sorted(".".join(folder.parts) for folder in folders)
