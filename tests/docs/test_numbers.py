"""Shares and counts in the documents about results are computed from records, or allowed here."""

import re
from pathlib import Path

import pytest

from papers.__main__ import DOCUMENTS, NUMBERS
from papers.evidence.excerpt import NUMBER, SECTION, definitions

ROOT = Path(__file__).resolve().parents[2]
TYPED = re.compile(r"\b\d[\d,.]* of (?:the |their |these )?\d[\d,]*\b|\b\d[\d.]*(?: to \d[\d.]*)? ?%")
MADE = re.compile(r"<!-- made -->.*?<!-- end -->", re.S)
FENCE = re.compile(r"```.*?```|^\|.*?$|`[^`]*`|\]\([^)]*\)", re.S | re.M)
ALLOWED = {
    "more than 90 %": "the paper's claim QP3",
    "below 90 %": "the same",
    "90 % to train": "a choice of the paper",
    "within 0.1 standard deviations and 15 %": "margins of PESC1",
    "95 % quantile": "a choice of the figures",
}
RULES = "docs/audit-method.md"
"""Its shares are margins."""


def typed(text):
    """Shares and counts that stand in prose as they were typed."""
    prose = FENCE.sub(" ", NUMBER.sub(" ", SECTION.sub(" ", MADE.sub(" ", text))))
    prose = " ".join(prose.split())
    for words in ALLOWED:
        prose = prose.replace(words, " ")
    return [prose[max(0, m.start() - 40) : m.end() + 20] for m in TYPED.finditer(prose)]


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != RULES])
def test_no_share_or_count_is_typed(name):
    assert typed((ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_labels_of_numbers_do_not_divide_the_cells_of_tables(name):
    labels = {label for _, label, _ in NUMBER.findall((ROOT / name).read_text(encoding="utf-8"))}
    assert not [label for label in labels if "|" in label]


def test_every_document_with_numbers_is_brought_up_to_date():
    every = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    quoting = {str(p.relative_to(ROOT)) for p in every if NUMBER.search(p.read_text(encoding="utf-8"))}
    assert quoting <= set(DOCUMENTS)
    assert len({Path(name).name for name in DOCUMENTS}) == len(DOCUMENTS)  # by which sections are called
    assert set(definitions(ROOT / NUMBERS)) <= {Path(name).name for name in quoting}


def test_typed_ones_are_seen():
    assert len(typed("It was 12 of 6,089 points, or 0.2 % of them, in 5 to 7 % of folds.")) == 3
    made = "Of <!-- n: 1 -->12<!-- --> of <!-- n: 2 -->20<!-- --> it is so."
    assert typed(made + "\n\n| 12 of 20 |\n\n`3 of 4`, more than 90 % in the paper.") == []
