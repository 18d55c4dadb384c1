"""pyproject.toml is the one source; the lock file and environment.yml follow from it."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lock():
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unmet(lock, requirements, text):
    """Requirements that no pinned version satisfies."""
    versions = lock.locked_versions(text)
    return [
        requirement
        for requirement in map(Requirement, requirements)
        if not any(v in requirement.specifier for v in versions.get(lock.name_of(requirement.name), []))
    ]


def test_every_dependency_is_locked_within_its_bounds(lock):
    text = lock.LOCK.read_text(encoding="utf-8")
    assert unmet(lock, lock.direct_dependencies(), text) == []
    assert unmet(lock, ["numpy>=99"], text) and unmet(lock, ["nonesuch"], text)


def test_every_pin_has_hashes_and_no_address():
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for block in re.split(r"\n(?=\S)", text.strip()):
        assert re.match(
            r"[a-z0-9-]+==\S+( ; [^\\]+)? ?\\\n(\s+--hash=sha256:[0-9a-f]{64} ?\\?\n?)+$", block
        ), block
    assert not re.search(r"https?:|file:|index|find-links", text)


def test_environment_has_the_same_packages_and_versions(lock):
    environment = lock.ENVIRONMENT.read_text(encoding="utf-8")
    assert environment == lock.environment_text(lock.LOCK.read_text(encoding="utf-8"))
    listed = {d.split("=")[0] for d in yaml.safe_load(environment)["dependencies"] if ">" not in d}
    wanted = {lock.name_of(r) for r in lock.direct_dependencies()}
    assert listed == {lock.CONDA_NAMES.get(name, name) for name in wanted}
