"""The whole reproduction as a folder of pages that opens from a file or any web server.

No page requests anything from elsewhere, and none fetches: search index and records are scripts. Templates,
style and script stand beside this module; the widgets of tables and search are libraries that npm installed.
Equal arguments give equal bytes.
"""

from __future__ import annotations

import json
import re
import shutil
import struct
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import claims as printed
from papers.evidence import records
from papers.evidence.store import write_text
from papers.evidence.verdicts import VERDICTS
from papers.report import content, fits, markup, rule_times
from papers.report.content import Claim, Folders
from papers.report.markup import Links
from papers.report.papers import PAPERS, Figure, figures

if TYPE_CHECKING:
    from typing import Any

    from jinja2 import Environment

    from papers.report.papers import Paper

LIBRARIES = {
    "datatables.js": "datatables.net/js/dataTables.min.js",
    "minisearch.js": "minisearch/dist/umd/index.js",
}
"""File of the site -> what npm installs."""
OWN = ("site.css", "site.js")
DOCUMENTS = ("CONTRIBUTING.md", "CHANGELOG.md", "data/README.md")
"""Documents shown besides docs/ and the tables."""
FOUND = 420
"""Letters of a section that search knows."""


class Shown(NamedTuple):
    """A figure on the site: its file there, the file with what it shows, and pixels."""

    figure: Figure
    paper: str
    path: str
    data: str
    width: int
    height: int


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

    def __init__(self, folder: Path, folders: Folders, names: Sequence[str]) -> None:
        self.folder, self.folders = folder, folders
        self.links = Links(_pages(folders), names)
        self.records = fits.Records(folders.records, folder)
        self.environment = _environment()
        self.index: list[dict[str, str]] = []

    def write(self, page: str, template: str, title: str, kind: str, **values: object) -> None:
        """Write a page from a template and note it for the search."""
        root = markup.relative(".", page) + "/"

        def html(text: str, source: str = "", deeper: int = 0) -> str:
            return markup.html(text, self.links, page, source, deeper)

        shown = self.environment.get_template(template).render(
            page=page,
            title=title,
            kind=kind,
            root="" if root == "./" else root,
            html=html,
            link=lambda target: markup.relative(target, page),
            **values,
        )
        write_text(self.folder / page, shown)
        main = shown.split("<main", 1)[1].split("</main>")[0]
        self.index += _found(page, title, kind, main)


def write(
    folder: str | Path, libraries: str | Path, folders: Folders | None = None, names: Sequence[str] = ()
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
    names : sequence of str
        Claims that get a page; default: every one.

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
    site = Site(folder, folders, list(names or printed.load()))
    for name, source in LIBRARIES.items():
        shutil.copyfile(Path(libraries, source), folder / "assets" / name)
    for name in OWN:
        shutil.copyfile(Path(__file__).with_name(name), folder / "assets" / name)
    shown = _figures(site)
    claims = content.claims(folders, site.links, site.links.claims)
    _claims(site, claims, shown)
    _papers(site, claims, shown)
    _data(site)
    _methods(site)
    site.write("figures.html", "figures.html.j2", "Figures", "Gallery", shown=shown, papers=PAPERS)
    _documents(site)
    _front(site, claims, shown)
    write_text(folder / "assets" / "search.js", f"tiltedPages({json.dumps(site.index, ensure_ascii=False)});\n")
    return folder / "index.html"


def _empty(folder: Path, libraries: Path) -> None:
    missing = [name for name in LIBRARIES.values() if not Path(libraries, name).is_file()]
    if missing:
        raise FileNotFoundError(f"{libraries} lacks {', '.join(missing)}: run `npm ci` in site/, as `make site` does")
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
    environment.globals |= {"mark": markup.mark, "classes": markup.CLASSES, "duration": _duration, "json": json.dumps}
    return environment


def _pages(folders: Folders) -> dict[str, str]:
    """Path in the repository -> path on the site."""
    pages = {name: f"docs/{Path(name).parent.name}{Path(name).stem}.html".lower() for name in DOCUMENTS}
    for path in sorted((folders.root / "docs").glob("*.md")):
        pages[f"docs/{path.name}"] = f"docs/{'index' if path.stem == 'README' else path.stem}.html"
    for path in sorted(folders.tables.glob("*.*")):
        pages[f"tables/{path.name}"] = f"tables/{path.stem if path.suffix == '.md' else path.name}"
        if path.suffix == ".md":
            pages[f"tables/{path.name}"] += ".html"
    for path in sorted(folders.figures.rglob("*.*")):
        if "preview" not in path.parts:
            pages[f"figures/{path.relative_to(folders.figures)}"] = f"figures/{path.relative_to(folders.figures)}"
    return pages | {"README.md": "index.html", "tables/audit.md": "claims/index.html"}


def _figures(site: Site) -> list[Shown]:
    """Copy figures and what they show; of the pages' tables those that are no documents."""
    for name, target in site.links.pages.items():
        if name.startswith(("figures/", "tables/")) and not name.endswith(".md"):
            kind, _, below = name.partition("/")
            (site.folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(getattr(site.folders, kind) / below, site.folder / target)
    listed, shown = printed.load(), []
    for paper in PAPERS:
        for figure in figures(paper, site.folders.figures, listed):
            path = f"figures/{figure.path.relative_to(site.folders.figures)}"
            stem = path.removesuffix(".png")
            data = [f"{stem}.{ending}" for ending in ("csv", "csv.gz") if (site.folder / f"{stem}.{ending}").is_file()]
            shown.append(Shown(figure, paper.key, path, "".join(data), *_pixels(figure.path)))
    return shown


def _pixels(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file, from its header."""
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width, height


def _claims(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    behind = fits.of_claims()
    for k, claim in enumerate(claims):
        site.write(
            f"claims/{claim.name}.html",
            "claim.html.j2",
            f"{claim.name}: {claim.printed.title}",
            "Claim",
            claim=claim,
            paper=_paper(claim.printed.paper),
            figures=[one for one in shown if claim.name in one.figure.claims],
            behind=site.records.behind(behind.get(claim.name, {})),
            before=claims[k - 1] if k else None,
            after=claims[k + 1] if k + 1 < len(claims) else None,
        )
    protocols = list(dict.fromkeys(v.protocol for claim in claims for v in claim.verdicts))
    _, parts = markup.sections(site.folders.text("tables/audit.md").split("\n## ")[0], 1)
    notes = ["\n\n".join(p for p in markup.paragraphs(part.body) if not p.startswith("|")) for part in parts]
    values: dict[str, Any] = {"claims": claims, "protocols": protocols, "papers": PAPERS, "notes": notes}
    site.write("claims/index.html", "claims.html.j2", "All claims", "Claims", **values)


def _papers(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    titles = content.titles(site.folders, site.links.pages)
    times = rule_times.read(site.folders.records)
    for paper in PAPERS:
        site.write(
            f"papers/{paper.key.lower()}.html",
            "paper.html.j2",
            paper.short,
            "Paper",
            paper=paper,
            claims=content.of_paper(claims, paper.key),
            figures=[one for one in shown if one.paper == paper.key],
            documents=[
                (titles[name], site.links.pages[name])
                for name in (f"tables/{name}.md" for name in paper.documents)
                if name in titles
            ],
            times=[line for line in times if line.paper == paper.key],
            untimed=rule_times.UNTIMED,
        )


def _data(site: Site) -> None:
    from papers.data import table_of_datasets

    every, of_paper = content.rows(site.folders), fits.files(paper.key for paper in PAPERS)
    paper_of = {"classification (Power EP)": "PEP", "regression": "PEP", "classification (relaxed EP)": "REP"}
    listed = []
    for entry in table_of_datasets():
        name, task = str(entry["name"]), str(entry["task"])
        paper = "PEP" if name == "mnist" else paper_of.get(task, "QP")
        page = f"data/{paper.lower()}-{name}.html"
        mine = [row for row in every if row.claim.startswith(paper) and row.row.split(",")[0] == entry["row"]]
        wanted = {file: {"dataset": [name]} for file in of_paper[paper] if site.records.has(file, "dataset")}
        behind = site.records.behind(wanted)
        listed.append((entry, paper, page, sum(one.n for one in behind)))
        title = f"{paper.lower()}:{name}"
        about = {"entry": entry, "paper": _paper(paper), "rows": mine, "behind": behind}
        site.write(page, "dataset.html.j2", title, "Data set", **about)
    site.write("data/index.html", "datasets.html.j2", "Data sets", "Data", listed=listed)


def _methods(site: Site) -> None:
    every, titles = content.rows(site.folders), content.titles(site.folders, site.links.pages)
    listed = []
    for name, method in content.methods().items():
        found = content.contests(method, every)
        page, counted = f"methods/{name}.html", content.tally(found)
        listed.append((method, page, {k: sum(c[k] for c in counted.values()) for k in ("won", "lost", "open")}))
        site.write(
            page,
            "method.html.j2",
            method.title,
            "Method",
            method=method,
            tally=counted,
            contests=found,
            behind=site.records.behind(method.fits),
            see=[(titles[document], site.links.pages[document]) for document in method.see if document in titles],
        )
    site.write("methods/index.html", "methods.html.j2", "Methods", "Methods", listed=listed)


def _documents(site: Site) -> None:
    pages = {
        name: page
        for name, page in site.links.pages.items()
        if name.endswith(".md") and page.startswith(("docs/", "tables/"))
    }
    for name, page in pages.items():
        text = site.folders.text(name).strip()
        head, _, body = text.partition("\n")
        shown = markup.html(body, site.links, page, name)
        contents = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', shown)
        kind = "Tables" if page.startswith("tables/") else "Document"
        site.write(
            page, "document.html.j2", head.lstrip("# "), kind, body=shown, contents=contents, source=name
        )


def _front(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    from tilted import __version__

    runs = records.read_runs(site.folders.records).values()
    counted = {name: sum(v.verdict == name for claim in claims for v in claim.verdicts) for name in VERDICTS}
    loud = [line for name in site.links.pages if name.endswith(".md") for line in markup.loud(site.folders.text(name))]
    site.write(
        "index.html",
        "index.html.j2",
        "Tilted: four papers on Gaussian-process inference, reproduced",
        "Front page",
        findings=content.findings(site.folders, site.links, "index.html"),
        claims=claims,
        papers=PAPERS,
        counted=counted,
        picture=next((one for one in shown if one.figure.path.stem == "qp_truth"), None),
        version=__version__,
        days=sorted({run.date for run in runs} - {""}),
        environments=sorted({run.environment for run in runs} - {""}),
        loud=sorted(set(loud)),
    )


def _paper(key: str) -> Paper:
    return next(paper for paper in PAPERS if paper.key == key)


def _found(page: str, title: str, kind: str, main: str) -> list[dict[str, str]]:
    """What search knows of a page: it, and of a document each section."""
    first, *rest = re.split(r'<h2 id="([^"]+)">', main)
    entries = [{"title": title, "kind": kind, "url": page, "text": _words(first)}]
    for identity, body in zip(rest[::2], rest[1::2], strict=True):
        heading, _, below = body.partition("</h2>")
        entries.append(
            {
                "title": f"{title}: {_words(heading)}",
                "kind": kind,
                "url": f"{page}#{identity}",
                "text": _words(below),
            }
        )
    return entries


def _words(shown: str) -> str:
    """The text of some HTML without its tables, cut."""
    text = re.sub(r"<table.*?</table>|<script.*?</script>|<nav.*?</nav>", " ", shown, flags=re.S)
    return unescape(" ".join(re.sub(r"<[^>]+>", " ", text).split()))[:FOUND]


def _duration(seconds: float) -> str:
    """Seconds as a person says them: 0.31 s, 12 s, 4.2 min, 3.1 h."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
