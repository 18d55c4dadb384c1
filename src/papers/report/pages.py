"""The whole reproduction as a folder of pages that opens from a file or any web server.

One a claim, paper, data set, method and document; the gallery, the front. No page requests anything from
elsewhere, and none fetches: search index and records are scripts. Templates, style and script stand beside
this module; the widgets of tables and search are libraries that npm installed. Equal arguments give equal
bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import claims as printed
from papers.evidence import files, records
from papers.evidence.store import write_text
from papers.evidence.verdicts import VERDICTS
from papers.report import content, fits, markup
from papers.report.content import Claim, Folders
from papers.report.index import TABLES
from papers.report.papers import PAPERS, Figure, figures
from papers.report.site import Site

if TYPE_CHECKING:
    from papers.report.papers import Paper


class Library(NamedTuple):
    """A file below ``node_modules``, and the SHA-256 of its content."""

    path: str
    sha256: str


TITLE = "Tilted: four papers on Gaussian-process inference, reproduced"
TASKS = {"classification": "QP", "counts": "QP", "classification (relaxed EP)": "REP"}
"""Task of a data set -> its paper; others are of the Power-EP paper, and so are the digits."""
DIGITS = "mnist"
LIBRARIES = {
    "datatables.js": Library(
        "datatables.net/js/dataTables.min.js",
        "2050bcff007823d21472681c2e74b1eaf96893830a92acf9f6bb961a58f5c617",
    ),
    "minisearch.js": Library(
        "minisearch/dist/umd/index.js",
        "03c27931eb603af1d3358579e9885eafdb6a2f5fa9929557b3e77d7e99d06d03",
    ),
}
"""File of the site -> what npm installs of the versions that site/package-lock.json names."""
LOCK = ".lock"
"""Of `files.alone`, in the folder that is being written."""
OWN = ("site.css", "site.js")
SEARCH, CALL = "assets/search.js", "tiltedPages"
"""What search knows, by which a folder is known to be a site of this project; the function that takes it."""
LITTER = (".DS_Store", "Thumbs.db", "desktop.ini")
FILES = "assets/files.txt"
"""Names of all files of the site: nothing else is replaced with it."""


class Shown(NamedTuple):
    """A figure on the site: its file there, the file with what it shows, and pixels."""

    figure: Figure
    paper: str
    path: str
    data: str
    width: int
    height: int


def write(
    folder: str | Path, libraries: str | Path, folders: Folders | None = None, claims: Sequence[str] = ()
) -> Path:
    """Write the site; its first page.

    Parameters
    ----------
    folder : path
        Replaced, if it is a site, once the new one is whole; links are followed.
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
        The folder has something else in it, beside a site too.
    ValueError
        A library is damaged, the audit has no section for a claim, a finding of the README leads nowhere, or
        another process is writing this site.
    """
    final, folders = Path(folder).resolve(), folders or Folders()
    _require(final, Path(libraries), folders.tables)
    folder = final.with_name(f".{final.name}.new")
    with files.alone(folder, wait=False):
        for old in (path for path in folder.iterdir() if path.name != LOCK):  # of a run that was killed
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        _fill(folder, Path(libraries), folders, claims)
        shutil.rmtree(final, ignore_errors=True)
        folder.rename(final)
    (final / LOCK).unlink()
    return final / "index.html"


def _fill(folder: Path, libraries: Path, folders: Folders, claims: Sequence[str]) -> None:
    (folder / "assets").mkdir()
    site = Site(folder, folders, list(claims or printed.load()))
    for name, library in LIBRARIES.items():
        shutil.copyfile(libraries / library.path, folder / "assets" / name)
    for name in OWN:
        shutil.copyfile(Path(__file__).with_name(name), folder / "assets" / name)
    for name, target in site.links.pages.items():
        if not name.endswith(".md"):
            (folder / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(folders.path(name), folder / target)
    _write(site)
    known = json.dumps(site.index, ensure_ascii=False)
    write_text(folder / SEARCH, f"{CALL}({known});\n")
    write_text(folder / FILES, "\n".join([*_files(folder), FILES]) + "\n")


def _files(folder: Path) -> list[str]:
    """Names of all files below a folder but for the lock, and what systems leave there."""
    paths = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if not path.is_dir())
    return [path.as_posix() for path in paths if path.name not in (LOCK, *LITTER) and path.name[:2] != "._"]


def _require(folder: Path, libraries: Path, tables: Path) -> None:
    again = "run `npm ci` in site/, as `make site` does"
    if missing := ", ".join(one.path for one in LIBRARIES.values() if not (libraries / one.path).is_file()):
        raise FileNotFoundError(f"{libraries} lacks {missing}: {again}")
    if damaged := ", ".join(
        one.path for one in LIBRARIES.values() if _digest(libraries / one.path) != one.sha256
    ):
        raise ValueError(f"{damaged} in {libraries} is damaged, or of another version: {again}")
    listed = re.findall(r"\]\(([^/)]+)\)", (tables / "index.md").read_text(encoding="utf-8"))
    if lost := ", ".join(name for name in listed if not (tables / name).is_file()):
        raise FileNotFoundError(f"{tables} lacks {lost}, which its index.md has: `make tables` writes them")
    if folder.exists() and any(folder.iterdir()):
        mark = folder / SEARCH  # others have a site.js too
        if not (mark.is_file() and mark.read_bytes().startswith(f"{CALL}(".encode())):
            raise FileExistsError(f"{folder} is not empty and no site: name another folder")
        _require_alone(folder)


def _require_alone(folder: Path) -> None:
    """FileExistsError if beside a site there is something else, as where a repository publishes it."""
    if not (folder / FILES).is_file():
        return
    ours = (folder / FILES).read_text(encoding="utf-8").splitlines()
    others = sorted({name.partition("/")[0] for name in _files(folder) if name not in ours})
    if others:
        shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        raise FileExistsError(f"{folder} has {shown}, of no site: move it away, or write to another folder")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(site: Site) -> None:
    shown = list(_figures(site))
    claims = content.claims(site.folders, site.links, site.links.claims)
    _claims(site, claims, shown)
    _papers(site, claims, shown)
    _data(site)
    _methods(site)
    site.write("figures.html", "Figures", "Gallery", "figures.html.j2", shown=shown, papers=PAPERS)
    _documents(site)
    _front(site, claims, shown)


def _figures(site: Site) -> Iterable[Shown]:
    for paper in PAPERS:
        for figure in figures(paper, site.folders.figures, printed.load()):
            path = f"figures/{figure.path.relative_to(site.folders.figures)}"
            tables = (path.replace(".png", ending) for ending in (".csv", ".csv.gz"))
            data = next((name for name in tables if name in site.links.pages), "")
            yield Shown(figure, paper.key, path, data, *_pixels(figure.path))


def _pixels(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file, from its header."""
    with path.open("rb") as file:
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width, height


def _claims(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    behind = fits.of_claims()
    for before, claim, after in zip([None, *claims], claims, [*claims[1:], None], strict=False):
        site.write(
            f"claims/{claim.name}.html",
            f"{claim.name}: {claim.printed.title}",
            "Claim",
            "claim.html.j2",
            claim=claim,
            paper=_paper(claim.printed.paper),
            figures=[one for one in shown if claim.name in one.figure.claims],
            behind=site.records.behind(behind.get(claim.name, {})),
            before=before,
            after=after,
        )
    site.write(
        "claims/index.html",
        "All claims",
        "Claims",
        "claims.html.j2",
        claims=claims,
        protocols=list(dict.fromkeys(v.protocol for claim in claims for v in claim.verdicts)),
        notes=content.legends(site.folders),
    )


def _papers(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    for paper in PAPERS:
        site.write(
            f"papers/{paper.key.lower()}.html",
            paper.short,
            "Paper",
            "paper.html.j2",
            paper=paper,
            papers=PAPERS,
            claims=[claim for claim in claims if claim.printed.paper == paper.key],
            figures=[one for one in shown if one.paper == paper.key],
            documents=_titled(site, (f"tables/{name}.md" for name in (*TABLES[paper.key], *TABLES[""]))),
        )


def _data(site: Site) -> None:
    from papers.data import table_of_datasets

    every, of_paper = content.rows(site.folders), {paper.key: fits.of_paper(paper.key) for paper in PAPERS}
    listed = []
    for entry in table_of_datasets():
        name = str(entry["name"])
        key = "PEP" if name == DIGITS else TASKS.get(str(entry["task"]), "PEP")
        page, title = f"data/{key.lower()}-{name}.html", f"{key.lower()}:{name}"
        rows = [row for row in every if row.claim.startswith(key) and row.row.split(",")[0] == entry["row"]]
        files = [file for file in of_paper[key] if site.records.has(file, "dataset")]
        behind = site.records.behind({file: {"dataset": [name]} for file in files})
        about = {"entry": entry, "paper": _paper(key), "rows": rows, "behind": behind}
        site.write(page, title, "Data set", "dataset.html.j2", **about)
        listed.append((entry, key, title, page, sum(one.n for one in behind)))
    site.write("data/index.html", "Data sets", "Data", "datasets.html.j2", listed=listed)


def _methods(site: Site) -> None:
    every = content.rows(site.folders)
    listed = []
    for name, method in content.methods().items():
        found, page = content.contests(method, every), f"methods/{name}.html"
        counted = content.tally(found)
        listed.append((method, page, {k: sum(of[k] for of in counted.values()) for k in content.OUTCOMES}))
        site.write(
            page,
            method.title,
            "Method",
            "method.html.j2",
            method=method,
            tally=counted,
            contests=found,
            behind=site.records.behind(method.fits),
            see=_titled(site, method.see),
        )
    site.write("methods/index.html", "Methods", "Methods", "methods.html.j2", listed=listed)


def _documents(site: Site) -> None:
    for name, page in site.links.pages.items():
        if name.endswith(".md") and page.startswith(("docs/", "tables/")):
            head, _, body = site.folders.text(name).strip().partition("\n")
            shown = markup.html(body, site.links, page, name)
            contents = re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', shown)
            about = {"body": content.explained(shown), "contents": contents, "source": name}
            kind = "Tables" if page.startswith("tables/") else "Document"
            site.write(page, head.lstrip("# "), kind, "document.html.j2", **about)


def _front(site: Site, claims: Sequence[Claim], shown: Sequence[Shown]) -> None:
    from tilted import __version__

    runs = records.read_runs(site.folders.records).values()
    texts = [site.folders.text(name) for name in site.links.pages if name.endswith(".md")]
    site.write(
        "index.html",
        TITLE,
        "Front page",
        "index.html.j2",
        answer=content.answer(site.folders, site.links, "index.html"),
        findings=content.findings(site.folders, site.links, "index.html"),
        claims=claims,
        ours=sum(claim.printed.ours for claim in claims),
        papers=PAPERS,
        counted={name: sum(v.verdict == name for c in claims for v in c.verdicts) for name in VERDICTS},
        picture=next((one for one in shown if one.figure.path.stem == "qp_truth"), None),
        version=__version__,
        days=sorted({run.date for run in runs} - {""}),
        environments=sorted({run.environment for run in runs} - {""}),
        loud=sorted({line for text in texts for line in markup.loud(text)}),
    )


def _titled(site: Site, names: Iterable[str]) -> list[tuple[str, str]]:
    """Title and page of those of some documents that are there."""
    pages = site.links.pages
    there = [name for name in names if name in pages]
    return [(site.folders.text(name).split("\n", 1)[0].lstrip("# "), pages[name]) for name in there]


def _paper(key: str) -> Paper:
    return next(paper for paper in PAPERS if paper.key == key)
