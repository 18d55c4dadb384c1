"""Quoted tables: the right one, up to date, and a missing one is an error."""

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


def filled(folder, document):
    (folder / "t.md").write_text(SOURCE, encoding="utf-8")
    (folder / "README.md").write_text(document, encoding="utf-8")
    return excerpt.refresh(folder / "README.md", folder).read_text(encoding="utf-8")


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
