"""``tilted reproduce NAME...``: repeat rows behind a claim, figure or table, and write a receipt."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import files, records, runs
from papers.core.repeat import Repeated, repeat
from papers.core.runs import CHECKOUT
from papers.core.study import RUN, RecordError, Source
from papers.make import ARTIFACTS
from papers.reproduce import comparison, names, receipt, sample
from papers.reproduce.receipt import Receipt

if TYPE_CHECKING:
    import argparse

    import pandas as pd

    from papers.core.study import Study
    from papers.reproduce.names import Target
    from papers.reproduce.sample import Sample

RESULTS = CHECKOUT / "results"
PROGRESS = "repeated.jsonl"
"""File of an interrupted run, below its folder."""
BUDGET = 120.0
"""Processor seconds of the rows of a target that are repeated: two minutes on two cores with reading."""


def run(arguments: argparse.Namespace) -> int:
    """Return 0 if nothing failed, 1 if something did."""
    if arguments.list or not arguments.names:
        if arguments.fresh or arguments.dry_run:
            option = "--fresh" if arguments.fresh else "--dry-run"
            raise ValueError(f"{option} needs a name before it: tilted reproduce PEP5 {option}")
        print("\n".join(f"{name:20} {_title(of_name)}" for name, of_name in names.targets_by_name().items()))
        return 0
    if not records.sums(RESULTS):
        raise ValueError("results/ has no records, with which everything is compared: git restore results")
    began, targets = time.monotonic(), names.find(arguments.names)
    studies = {item.study for target in targets for item in target.slices}
    damage = {study: sentences for study in studies if (sentences := damaged(study, RESULTS))}
    frames = {study: study.frame() if study in damage else records.load(study, RESULTS) for study in studies}
    budget = None if arguments.fresh else BUDGET
    samples = [sample.draw(target.slices, frames, budget, arguments.seed) for target in targets]
    _tell("\n".join(f"{t.name}: {t.title}\n{_planned(s)}" for t, s in zip(targets, samples, strict=True)))
    if arguments.dry_run:
        return 0
    folder = files.ensured(_folder(arguments))
    with files.alone(folder):
        source = Source(arguments.mirror, RESULTS)
        progress = folder / PROGRESS
        repeated = repeat(_union(samples), source, arguments.cores, progress)
        receipts = []
        for target, drawn in zip(targets, samples, strict=True):
            wrong = [text for item in target.slices for text in damage.get(item.study, ())]
            receipts.append(
                _receipt(target, drawn, repeated, wrong, arguments.seed, time.monotonic() - began)
            )
            if target.kind == names.FIGURE and not wrong:
                ARTIFACTS[target.paper].draw(names.stem_of(target), RESULTS, folder / "figures")
        paths = receipt.write(receipts, folder)
        progress.unlink(missing_ok=True)
    if arguments.json:
        print(receipt.encoded(receipts), end="")
    else:
        width = shutil.get_terminal_size().columns
        print("\n\n".join("\n".join(item.terminal(width)) for item in receipts))
    _tell(f"Receipt: {paths[1]}, {paths[0]}")
    return 0 if all(item.result != receipt.FAIL for item in receipts) else 1


def _title(targets: Sequence[Target]) -> str:
    return targets[0].title if len(targets) == 1 else ", ".join(target.name for target in targets)


def _planned(drawn: Sample) -> str:
    n = sum(map(len, drawn.rows.values()))
    return f"  repeats {n:,} of {drawn.recorded:,} recorded rows, about {drawn.seconds:.0f} processor seconds"


def _folder(arguments: argparse.Namespace) -> Path:
    """Return the folder of this run: one for each set of names and kind of draw."""
    parts = [*arguments.names, *(["fresh"] if arguments.fresh else [])]
    return Path(arguments.output, "+".join(parts).replace(":", "-").lower()[:80])


def _union(samples: Iterable[Sample]) -> dict[Study, pd.DataFrame]:
    """Return the rows of all samples, each once."""
    import pandas as pd

    frames: dict[Study, list[pd.DataFrame]] = {}
    for drawn in samples:
        for study, rows in drawn.rows.items():
            frames.setdefault(study, []).append(rows)
    joined = {study: pd.concat(parts) for study, parts in frames.items()}
    return {study: rows[~rows.index.duplicated()].sort_index() for study, rows in joined.items()}


def _receipt(
    target: Target, drawn: Sample, repeated: Repeated, damage: list[str], seed: int, wall: float
) -> Receipt:
    pairs = comparison.paired(drawn.rows, repeated, RESULTS)
    committed = comparison.committed_verdicts(target)
    return Receipt(
        target=target,
        sample=drawn,
        pairs=pairs,
        statistics=comparison.statistics(target, pairs) if pairs.recorded else [],
        verdicts=committed if damage else comparison.verdicts(target, RESULTS),
        committed=committed,
        damage=damage,
        missing=repeated.missing,
        seed=seed,
        wall=wall,
    )


def damaged(study: Study, folder: Path) -> list[str]:
    """Return what is wrong with a study's file, with the rows that differ from committed ones."""
    try:
        records.load(study, folder)
    except RecordError as error:
        return [str(error), *_altered(study, folder)]
    return []


def _altered(study: Study, folder: Path) -> list[str]:
    """Return the rows of a file that differ from those in the commit, at most ten."""
    path = folder / study.file
    before = runs.committed(path.relative_to(CHECKOUT)) if path.is_file() else None
    if before is None:
        return []
    try:
        rows = [study.parse(data, path).to_dict("records") for data in (before, path.read_bytes())]
    except RecordError as error:
        return [str(error)]
    had, have = ({study.name_of(row): row for row in side} for side in rows)
    changed = [name for name in {**had, **have} if str(had.get(name)) != str(have.get(name))]
    lines = []
    for name in changed[:10]:
        row, was = have.get(name), had.get(name)
        change = "is missing" if row is None else "is new" if was is None else _changed(was, row)
        lines.append(f"{study.file}: the row {name} {change}")
    return lines


def _changed(was: dict[str, object], row: dict[str, object]) -> str:
    names_changed = [name for name in was if name != RUN and str(was[name]) != str(row[name])]
    return ", ".join(f"has {name} {row[name]}, committed {was[name]}" for name in names_changed)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
