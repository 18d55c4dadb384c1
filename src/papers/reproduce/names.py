"""Names that `tilted reproduce` takes: claims, figures, tables, papers.

Nothing is listed here: claims come from ``claims.yaml``, figures from the committed ones, rows from the
printed table, and what each is made of from the ``artifacts`` of its paper.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers import captions
from papers.core import claims
from papers.core.figure_data import PACKED, PLAIN
from papers.core.runs import CHECKOUT
from papers.make import ARTIFACTS
from papers.qp import artifacts as qp
from papers.qp.published import ROWS

if TYPE_CHECKING:
    from papers.core.slices import Slice

CLAIM, FIGURE, TABLE = KINDS = ("claim", "figure", "table")
TABLE1, ALL = "Table1", "all"


class Target(NamedTuple):
    """A claim, figure or table, and the rows behind it.

    Attributes
    ----------
    name, kind, paper, title : str
    slices : tuple of Slice
        Lines of records that it is made of.
    claims : tuple of str
        That it decides, or belongs to.
    files : tuple of str
        Numbers of a figure, below the folder of figures, one a protocol.
    row : str
        Of Table 1; all of them if empty.
    """

    name: str
    kind: str
    paper: str
    title: str
    slices: tuple[Slice, ...]
    claims: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    row: str = ""


@lru_cache(maxsize=1)
def targets_by_name() -> dict[str, tuple[Target, ...]]:
    """Name -> what it stands for; a paper, and `ALL`, for several."""
    single = [*_claims(), *_tables(), *_figures()]
    not_figures = [target for target in single if target.kind != FIGURE and not target.row]
    papers = {key.lower(): tuple(x for x in not_figures if x.paper == key) for key in ARTIFACTS}
    return {target.name: (target,) for target in single} | papers | {ALL: tuple(not_figures)}


def find(names: Iterable[str]) -> list[Target]:
    """Return the targets of names, each once; upper and lower case do not matter.

    Raises
    ------
    ValueError
        There is no such name; the message has the near ones.
    """
    spelled = {name.lower(): name for name in targets_by_name()}
    targets: dict[str, Target] = {}
    for name in names:
        if name.lower() not in spelled:
            raise ValueError(f"nothing is called '{name}'{_near(name, spelled)}; `tilted reproduce --list`")
        targets |= {target.name: target for target in targets_by_name()[spelled[name.lower()]]}
    return list(targets.values())


def _near(name: str, spelled: dict[str, str]) -> str:
    near = difflib.get_close_matches(name.lower(), spelled, n=5, cutoff=0.5)
    near += [lower for lower in spelled if name.lower() in lower and lower not in near][: 5 - len(near)]
    return f"; near: {', '.join(spelled[lower] for lower in near)}" if near else ""


def _claims() -> Iterable[Target]:
    for name, claim in claims.load().items():
        yield Target(name, CLAIM, claim.paper, claim.title, ARTIFACTS[claim.paper].CLAIMS[name], (name,))


def _tables() -> Iterable[Target]:
    title = "Table 1 of the QP paper"
    yield Target(TABLE1, TABLE, "QP", title, qp.table1())
    for row in ROWS.values():
        yield Target(f"{TABLE1}:{row}", TABLE, "QP", f"{title}, {row}", qp.table1(row), row=row)


def _figures() -> Iterable[Target]:
    """Committed figures: those of one name that several protocols have are one."""
    files: dict[tuple[str, str], list[str]] = {}
    folder = CHECKOUT / "figures"
    for path in sorted(p for ending in (PLAIN, PACKED) for p in folder.rglob(f"*.{ending}")):
        below = path.relative_to(folder)
        paper = below.parts[0].upper() if below.parts[0].upper() in ARTIFACTS else "QP"
        if "preview" not in below.parts:
            files.setdefault((paper, path.name.split(".")[0]), []).append(below.as_posix())
    for (paper, stem), of_figure in files.items():
        belongs = _belongs(paper, stem)
        slices = ARTIFACTS[paper].figure(stem)
        name = captions.reproduced(paper, stem)
        yield Target(name, FIGURE, paper, f"{stem} of {paper}", slices, belongs, tuple(of_figure))


def stem_of(target: Target) -> str:
    """Return the name of a figure's files, without folder and suffix."""
    return Path(target.files[0]).name.partition(".")[0]


def _belongs(paper: str, stem: str) -> tuple[str, ...]:
    """Claims whose place in the paper names a figure."""
    places = {name: captions.places(claim.where) for name, claim in claims.of_paper(paper).items()}
    return captions.claims_of(Path(stem), places)
