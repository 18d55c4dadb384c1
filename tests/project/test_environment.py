"""Both pyproject.toml are the source; the lock files and environment.yml follow from them."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import tilted

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lock():
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unmet(lock, requirements, text):
    """Requirements that are not pinned, or pinned somewhere outside their bounds."""
    versions = lock.locked_versions(text)
    return [
        requirement
        for requirement in map(Requirement, requirements)
        if not (pins := versions.get(lock.name_of(requirement.name)))
        or not all(pin in requirement.specifier for pin in pins)
    ]


def test_every_dependency_is_locked_within_its_bounds(lock):
    text = lock.LOCK.read_text(encoding="utf-8")
    assert unmet(lock, lock.direct_dependencies(), text) == []
    assert unmet(lock, ["numpy>=99"], text) and unmet(lock, ["nonesuch"], text)
    assert unmet(lock, ["a>=2"], "a==1.0 ; python_full_version < '3.12' \\\na==2.0 \\\n")


def test_the_dependencies_of_both_projects_are_meant_and_not_the_library_itself(lock):
    names = set(map(lock.name_of, lock.direct_dependencies()))
    assert {"scikit-learn", "pandas", "snakemake", "pytest", "setuptools"} <= names
    assert names & {"tilted", "gpy", "distributed", "snakemake-executor-plugin-slurm"} == set()


def test_direct_dependencies_have_one_version_for_every_python(lock):
    versions = lock.locked_versions(lock.LOCK.read_text(encoding="utf-8"))
    assert {r: v for r in map(lock.name_of, lock.direct_dependencies()) if len(v := versions[r]) > 1} == {}


def test_the_citation_names_the_version_of_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "tilted.__version__"}
    assert citation["version"] == tilted.__version__


def test_what_a_cluster_needs_is_locked_beside_it(lock):
    """Nothing twice, and together with the other lock everything."""
    base, more = (path.read_text(encoding="utf-8") for path in (lock.LOCK, lock.CLUSTER_LOCK))
    assert not set(lock.locked_versions(base)) & set(lock.locked_versions(more))
    assert unmet(lock, lock.extras()[lock.CLUSTER], base + more) == []
    assert lock.rest_of("a==1 \\\n    --hash=x\nb==2 \\\n    --hash=y\n", "a==1 \\") == (
        "b==2 \\\n    --hash=y\n"
    )


@pytest.mark.parametrize("extra", ["bench", "docs"])
def test_what_an_extra_needs_is_locked_beside_it(lock, extra):
    path = lock.ROOT / f"requirements-{extra}.lock"
    base, more = (one.read_text(encoding="utf-8") for one in (lock.LOCK, path))
    assert not set(lock.locked_versions(base)) & set(lock.locked_versions(more))
    assert unmet(lock, lock.extras()[extra], base + more) == []


LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


def test_every_install_names_a_lock_and_asks_for_hashes():
    """But for the two projects themselves, of which nothing is fetched."""
    makefile, setup = (
        (ROOT / name).read_text(encoding="utf-8").splitlines() for name in ("Makefile", "tools/setup.sh")
    )
    installs = [line for line in makefile if "pip install" in line]
    installs += [line for line in setup if line.startswith("pip -")]
    ours = [line for line in installs if line.endswith("-e . -e src/papers")]
    assert len(ours) == 1 and "--no-deps --no-build-isolation" in ours[0]
    assert len(installs) == 5 and all("--require-hashes" in line for line in installs if line not in ours)


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_hashes_and_no_address(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(
            r"[a-z0-9-]+==\S+( ; [^\\]+)? ?\\\n(\s+--hash=sha256:[0-9a-f]{64} ?\\?\n?)+$", block
        ), block
    assert not re.search(r"https?:|file:|index|find-links", text)


def test_environment_has_the_same_packages_and_versions(lock):
    environment = lock.ENVIRONMENT.read_text(encoding="utf-8")
    assert lock.main(check=True) == 0
    *packages, ours = yaml.safe_load(environment)["dependencies"]
    assert ours == {"pip": ["-e .", "-e src/papers"]}
    listed = {d.split("=")[0] for d in packages if ">" not in d}
    wanted = {lock.name_of(r) for r in lock.direct_dependencies()} | {"pip"}
    assert listed == {lock.CONDA_NAMES.get(name, name) for name in wanted}
    of_rules = yaml.safe_load(lock.OF_RULES.read_text(encoding="utf-8"))["dependencies"]
    assert of_rules == packages and lock.OF_RULES.with_suffix(".post-deploy.sh").is_file()
