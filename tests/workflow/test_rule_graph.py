"""The picture of the rules in the documents is today's."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def graph():
    spec = importlib.util.spec_from_file_location("rule_graph", ROOT / "tools" / "rule_graph.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.workflow
def test_the_picture_is_that_of_todays_rules(graph):
    assert graph.main(check=True) == 0, "run tools/rule_graph.py"
    assert "(rules.svg)" in (ROOT / "docs/pipeline.md").read_text(encoding="utf-8")


def test_a_rule_stands_left_of_what_needs_it(graph):
    lines = "id0[all] id1[c] id2[a] id3[b]".split() + [
        "id1 --> id0",
        "id2 --> id1",
        "id3 --> id2",
        "id3 --> id3",
    ]
    said = "".join(f"\t{line}\n" for line in lines)
    users = graph.needed(said)
    assert users == {"a": {"c"}, "b": {"a"}, "c": set()}
    assert graph.columns(users) == [["b"], ["a"], ["c"]]
    assert graph.drawn(users).count("<rect") == 3 and graph.drawn(users).count("<path d") == 3
