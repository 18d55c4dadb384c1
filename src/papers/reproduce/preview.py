"""The last lines of a preview: what it made of each paper, beside the committed records.

A preview is a part: it has no verdicts, and says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from papers.captions import READS
from papers.evidence import records
from papers.evidence.jobs import named
from papers.evidence.runs import CHECKOUT
from papers.evidence.verification.again import TOLERANCE, differences
from papers.qp.table1 import fidelity

CLOSE = 0.01
"""Relative difference of what ended near the committed line, if not at it."""

WORK = {"evaluations", "retries", "message", "reason"}
"""Columns that tell how much work a search was, which is no result; sweeps are what claims are about."""

FIDELITY = "qp_fidelity.csv"

if TYPE_CHECKING:
    from papers.evidence.study import Study


def lines(results: str | Path, tables: str | Path, asked: Collection[str]) -> list[str]:
    """A line a study and paper, and one of Table 1.

    Parameters
    ----------
    results, tables : str or Path
        Folders of the preview.
    asked : collection of str
        Records and tables that its configuration asks for: the folders may hold those of another.
    """
    shown = ["A preview: a part of each paper, too little for a verdict (`tilted reproduce NAME` for those)."]
    for paper in READS:
        for study in named(f"papers.{paper.lower()}.records:STUDIES"):
            if study.file in asked and study.key and study.reader is None:
                shown += _of_study(paper, study, Path(results))
    return [*shown, *(_printed(Path(tables, FIDELITY)) if FIDELITY in asked else ())]


def _of_study(paper: str, study: Study, results: Path) -> Iterator[str]:
    mine = records.load(study, results)
    if mine.empty:
        return
    both = records.load(study, CHECKOUT / "results").set_index(list(study.key), drop=False).sort_index()
    found = [compared(study, line, both) for line in mine.to_dict("records")]
    known = [value for value in found if value is not None]
    same, close = (sum(value <= most for value in known) for most in (TOLERANCE, CLOSE))
    text = f"{paper:4} {study.file}: {len(mine)} made, {same} of {len(known)} as committed to {TOLERANCE:.0e}"
    if same < len(known):
        text += f", {close - same} more to {CLOSE:.0%}"
    yield text
    for line, value in zip(mine.to_dict("records"), found, strict=True):
        if value is not None and not value <= CLOSE:
            name = " ".join(f"{column}={line[column]}" for column in study.key)
            yield f"{paper:4} differs by more (searches may end elsewhere): {name}"


def compared(study: Study, line: dict[str, object], committed: pd.DataFrame) -> float | None:
    """Largest relative difference of a line, but for its `WORK`, from the committed one, if there is one.

    Parameters
    ----------
    study : Study
    line : dict
    committed : pandas.DataFrame
        Lines by name.
    """
    name = tuple(line[column] for column in study.key)
    where = name if len(name) > 1 else name[0]
    if where not in committed.index:
        return None
    found = differences(study, committed.loc[where].to_dict(), line)
    return max((value for name, value in found.items() if name not in WORK), default=0.0)


def _printed(path: Path) -> Iterator[str]:
    if not path.is_file():
        return
    checked = pd.read_csv(path)
    cells = checked[
        (checked["check"] == fidelity.CELL) & checked["verdict"].isin([fidelity.PASS, fidelity.MISS])
    ]
    passed = int((cells["verdict"] == fidelity.PASS).sum())
    yield f"QP   Table 1: {passed} of {len(cells)} cells within the tolerance of the printed one"
