"""A site being written: which page is what of the repository, the templates, what search knows of it."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.store import write_text
from papers.report import fits, markup
from papers.report.content import Folders
from papers.report.markup import Links

if TYPE_CHECKING:
    from jinja2 import Environment

DOCUMENTS = {
    "CONTRIBUTING.md": "docs/contributing.html",
    "CHANGELOG.md": "docs/changelog.html",
    "data/README.md": "docs/data.html",
}
"""Documents shown besides docs/ and the tables."""
FOUND = 420
"""Letters of a section that search knows."""
UNSAID = re.compile(
    r"<table.*?</table>|<nav.*?</nav>|<h1.*?</h1>|<p class=.crumbs.*?</p>|<section class=.fits.*?</section>",
    re.S,
)
"""Parts of a page that search does not look into."""


class Site:
    """The pages being written.

    Parameters
    ----------
    folder : path
        Of the site.
    folders : Folders
    claims : sequence of str
        Names of those that get a page.
    """

    def __init__(self, folder: Path, folders: Folders, claims: Sequence[str]) -> None:
        self.folder, self.folders = folder, folders
        self.links = Links(_targets(folders), claims)
        self.records = fits.Records(folders.records, folder)
        self.environment = _environment()
        self.index: list[dict[str, str]] = []

    def write(self, page: str, title: str, kind: str, template: str, **values: object) -> None:
        """Write a page from a template and note it for the search."""

        def html(text: str, source: str = "") -> str:
            return markup.html(text, self.links, page, source)

        shown = self.environment.get_template(template).render(
            page=page,
            title=title,
            root="../" * page.count("/"),
            html=html,
            link=lambda target: markup.relative(target, page),
            **values,
        )
        write_text(self.folder / page, shown)
        main = shown.split('<main id="main">', 1)[1].split("</main>")[0]
        self.index += _found(page, title, kind, main)


def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    functions = {"mark": markup.mark, "json": json.dumps}
    environment.globals |= {**functions, "classes": markup.CLASSES}
    return environment


def _targets(folders: Folders) -> dict[str, str]:
    """Path in the repository -> path on the site."""
    targets = dict(DOCUMENTS)
    for path in sorted((folders.root / "docs").glob("[!.]*.md")):
        targets[f"docs/{path.name}"] = f"docs/{'index' if path.stem == 'README' else path.stem}.html"
    targets |= {
        f"docs/{path.name}": f"docs/{path.name}" for path in sorted((folders.root / "docs").glob("[!.]*.svg"))
    }
    for path in sorted(folders.tables.glob("[!.]*.*")):
        name = f"tables/{path.name}"
        targets[name] = f"tables/{path.stem}.html" if path.suffix == ".md" else name
    for path in sorted(folders.figures.rglob("[!.]*.*")):
        name = f"figures/{path.relative_to(folders.figures)}"
        if "preview" not in path.parts:
            targets[name] = name
    return targets | {"README.md": "index.html", "tables/audit.md": "claims/index.html"}


def _found(page: str, title: str, kind: str, main: str) -> list[dict[str, str]]:
    """What search knows of a page: it, and each of its sections that has words."""
    first, *rest = re.split(r'<h2 id="([^"]+)">', main)
    entries = [{"title": title, "kind": kind, "url": page, "text": _words(first)}]
    for identity, body in zip(rest[::2], rest[1::2], strict=True):
        heading, _, below = body.partition("</h2>")
        name = f"{title.split(': ')[0]}: {_words(heading)}"
        section = {"title": name, "kind": kind, "url": f"{page}#{identity}", "text": _words(below)}
        entries += [section] if section["text"] else []
    return entries


def _words(shown: str) -> str:
    """The text of some HTML without what every page has of its kind, cut after a word."""
    text = UNSAID.sub(" ", shown)
    return textwrap.shorten(unescape(re.sub(r"<[^>]+>", " ", text)), FOUND, placeholder=" …")
