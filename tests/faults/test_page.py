"""docs/reliability.md names tests that exist, and every file of tests here."""

import ast
import re


def test_every_test_that_the_page_names_exists(repository):
    text = (repository / "docs/reliability.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    for file, name in named:
        body = ast.parse((repository / file).read_text(encoding="utf-8")).body
        names = {node.name for node in body if isinstance(node, ast.FunctionDef)}
        assert not name or name in names, f"{file}::{name}"
    here = {f"tests/faults/{path.name}" for path in (repository / "tests/faults").glob("test_*.py")}
    assert here - {file for file, _ in named} == {"tests/faults/test_page.py"}
