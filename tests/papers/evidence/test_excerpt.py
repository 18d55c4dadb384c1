"""Quoted tables and numbers: the right ones, up to date, and a missing one is an error."""

import re

import pytest

from papers.evidence import excerpt

SOURCE = """\
# Title

| no | no |

## Protocol a (x)

text

| a | b |
| - | - |

| c |

## Protocol b

| d |
"""
DOCUMENT = "Before.\n\n<!-- table: t.md, Protocol a -->\nstale\n<!-- end -->\n\nAfter.\n"


def filled(folder, document, numbers=""):
    (folder / "t.md").write_text(SOURCE, encoding="utf-8")
    (folder / "README.md").write_text(document, encoding="utf-8")
    (folder / "numbers.ini").write_text(numbers, encoding="utf-8")
    made = excerpt.refresh(folder / "README.md", folder, folder / "records", folder / "numbers.ini")
    return made.read_text(encoding="utf-8")


def test_the_first_table_under_the_heading_replaces_what_was_there(tmp_path):
    text = filled(tmp_path, DOCUMENT)
    assert text == DOCUMENT.replace("stale", "\n| a | b |\n| - | - |\n")
    assert filled(tmp_path, text) == text
    assert "| d |" in filled(tmp_path, DOCUMENT.replace("Protocol a", "Protocol b"))


@pytest.mark.parametrize("heading", ["Protocol c", "a"])
def test_a_missing_table_is_an_error(tmp_path, heading):
    with pytest.raises(ValueError, match="no table"):
        filled(tmp_path, DOCUMENT.replace("Protocol a", heading))
    with pytest.raises(FileNotFoundError):
        filled(tmp_path, DOCUMENT.replace("t.md", "u.md"))
    assert "Before." in (tmp_path / "README.md").read_text(encoding="utf-8")


LINES = "dataset,outcome,ratio,change\ncoal,ok,1.5,1\ncoal,stopped,2.25,1\nwine,ok,,-0.002\n"


def quoted(label):
    """A document with a number."""
    return f"| <!-- n: {label} -->old<!-- --> fits |\n"


def sentence(folder, query, what, name="qp/fits.csv"):
    excerpt._frame.cache_clear()
    (folder / "records" / "qp").mkdir(parents=True, exist_ok=True)
    (folder / "records" / "qp" / "fits.csv").write_text(LINES, encoding="utf-8")
    return filled(folder, f"Of {quoted('a B')}", f"[README.md]\na B: {name} | {query} | {what}\n")


@pytest.mark.parametrize(
    "query, what, expected",
    [
        ("", "count", "3"),
        ('outcome == "ok"', "count", "2"),
        ('dataset == "coal" and outcome != "ok"', "count", "1"),
        ("ratio > 2 | ratio != ratio", "count", "2"),
        ("", "different dataset", "2"),
        ('dataset == "coal"', "max ratio %.2f", "2.25"),
        ('dataset == "coal"', "sum ratio", "3"),
        ('dataset == "wine"', "min change %.1e", "−2.0e-03"),
        ("", "median change %.2f", "1.00"),
        ('outcome == "stopped"', "only dataset %s", "coal"),
    ],
)
def test_a_number_is_computed_from_lines(tmp_path, query, what, expected):
    assert sentence(tmp_path, query, what) == f"Of {quoted('a B')}".replace("old", expected)


def test_a_verdict_is_quoted_with_its_counts(tmp_path):
    audit = (
        "id,protocol,verdict,yes,no,undecided\nQP1,corrected,holds in part,7,2,1\nQP2,corrected,holds,3,0,0\n"
    )
    (tmp_path / "audit.csv").write_text(audit, encoding="utf-8")
    excerpt._frame.cache_clear()
    assert "-->holds in part (7/2/1)<!-- --> fits" in filled(tmp_path, quoted("QP1 corrected"))
    with pytest.raises(ValueError, match="no number 'audit.csv"):
        filled(tmp_path, quoted("QP1 as-released"))


@pytest.mark.parametrize(
    "numbers, message",
    [
        ("2: t.csv | | count", "'FILE | QUERY | WHAT' of a number of README.md: 2: t.csv"),
        ("", "nothing says how number 1 of README.md is computed"),
        ("1: t.csv | | count\n1: t.csv | | max x", "option '1' in section 'README.md' already exists"),
        ("1: t.csv | count", "not 'FILE | QUERY | WHAT' of a number of README.md: 1: t.csv | count"),
        ("1: t.csv | | count\n3: t.csv | | count", "of a number of README.md: 3: t.csv"),
        ("1: t.csv | | count\nQP1 corrected: t.csv | | count", "of a number of README.md: QP1 corrected"),
        ("no line of the kind", "no line of the kind"),
    ],
)
def test_what_says_how_numbers_are_computed_says_it_of_each_once(tmp_path, numbers, message):
    (tmp_path / "t.csv").write_text("x\n1\n", encoding="utf-8")
    excerpt._frame.cache_clear()
    document, head = quoted("1"), "[README.md]\n"
    assert "-->1<!--" in filled(
        tmp_path, document, head + "1: t.csv | | count\n[other.md]\n2: t.csv | | count"
    )
    with pytest.raises(ValueError, match=f"(?s)numbers.ini: .*{re.escape(message)}"):
        filled(tmp_path, document, head + numbers)


@pytest.mark.parametrize(
    "query, what",
    [
        ("colour == 1", "count"),
        ("", "sum colour"),
        ("", "mode ratio"),
        ("", "only ratio"),
        ("ratio ==", "count"),
    ],
)
def test_a_number_that_cannot_be_computed_is_an_error(tmp_path, query, what):
    with pytest.raises(ValueError, match=r"no number 'qp/fits.csv \| "):
        sentence(tmp_path, query, what)
    with pytest.raises(FileNotFoundError):
        sentence(tmp_path, "", "count", "qp/other.csv")


def test_tables_come_before_records(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1\n", encoding="utf-8")
    assert "-->1<!--" in sentence(tmp_path, "", "count", "t.csv")
