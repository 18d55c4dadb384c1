"""docs/reliability.md names tests that exist, and every test of a fault."""

import ast
import re
from functools import cache


@cache
def functions_of(path):
    """Its tests."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node for node in body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def names_in(path):
    return {node.name for node in functions_of(path)}


def slow_in(path):
    """Tests marked slow, each or all."""
    marked = "pytest.mark.slow"
    if f"\npytestmark = {marked}" in path.read_text(encoding="utf-8"):
        return names_in(path)
    return {f.name for f in functions_of(path) if marked in map(ast.unparse, f.decorator_list)}


# Tests of how a test or a writer works, rather than of a fault
OWN = {
    "test_the_search_for_writers_can_fail",
    "test_only_half_written_files_are_swept",
    "test_no_locks_no_sweep",
    "test_a_killed_writer_takes_its_lock_with_it",
    "test_the_harness_can_fail",
}


def test_every_test_that_the_page_names_exists(repository):
    text = (repository / "docs/reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`(\*?)", text)
    assert len(named) > 40
    for file, name, star in named:
        assert name in names_in(repository / file), f"{file}::{name}"
        assert (name in slow_in(repository / file)) == bool(star), f"{file}::{name} and its mark"
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    assert [row for row in rows if row.count("|") != 4 or "`tests/" not in row.rsplit("|", 2)[1]] == [
        row for row in rows if row.endswith("| Shown by |")
    ]


def test_which_tests_compare_every_product(repository):
    """Those of two files, but for those that the page names."""
    text = (repository / "docs/reliability.md").read_text(encoding="utf-8")
    (said,) = [part for part in text.split("\n\n") if "compare all of them" in part]
    for name in ("test_interrupted.py", "test_places.py"):
        code = functions_of(repository / "tests/faults" / name)
        others = {f.name for f in code if not re.search(r"tools\.(assert_same|products)\(", ast.unparse(f))}
        assert name in said and [other for other in others if other not in said] == []


def test_every_test_of_a_fault_is_on_the_page(repository):
    text = (repository / "docs/reliability.md").read_text(encoding="utf-8")
    for path in sorted((repository / "tests/faults").glob("test_*.py")):
        if path.name != "test_page.py":
            assert [
                name for name in sorted(names_in(path) - OWN) if f"{path.name}::{name}`" not in text
            ] == []
