"""What counts in the hash of a source, and what does not."""

import pytest

from papers.evidence import provenance

SOURCE = '''\
"""A module."""
from typing import ClassVar
from dataclasses import dataclass


@dataclass
class A:
    """A class."""

    x: float = 1.0


def f(a, b=2):
    """A function."""
    return a + b  # a sum
'''
SAME = {
    "docstrings": ('"""A function."""', '"""Another\n\n    text."""'),
    "comments": ("  # a sum", ""),
    "hints": ("def f(a, b=2):", "def f(a: float, b: int = 2) -> float:"),
    "imports for hints": ("from typing import ClassVar\n", "from typing import Any, ClassVar\n"),
    "what checkers see": (
        "\n\n@dataclass",
        "\nif TYPE_CHECKING:\n    from tilted.projections.lp import x\n\n\n@dataclass",
    ),
}
OTHER = {
    "code": ("a + b", "a - b"),
    "defaults": ("b=2", "b=3"),
    "names": ("def f", "def g"),
    "hints of fields": ("x: float", "x: ClassVar[float]"),
    "imports": ("from dataclasses", "from other"),
    "what only others than checkers see": (
        "\n\n@dataclass",
        "\nif TYPE_CHECKING:\n    x = 1\nelse:\n    x = 2\n\n\n@dataclass",
    ),
}


def replaced(old, new):
    assert old in SOURCE
    return SOURCE.replace(old, new).encode()


@pytest.mark.parametrize("old, new", SAME.values(), ids=SAME)
def test_what_does_not_run_does_not_count(old, new):
    assert provenance._code(replaced(old, new)) == provenance._code(SOURCE.encode())


@pytest.mark.parametrize("old, new", OTHER.values(), ids=OTHER)
def test_what_runs_counts(old, new):
    assert provenance._code(replaced(old, new)) != provenance._code(SOURCE.encode())


def test_a_closure_holds_what_is_imported_and_not_what_checkers_see():
    found = provenance.closure("tilted.inference.rule")
    assert "tilted.gaussian" in found and "tilted.likelihoods.contract" not in found
    with pytest.raises(ValueError, match="no module 'tilted.nothing'"):
        provenance.closure_hash("tilted.nothing")


def test_how_records_are_kept_is_no_part_of_what_makes_standard_data():
    found = provenance.closure("papers.data.standard", "papers.data.classification", "papers.data.relaxed")
    ours = {name for name in found if name.startswith("papers.evidence.")}
    assert ours == {"papers.evidence.files"}


def test_what_judges_fits_is_no_part_of_their_code():
    found = provenance.closure("papers.pesc.accuracy", "papers.qp.fits", fits=True)
    assert {name for name in found if name.startswith(provenance.JUDGES)} == {provenance.METRICS}
    assert "papers.evidence.verification.again" in provenance.closure("papers.pesc.accuracy")
    assert provenance.closure_hash("papers.pesc.accuracy", fits=True) != provenance.closure_hash(
        "papers.pesc.accuracy"
    )


STEPS = '''\
"""Steps."""
from papers.b import made, other

FIRST, SECOND = (f"papers.{name}" for name in ("one", "two"))
LISTED = {"step": 3}


def helper(x):
    """Calls back."""
    return x + SECOND if x else step(x)


def step(kept, name):
    """A step."""
    return made(helper(kept), name)


def jobs():
    return LISTED
'''


@pytest.mark.parametrize(
    "old, new, counts",
    [
        ("A step.", "Another.", False),
        ("def jobs", "def listed", False),
        ('"step": 3', '"step": 4', False),
        ("made, other", "made", False),
        ("made(helper(kept), name)", "made(helper(kept), name + 1)", True),
        ("x + SECOND", "x - SECOND", True),
        ('"two"', '"three"', True),
    ],
)
def test_of_a_function_its_own_code_counts_and_what_it_needs_of_its_module(
    old, new, counts, tmp_path, monkeypatch
):
    monkeypatch.setattr(provenance, "SOURCES", tmp_path)
    source = tmp_path / "papers/a.py"
    source.parent.mkdir()

    def of(text):
        source.write_text(text, encoding="utf-8")
        provenance.closure_hash.cache_clear()
        return provenance.closure_hash("papers.a:step")

    assert old in STEPS and (of(STEPS) != of(STEPS.replace(old, new))) == counts
    with pytest.raises(ValueError, match="no 'made' in papers.a"):
        provenance.closure_hash("papers.a:made")
    provenance.closure_hash.cache_clear()
