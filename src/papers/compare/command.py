"""``tilted compare --data mine.csv --target y``: which method for my data?"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

import numpy as np

from papers.compare import answer, folds, methods, page, table
from papers.compare.page import Comparison
from papers.evidence import resources, runs

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from papers.compare.table import Table

MOST_ROWS = 2000
ERROR_MARGIN = 0.01
ROWS = ("sha256", "rows", "features")
"""By which two pages are known to be of the same rows."""
LONGEST_NAME = 200
"""Bytes; file systems take 255."""


def run(arguments: argparse.Namespace) -> int:
    """0 if every method ran on every fold, 1 if one failed somewhere, 130 if it was interrupted."""
    if 0 < arguments.iterations < 10 or not arguments.margin > 0:
        raise ValueError("--iterations is 0 or at least 10, --margin is positive")
    lists = {name: getattr(arguments, name) for name in table.LISTS}
    read = table.read(Path(arguments.data), arguments.target, arguments.task, arguments.delimiter, **lists)
    if arguments.rows is None and len(read.y) > MOST_ROWS:
        raise ValueError(
            f"{len(read.y)} rows: more than dense methods suit; --rows {MOST_ROWS} compares on so many"
        )
    how = How(**{name: getattr(arguments, name) for name in How._fields})
    whole, read = read, read.drawn(arguments.rows or MOST_ROWS, how.seed)
    table.require(read)
    folder = _folder(read, len(read.y) < len(whole.y), how, arguments.output)
    folder.mkdir(parents=True, exist_ok=True)  # what cannot be made is refused before any fit
    _require_own(folder, read)
    found = compared(read, how)
    _require_own(folder, read)  # another run may have been here meanwhile
    paths = page.write(found, _place(folder, found))
    if arguments.json:
        print(json.dumps(found.as_dict(), indent=1, allow_nan=False))
    else:
        print(found.answer.sentence.replace("**", ""))
    _tell(f"Page: {paths[2]}, {paths[1]}; numbers: {paths[0]}")
    if found.folds < folds.FOLDS:
        return 130
    return 0 if not any(row.failed for row in found.rows if row.method != folds.BASELINE) else 1


def _folder(read: Table, drawn: bool, how: How, output: str) -> Path:
    """Of a table, its target and what else is compared on, whose names may be longer than a folder's."""
    options = {f"rows{len(read.y)}": drawn, f"seed{how.seed}": how.seed != How().seed, "ard": how.ard}
    others = [option for option, asked in options.items() if asked]
    name = "+".join([f"{read.name}-{quote(read.target, safe=' ')}", *others])  # a target's + is quoted
    if len(name.encode()) > LONGEST_NAME:
        digest = hashlib.sha256(name.encode()).hexdigest()[:16]
        name = f"{name.encode()[:100].decode(errors='ignore')}-{digest}"
    return Path(output, os.fsdecode(name.encode()))  # the same bytes in every locale


def _require_own(folder: Path, read: Table) -> None:
    """The page of a table of the same name in another folder stays (earlier versions do not say where)."""
    for below in folder.rglob(page.NAMES[0]):  # a damaged one is said before any fit
        _numbers(below.parent)
    had = _numbers(folder)
    file = had["table"].get("file", read.file) if had else read.file
    if file != read.file:
        raise ValueError(f"{folder} is the page of {file}: --output names a place for another table's")


def _numbers(folder: Path) -> dict[str, Any]:
    """Those of the page in a folder; empty where there is none, ValueError if they are no page's."""
    path = folder / page.NAMES[0]
    if not path.exists():
        return {}
    try:
        numbers = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): delete it, or name another --output") from None
    if not (isinstance(numbers, dict) and isinstance(numbers.get("table"), dict)):
        raise ValueError(f"{path} has not the numbers of a comparison: delete it, or name another --output")
    return numbers


def _place(folder: Path, found: Comparison) -> Path:
    """Of the page: one of fewer folds, or of the same rows without what another has, replaces none."""
    had, now = _numbers(folder), found.as_dict()
    if not had:
        return folder
    same_rows = all(had["table"].get(name) == now["table"][name] for name in ROWS)
    if had.get("folds", 0) > found.folds:
        more, part = ["more folds"], "interrupted"
    elif same_rows and (more := _lost(had, now)):
        part = "part"
    else:
        _tell(f"{folder} had a page, which is replaced")
        return folder
    _tell(f"{folder} has a page with {', '.join(more)}, which stays: the new one is below it, in {part}")
    (folder / part).mkdir(exist_ok=True)
    return _place(folder / part, found)


def _lost(had: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """What one comparison of a table has, and another has not."""
    before, after = ({row["method"] for row in said.get("methods", [])} for said in (had, now))
    exact = ["the exact posterior"] if had.get("exact") and not now["exact"] else []
    task = had["table"].get("task", now["table"]["task"])
    return [*sorted(before - after), *exact, *([task] if task != now["table"]["task"] else [])]


class How(NamedTuple):
    """What the command line says beside the data."""

    seed: int = 0
    iterations: int = 300
    margin: float = 0.01
    methods: Sequence[str] = ()
    ard: bool = False
    cores: int = 1


def compared(read: Table, how: How) -> Comparison:
    """Every method on ten folds, side by side."""
    from joblib import Parallel, delayed

    runs.commit()  # that of the code which runs, whatever is committed meanwhile
    reason = ""
    if len(read.y) > folds.MOST_EXACT:
        reason = (
            f"Not sampled: more than {folds.MOST_EXACT} rows (--rows {folds.MOST_EXACT} compares on so many)."
        )
    elif not how.iterations:
        reason = "Not sampled: --iterations 0."
    names = [method.name for method in methods.of(read.task, how.methods)]
    parts = list(folds.folds(read, how.seed, how.ard))
    _tell(f"{read.name}: {len(read.y)} rows, {read.X.shape[1]} features, {read.task}")
    for remark in read.remarks:  # of names in a file: a terminal prints them, and does not obey
        _tell(f"  {remark if remark.isprintable() else ascii(remark)}")
    _tell(f"{len(names) * len(parts)} fits to make: {', '.join(names)}, each on {len(parts)} folds")
    if not how.methods:
        _tell(f"without {', '.join(methods.SLOW)}, which takes the longest: --methods {' '.join(names)} rep")
    asked = [(fold, k, 0 if reason or k else how.iterations, how.methods) for k, fold in enumerate(parts)]
    running = Parallel(n_jobs=resources.workers(how.cores, len(asked)), return_as="generator")(
        delayed(folds.compared)(*one) for one in asked
    )
    done = []
    _tell("log loss in nats a test row, lower is better:")
    try:
        for k, one in enumerate(running):
            done.append(one)
            _tell(f"  fold {k}: {', '.join(f'{x.method} {x.loss:.3f}' for x in one[0])}")
    except KeyboardInterrupt:
        if not done:
            raise
        _tell(f"interrupted: the page is of {len(done)} of {len(parts)} folds")
    outcomes = [outcome for of_fold, _ in done for outcome in of_fold]
    # errors of numbers have the target's unit: a hundredth of its spread matters
    scale = 1.0 if read.task == table.CLASSIFICATION else float(np.std(read.y))
    margins = how.margin, ERROR_MARGIN * scale
    rows = answer.rows(outcomes, read.task)
    differ = answer.differences([o for o in outcomes if o.method != folds.BASELINE], *margins)
    said = answer.answer([row for row in rows if row.method != folds.BASELINE], differ, how.margin)
    said = answer.beside_nothing(said, outcomes, how.margin)
    return Comparison(read, how.seed, margins, outcomes, rows, differ, done[0][1], reason, said, how.ard)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
