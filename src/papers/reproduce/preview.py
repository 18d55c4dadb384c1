"""The last lines of a preview: Table 1 beside the printed values, and one line a paper about agreement."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import records
from papers.core.agreement import BETTER, CHAOTIC, SAME, WORSE, compare_frames
from papers.core.runs import CHECKOUT

if TYPE_CHECKING:
    import pandas as pd

    from papers.configuration import Asked
    from papers.core.study import Study

TABLE1 = "qp_table1.md"
NEXT = "Next: .venv/bin/tilted reproduce QP2 (repeat fits behind a claim), make help, README.md"


def lines(asked: Asked) -> list[str]:
    """Return the lines that end a run: where its results are, and what agrees with the committed rows.

    Nothing is compared where the configuration keeps the committed rows.
    """
    results, tables, figures = (Path(asked.config[name]) for name in ("results", "tables", "figures"))
    text = []
    if (tables / TABLE1).is_file() and TABLE1 in asked.tables:
        text += _table1(tables / TABLE1)
    if not asked.config.get("keep_records"):
        files = [file for file in asked.files() if (results / file).is_file()]
        for paper in dict.fromkeys(file.split("/")[0] for file in files):
            studies = [study for study in records.studies([paper]) if study.file in files and study.key]
            text += _agreement(paper.upper(), studies, results)
    return [*text, f"Tables: {tables}   Figures: {figures}   Rows: {results}", NEXT]


def _table1(path: Path) -> list[str]:
    """Return the rows of Table 1 as its page has them."""
    section = path.read_text(encoding="utf-8").split("\n## Protocol ")[1].split("\n## ")[0]
    heading, *lines = section.splitlines()
    rows = [line for line in lines if line.startswith("|") and not line.startswith("| --")]
    return [f"Table 1, protocol {heading}", *rows]


def _agreement(paper: str, studies: Collection[Study], results: Path) -> list[str]:
    """Return how the rows of a paper agree with the committed records: a line, and one a difference."""
    statuses: list[str] = []
    differences: list[str] = []
    rows = 0
    for study in studies:
        rows += len(records.load(study, results))
        agreement = compare_frames(study, *_paired(study, results))
        statuses += [comparison.status for comparison in agreement.rows]
        differences += [f"     different: {study.file}: {line}" for line in agreement.differences]
    if not statuses:
        return [f"{paper:4} {rows:5,} rows, none of which has a record"]
    better, worse, chaotic = (statuses.count(status) for status in (BETTER, WORSE, CHAOTIC))
    text = f"{paper:4} {len(statuses):5,} rows repeated: {statuses.count(SAME):5,} agree with the records"
    if better or worse:
        text += f"; {better} reached a better optimum, {worse} a worse one"
    if chaotic:
        text += f"; {chaotic} depend on rounding, so that only their means are compared"
    return [text, *differences]


def _paired(study: Study, results: Path) -> list[pd.DataFrame]:
    """Return the committed rows that a preview repeated, and the repeated ones, in one order."""
    frames = [records.load(study, folder) for folder in (CHECKOUT / "results", results)]
    key = list(study.key)
    both = frames[0][key].merge(frames[1][key], on=key)
    return [both.merge(frame, on=key)[list(study.types)] for frame in frames]
