"""Markdown of the tables' folder as HTML for the report: sections, tables in boxes, verdicts marked.

The Markdown is what `tilted tables` wrote, so that the report says what the committed tables say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence.standing import REASONS
from papers.evidence.verdicts import FAILS, HOLDS, IN_PART, NOT_RUN, UNDECIDED, UNTESTABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it.token import Token

CLASSES = {
    IN_PART: "part",
    HOLDS: "yes",
    FAILS: "no",
    UNDECIDED: "open",
    NOT_RUN: "open",
    UNTESTABLE: "open",
}
"""Verdict -> class of its mark, longer names first."""

COMMENT = re.compile(r"<!--.*?-->\n?", re.S)
VERDICT = re.compile(rf"(<td[^>]*>)({'|'.join(CLASSES)}) (\([^<]*\))(</td>)")
CLAIM = re.compile(r"(<td[^>]*>)([A-Z]+\d+)(</td>)")
POWER = re.compile(r"(x )?\b10\^(-?\d+)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOUD = re.compile(rf"\*\*((?:{'|'.join(REASONS)}): .*?)\*\*", re.S)


class Section(NamedTuple):
    """A heading and what is below it, up to the next heading of its level or above."""

    heading: str
    body: str


def sections(text: str, level: int) -> tuple[str, list[Section]]:
    """What stands before the first heading of a level, and the sections with headings of this level.

    Higher headings must not follow a section.
    """
    before, *rest = re.split(rf"^{'#' * level} ", text, flags=re.M)
    split = [section.partition("\n") for section in rest]
    return before.strip(), [Section(heading.strip(), body.strip()) for heading, _, body in split]


def paragraphs(text: str) -> list[str]:
    """Blocks between empty lines."""
    return [block for block in re.split(r"\n\s*\n", text.strip()) if block.strip()]


def loud(text: str) -> list[str]:
    """What nobody should overlook: the bold sentences of `papers.evidence.standing.note`."""
    return [" ".join(sentence.split()) for sentence in LOUD.findall(text)]


def html(text: str, deeper: int = 0) -> str:
    """Markdown as HTML.

    Parameters
    ----------
    text : str
    deeper : int
        By how many levels headings are lowered.

    Notes
    -----
    HTML in the text is shown, comments are left out. Links to other files of the repository become
    plain text: the report stands alone.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(raised(COMMENT.sub("", text)))
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + deeper)}"
        elif token.type == "inline":
            _without_files(token.children or ())
    page = parser.renderer.render(tokens, parser.options, {})
    page = page.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    page = page.replace("</table>", "</table></div>")
    return CLAIM.sub(r'\1<a href="#\2">\2</a>\3', VERDICT.sub(_marked, page))


def raised(text: str) -> str:
    """Powers of ten as they are printed: ``x 10^-3`` as × 10⁻³."""
    return POWER.sub(lambda match: f"{'× ' if match[1] else ''}10{match[2].translate(RAISED)}", text)


def _without_files(tokens: Iterable[Token]) -> None:
    """Turn links that are not to a web address into spans."""
    inside = []
    for token in tokens:
        if token.type == "link_open":
            inside.append(not str(token.attrs.get("href", "")).startswith("https://"))
            if inside[-1]:
                token.tag, token.attrs = "span", {}
        elif token.type == "link_close" and inside.pop():
            token.tag = "span"


def _marked(match: re.Match[str]) -> str:
    opened, verdict, counts, closed = match.groups()
    return f'{opened}{mark(verdict)} <span class="soft">{counts}</span>{closed}'


def mark(verdict: str) -> str:
    """A verdict as a coloured mark."""
    return f'<b class="mark {CLASSES[verdict]}">{verdict}</b>'
