"""The whole reproduction as a folder of pages that opens from a file or any web server.

No page requests anything from elsewhere, and none fetches: search index and records are scripts. Templates,
style and script stand beside this module; the widgets of tables and search are libraries that npm installed.
Equal arguments give equal bytes.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import claims as printed
from papers.evidence.store import write_text
from papers.report import fits, markup, pages
from papers.report.content import Folders
from papers.report.markup import Links

if TYPE_CHECKING:
    from jinja2 import Environment

LIBRARIES = {
    "datatables.js": "datatables.net/js/dataTables.min.js",
    "minisearch.js": "minisearch/dist/umd/index.js",
}
"""File of the site -> what npm installs."""
OWN = ("site.css", "site.js")
DOCUMENTS = {
    "CONTRIBUTING.md": "docs/contributing.html",
    "CHANGELOG.md": "docs/changelog.html",
    "data/README.md": "docs/data.html",
}
"""Documents shown besides docs/ and the tables."""
FOUND = 420
"""Letters of a section that search knows."""


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
        main = shown.split("<main", 1)[1].split("</main>")[0]
        self.index += _found(page, title, kind, main)


def write(
    folder: str | Path, libraries: str | Path, folders: Folders | None = None, claims: Sequence[str] = ()
) -> Path:
    """Write the site; its first page.

    Parameters
    ----------
    folder : path
        Replaced, if it is a site.
    libraries : path
        What npm installed (``node_modules``).
    folders : Folders, optional
        Default: those of the repository, seen from its root.
    claims : sequence of str
        Those that get a page; default: every one.

    Raises
    ------
    FileNotFoundError
        A library or a table is not there.
    FileExistsError
        The folder has something else in it.
    ValueError
        The audit has no section for a claim, or a finding of the README leads nowhere.
    """
    folder, folders = Path(folder), folders or Folders()
    _empty(folder, Path(libraries))
    site = Site(folder, folders, list(claims or printed.load()))
    for name, source in LIBRARIES.items():
        shutil.copyfile(Path(libraries, source), folder / "assets" / name)
    for name in OWN:
        shutil.copyfile(Path(__file__).with_name(name), folder / "assets" / name)
    for name, target in site.links.pages.items():
        if name.startswith(("figures/", "tables/")) and not name.endswith(".md"):
            kind, _, below = name.partition("/")
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(getattr(folders, kind) / below, folder / target)
    pages.write(site)
    known = json.dumps(site.index, ensure_ascii=False)
    write_text(folder / "assets" / "search.js", f"tiltedPages({known});\n")
    return folder / "index.html"


def _empty(folder: Path, libraries: Path) -> None:
    missing = ", ".join(name for name in LIBRARIES.values() if not Path(libraries, name).is_file())
    if missing:
        raise FileNotFoundError(f"{libraries} lacks {missing}: run `npm ci` in site/, as `make site` does")
    if folder.exists() and any(folder.iterdir()) and not (folder / "assets" / "site.js").is_file():
        raise FileExistsError(f"{folder} is not empty and no site: name another folder")
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "assets").mkdir(parents=True)


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
    functions = {"mark": markup.mark, "duration": _duration, "json": json.dumps}
    environment.globals |= {**functions, "classes": markup.CLASSES}
    return environment


def _targets(folders: Folders) -> dict[str, str]:
    """Path in the repository -> path on the site."""
    targets = dict(DOCUMENTS)
    for path in sorted((folders.root / "docs").glob("*.md")):
        targets[f"docs/{path.name}"] = f"docs/{'index' if path.stem == 'README' else path.stem}.html"
    for path in sorted(folders.tables.glob("*.*")):
        name = f"tables/{path.name}"
        targets[name] = f"tables/{path.stem}.html" if path.suffix == ".md" else name
    for path in sorted(folders.figures.rglob("*.*")):
        name = f"figures/{path.relative_to(folders.figures)}"
        if "preview" not in path.parts:
            targets[name] = name
    return targets | {"README.md": "index.html", "tables/audit.md": "claims/index.html"}


def _found(page: str, title: str, kind: str, main: str) -> list[dict[str, str]]:
    """What search knows of a page: it, and each of its sections."""
    first, *rest = re.split(r'<h2 id="([^"]+)">', main)
    entries = [{"title": title, "kind": kind, "url": page, "text": _words(first)}]
    for identity, body in zip(rest[::2], rest[1::2], strict=True):
        heading, _, below = body.partition("</h2>")
        section = {"title": f"{title}: {_words(heading)}", "kind": kind, "url": f"{page}#{identity}"}
        entries.append({**section, "text": _words(below)})
    return entries


def _words(shown: str) -> str:
    """The text of some HTML without its tables, cut."""
    text = re.sub(r"<table.*?</table>|<nav.*?</nav>", " ", shown, flags=re.S)
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))[:FOUND]


def _duration(seconds: float) -> str:
    """Seconds as a person says them: 0.31 s, 12 s, 4.2 min, 3.1 h."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
