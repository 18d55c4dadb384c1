"""Nothing in the repository that belongs to one machine; the README names what exists."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MACHINE_PATH = re.compile(r"(?<![\w.<{/])/(home|root|Users|work|tmp)/\w+")
REGISTRIES = re.compile("|".join(["pypi" + r"\.org", "pythonhosted", "anaconda" + r"\.org"]))
TEXT = {".py", ".md", ".yaml", ".yml", ".toml", ".smk", ".json", ".csv", ".cff", ".lock", ".j2", ".tex", ""}


def tracked():
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listing.split("\0") if name and Path(name).suffix in TEXT]


def test_no_machine_paths_and_no_registry_hosts():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in tracked()
        if path.is_file() and path != Path(__file__)
        for pattern in (MACHINE_PATH, REGISTRIES)
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_check_can_fail():
    assert MACHINE_PATH.search("see /home/anna/data")
    assert not MACHINE_PATH.search("https://example.com/home/x")
    assert REGISTRIES.search("from files.pythonhosted")


def test_make_targets_named_in_the_documents_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.M))
    for name in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:^\s*|`)make ([a-z-]+)", text, re.M))
        assert named <= targets, f"{name}: {named - targets}"


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.split()


def test_tests_of_the_workflow_are_where_their_target_looks():
    """`make test-workflow` collects one folder; elsewhere such a test would be run by nothing quick."""
    mark = "mark." + "workflow"
    marked = [p for p in (ROOT / "tests").rglob("*.py") if mark in p.read_text(encoding="utf-8")]
    assert marked and {p.parent for p in marked} == {ROOT / "tests" / "workflow"}


def test_what_configurations_of_ones_own_make_is_ignored_and_nothing_committed_is():
    tracked()  # skips outside of a checkout
    made = ["results/mine/qp/a.csv.gz", "tables/mine/audit.md", "figures/mine/rep/figure1.png", "report.html"]
    assert git("check-ignore", *made) == made
    assert git("check-ignore", "results/rep/new.csv.gz", "tables/new.md", "figures/pep/new.png") == []
    assert git("ls-files", "--cached", "--ignored", "--exclude-standard") == []
