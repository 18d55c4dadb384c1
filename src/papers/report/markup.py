"""Markdown of the repository as HTML for the site: links between its files, anchors, boxes for tables.

The Markdown is what `tilted tables` wrote and what docs/ say, so that the site says what the repository says.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence.verdicts import FAILS, HOLDS, IN_PART, TOO_FEW, UNDECIDED, UNTESTABLE
from papers.evidence.verification.standing import REASONS

if TYPE_CHECKING:
    from markdown_it.token import Token

CLASSES = {
    IN_PART: "part",
    HOLDS: "yes",
    FAILS: "no",
    UNDECIDED: "open",
    TOO_FEW: "few",
    UNTESTABLE: "none",
}
"""Verdict -> class of its mark, longer names first."""

COMMENT = re.compile(r"^<!--(?:(?!-->).)*-->\n|<!--.*?-->", re.S | re.M)
"""Comments, those alone on a line with it."""
PICTURE = re.compile(r'<img src="([^"]+)" alt="([^"]*)"[^>]*>')
VERDICT = re.compile(rf"(<td[^>]*>)({'|'.join(CLASSES)}) (\([^<]*\))(</td>)")
NAME = re.compile(r"\b(?:QP|PEP|REP|PESC|OURS)\d+\b")
TAG = re.compile(r"(<[^>]+>)")
UNLINKED = re.compile(r"<(/?)(?:a|code|pre|h\d)\b")
POWER = re.compile(r"(x )?\b10\^(-?\d+)")
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LOUD = re.compile(rf"\*\*((?:{'|'.join(REASONS)}): .*?)\*\*", re.S)


class Section(NamedTuple):
    """A heading and what is below it, up to the next heading of its level or above."""

    heading: str
    body: str


class Links(NamedTuple):
    """Where the files of the repository are on the site.

    Attributes
    ----------
    pages : mapping
        Path in the repository -> path on the site.
    claims : sequence of str
        Names that have a page.
    """

    pages: Mapping[str, str]
    claims: Sequence[str]

    def to(self, href: str, source: str, page: str) -> str | None:
        """A link in a file, seen from a page; None if the site does not have its target."""
        if re.match(r"https?://|mailto:", href):
            return href
        path, mark, anchor = href.partition("#")
        target = self.pages.get(posixpath.normpath(posixpath.join(posixpath.dirname(source), path)))
        if not path:
            return href
        return None if target is None else f"{relative(target, page)}{mark}{anchor}"

    def claim(self, name: str, page: str) -> str:
        """The page of a claim, seen from a page."""
        return relative(f"claims/{name}.html", page)


def relative(target: str, page: str) -> str:
    """A path on the site, seen from a page of it."""
    return os.path.relpath(target, os.path.dirname(page) or ".")


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
    """What nobody should overlook: the bold sentences of `papers.evidence.verification.standing.note`."""
    return [" ".join(sentence.split()) for sentence in LOUD.findall(text)]


def html(text: str, links: Links, page: str, source: str = "", deeper: int = 0) -> str:
    """Markdown as HTML.

    Parameters
    ----------
    text : str
    links : Links
    page, source : str
        The page it stands on, and the file of the repository it comes from: what its links mean.
    deeper : int
        By how many levels headings are lowered.

    Notes
    -----
    HTML in the text is shown, but for pictures; comments are left out. A link to a file that the site does
    not have becomes plain text. Names of claims become links to their pages; a name that stands for several
    lines of a table is repeated in each.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    text = PICTURE.sub(r"![\2](\1)", COMMENT.sub("", text))
    tokens = parser.parse(raised(text))
    used: dict[str, int] = {}
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + deeper)}"
            if token.type == "heading_open" and following is not None:
                token.attrs = {"id": anchor(following.content, used)}
        elif token.type == "inline":
            _link(token.children or (), links, page, source)
    _repeat(tokens)
    shown = str(parser.renderer.render(tokens, parser.options, {}))
    shown = shown.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    shown = shown.replace("</table>", "</table></div>")
    shown = shown.replace("<pre>", '<pre tabindex="0">')
    return _named(VERDICT.sub(_marked, shown), links, page)


def anchor(heading: str, used: dict[str, int]) -> str:
    """The name of a heading in links, as forges make it; ``used`` counts those of a page."""
    plain = re.sub(r"\]\([^)]*\)", "", COMMENT.sub("", heading))
    name = re.sub(r"[^\w\- ]", "", plain.lower()).strip().replace(" ", "-")
    used[name] = used.get(name, -1) + 1
    return f"{name}-{used[name]}" if used[name] else name


def raised(text: str) -> str:
    """Powers of ten as they are printed: ``x 10^-3`` as × 10⁻³."""
    return POWER.sub(lambda match: f"{'× ' if match[1] else ''}10{match[2].translate(RAISED)}", text)


def _repeat(tokens: Sequence[Token]) -> None:
    """Write what stands in the first of several lines of a table into each, so that they can be sorted."""
    above = None
    for row, cell, inside in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if row.type == "table_open":
            above = None
        elif row.type == "tr_open" and cell.type == "td_open":
            if above is not None and not inside.content:
                inside.content, inside.children = above.content, above.children
            above = inside


def _link(tokens: Iterable[Token], links: Links, page: str, source: str) -> None:
    """Turn links to files into links to pages, and those to what the site lacks into spans."""
    inside = []
    for token in tokens:
        if token.type == "link_open":
            href = links.to(str(token.attrs.get("href", "")), source, page)
            inside.append(href is None)
            token.tag, token.attrs = ("span", {}) if href is None else ("a", {"href": href})
        elif token.type == "link_close" and inside.pop():
            token.tag = "span"
        elif token.type == "image":
            href = links.to(str(token.attrs.get("src", "")), source, page)
            token.attrs = {**token.attrs, "src": href or "", "loading": "lazy"}


def _named(shown: str, links: Links, page: str) -> str:
    """Names of claims as links, but in links, code and headings."""
    parts, inside = [], 0
    for part in TAG.split(shown):
        if tag := UNLINKED.match(part):
            inside += -1 if tag[1] else 1
        elif not inside and not part.startswith("<"):
            part = NAME.sub(lambda found: _claim(found[0], links, page), part)
        parts.append(part)
    return "".join(parts)


def _claim(name: str, links: Links, page: str) -> str:
    return f'<a href="{links.claim(name, page)}">{name}</a>' if name in links.claims else name


def _marked(match: re.Match[str]) -> str:
    opened, verdict, counts, closed = match.groups()
    return f'{opened}{mark(verdict)} <span class="soft">{counts}</span>{closed}'


def mark(verdict: str) -> str:
    """A verdict as a coloured mark."""
    return f'<b class="mark {CLASSES[verdict]}">{verdict}</b>'
