"""A Sphinx extension that writes pages about claims, figures and the API, and tables of contents.

The pages are made of ``claims.yaml``, ``tables/audit.csv``, ``tables/audit_rows.csv``, ``figures/`` and the
public names of the library, by the templates beside this folder.
"""

from __future__ import annotations

import os
import pkgutil
import re
import shutil
from importlib import import_module
from inspect import getmodule, isclass, isroutine
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from papers.captions import PAPERS, figures
from papers.core import audit, claims
from papers.core.grid import grid

GENERATED = Path("docs/generated")
CONTENTS = "docs/README"
LISTS = ("tables/index", f"{GENERATED}/claims")  # further documents whose links are tables of contents
INTERNAL = "tilted.numerics"
LINK = re.compile(r"\]\(([^)#:]+)\.md\)")


def setup(app: Any) -> dict[str, bool]:
    """Register the extension."""
    app.connect("config-inited", generate)
    app.connect("source-read", add_contents)
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("autodoc-process-docstring", escape_bars, priority=600)
    app.connect("build-finished", copy_front_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def generate(app: Any, config: Any) -> None:
    """Write the generated pages, before Sphinx looks for documents."""
    folder = Path(app.srcdir, GENERATED)
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages(Path(app.srcdir)).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def pages(root: Path) -> dict[str, str]:
    """Return the text of each generated page by its name."""
    templates = Path(__file__).parents[1] / "_templates"
    environment = Environment(
        loader=FileSystemLoader(templates), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    verdicts, rows = (
        pd.read_csv(root / "tables" / name, dtype=str, keep_default_na=False)
        for name in ("audit.csv", "audit_rows.csv")
    )
    every = claims.load()
    drawn = [(paper, figures(paper, root / "figures", every)) for paper in PAPERS]

    def page(template: str, **values: Any) -> str:
        return environment.get_template(template).render(root=root, **values)

    texts = {"figures.md": page("figures.md", drawn=drawn), "api/index.rst": page("api.rst", packages=api())}
    texts["claims.md"] = page("claims.md", claims=every, table=verdicts)
    for name, claim in every.items():
        pictures = [one for _, of_paper in drawn for one in of_paper if name in one.claims]
        behind = {key: row_table(few) for key, few in rows[rows["id"] == name].groupby("protocol")}
        about = {"name": name, "claim": claim, "table": verdicts[verdicts["id"] == name]}
        texts[f"claims/{name}.md"] = page("claim.md", behind=behind, pictures=pictures, **about)
    return texts


def row_table(rows: pd.DataFrame) -> str:
    """Return the rows that decide a claim under a protocol, those of its first block, as a table."""
    cells = []
    for row in rows[rows["block"] == rows["block"].iloc[0]].itertuples():
        effect, low, high = (float(value or "nan") for value in (row.effect, row.low, row.high))
        numbers = audit.number(effect, row.unit), audit.interval(low, high, row.unit)
        about = row.row, row.status, row.quantity
        cells.append((*about, *numbers, audit.UNITS[row.unit][1], row.n, row.note))
    header = ("Row", "Status", "Quantity", "Effect", "95 % interval", "Unit", "n", "Note")
    return "\n".join(grid(header, "lllrrlrl", cells))


def api() -> dict[Any, list[str]]:
    """Return the public names of each package of the library, and its modules where it declares no names."""
    tilted = import_module("tilted")
    names = [one.name for one in pkgutil.iter_modules(tilted.__path__, "tilted.") if one.name != INTERNAL]
    reference, listed = {}, set()
    for package in (tilted, *map(import_module, names)):
        declared = getattr(package, "__all__", None)
        offered = declared or [name for name in vars(package) if name[0] != "_"]
        values = {name: getattr(package, name) for name in offered}
        values = {k: v for k, v in values.items() if isclass(v) or isroutine(v)}
        own = {k: v for k, v in values.items() if re.match(rf"{package.__name__}\b", v.__module__)}
        modules = () if declared else pkgutil.iter_modules(getattr(package, "__path__", ()))
        new = [name for name, value in own.items() if id(value) not in listed]
        reference[package] = [*new, *(one.name for one in modules)]
        listed |= {id(value) for value in own.values()}
    return reference


def add_contents(app: Any, name: str, source: list[str]) -> None:
    """Append hidden tables of contents to the front page and to the documents that list others."""
    groups = contents(source[0], Path(name).parent) if name in LISTS else {}
    if name == app.config.root_doc:
        text = Path(app.srcdir, f"{CONTENTS}.md").read_text(encoding="utf-8")
        generated = [f"{GENERATED}/{page}" for page in ("claims", "figures", "api/index")]
        groups = {"Results and reference": generated, **contents(text, Path(CONTENTS).parent)}
        listed = {name, *(page for pages in groups.values() for page in pages)}
        others = {page for page in app.env.found_docs if not page.startswith(("docs/", "tables/"))}
        groups["More"] = [CONTENTS, *sorted(others - listed)]
    for caption, documents in groups.items():
        listing = "\n".join(f"/{document}" for document in documents)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {caption or 'Contents'}\n\n{listing}\n```\n"


def contents(text: str, folder: Path) -> dict[str, list[str]]:
    """Return the documents that a document links to, by heading or by first cell of a table."""
    groups: dict[str, list[str]] = {}
    caption, lines = "", text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("## ") or re.match(r"\|[ :]*-", after):
            caption = line.strip("#| ").split("|")[0].strip()
        for target in LINK.findall(line):
            page = os.path.normpath(folder / target)
            if not any(page in documents for documents in groups.values()):
                groups.setdefault(caption, []).append(page)
    return groups


def skip_inherited(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """Leave out of a class what it inherits from another library."""
    module = getmodule(value)
    return True if module and module.__name__.startswith("sklearn") else None


def escape_bars(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """Escape the bars of absolute values, which mean substitutions in reStructuredText."""
    lines[:] = [re.sub(r"(``.*?``)|(?<![\w|`])\|(?=[^\s|])", lambda m: m[1] or r"\|", line) for line in lines]


def copy_front_page(app: Any, error: Exception | None) -> None:
    """Write the front page as index.html too."""
    if error is None:
        shutil.copyfile(Path(app.outdir, f"{app.config.root_doc}.html"), Path(app.outdir, "index.html"))
