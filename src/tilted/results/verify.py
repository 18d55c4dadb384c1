"""Rerun a sample of the committed records with today's code (`rerun`), keep what was found (`verified`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted import data, lookup, protocols
from tilted.data.fetch import MIRROR_VARIABLE
from tilted.experiments import qp
from tilted.results import compact, rerun, runs, verified
from tilted.results.grid import grid, items
from tilted.results.rerun import Bench
from tilted.results.runs import SEED, UNKNOWN, Runs
from tilted.results.verified import BY_SEARCH, DIFFERS, PASSED, REPORTED, Check

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FOLDS = 30
"""Folds drawn of each outcome of a (protocol, data set, method, source)."""
TABLE_POINTS = 2
"""Points at which a lookup table built here measures its own error; the tests do it properly."""


@dataclass(frozen=True)
class Selection:
    """Which records to rerun; None is every one."""

    protocols: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    folds: int | None = FOLDS
    seed: int = 0
    scratch: bool = False

    def chosen(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Lines of the wanted protocols, data sets and methods.

        Raises
        ------
        ValueError
            For a name that no record has, or no folds.
        """
        if self.folds is not None and self.folds < 1:
            raise ValueError(f"need at least one fold, got {self.folds}")
        for column in ("protocol", "dataset", "method"):
            wanted = getattr(self, f"{column}s")
            if wanted is None:
                continue
            unknown = set(wanted) - set(frame[column])
            if unknown:
                known = ", ".join(dict.fromkeys(frame[column]))
                raise ValueError(f"no record of {column} '{sorted(unknown)[0]}'; there are: {known}")
            frame = frame[frame[column].isin(wanted)]
        return frame


@dataclass(frozen=True)
class Verification:
    """Checks done; what could not be checked, each with its reason; what only a search could check."""

    checks: list[Check] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def differing(self) -> list[Check]:
        """Checks that failed."""
        return [check for check in self.checks if check.passed == DIFFERS]


def sample(frame: pd.DataFrame, stamps: Runs, folds: int | None, seed: int) -> pd.DataFrame:
    """Draw folds of each (protocol, data set, method, source, outcome).

    The draw depends on ``seed``, protocol and data set: methods with the same seeds and folds get the same.
    """
    sources = [stamps.seeds.get(key, UNKNOWN)["source"] for key in frame[list(SEED)].itertuples(index=False)]
    drawn = []
    for name, part in frame.assign(source=sources).groupby([*SEED[:3], "source", "outcome"], sort=False):
        part = part.sort_values(["seed", "fold"])
        rng = np.random.default_rng([seed, *" ".join(name[:2]).encode()])
        drawn += part.index[rng.permutation(len(part))[:folds]].tolist()
    return frame.loc[sorted(drawn)]


def verify(
    folder: str | Path,
    selection: Selection,
    mirror: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
    output: str | Path | None = None,
) -> Verification:
    """Rerun a sample of the compact records of a folder; write ``verified.csv`` after each data set.

    Parameters
    ----------
    folder : str or Path
        Compact records.
    selection : Selection
    mirror : str, optional
        Tried first for raw data.
    tell : callable
        Told of each finished (protocol, data set).
    output : str or Path, optional
        The file; by default ``verified.csv`` of the folder. Checks in it that still count are kept.

    Raises
    ------
    ValueError
        Names that no record has, or damaged records (`RecordError`).
    FileNotFoundError
        The folder has no records.
    """
    output = Path(output or Path(folder, verified.FILE))
    files = compact.protocol_files(folder)
    if not files:
        raise FileNotFoundError(f"{folder}: no compact records of a known protocol")
    frame = compact.read_all(files)
    drawn = sample(selection.chosen(frame), runs.read(folder), selection.folds, selection.seed)
    kept = {check.key: check for check in verified.counting(verified.read(output), frame)}
    found = Verification()
    for (protocol, dataset), part in drawn.groupby(["protocol", "dataset"], sort=False):
        every = frame[(frame["protocol"] == protocol) & (frame["dataset"] == dataset)]
        done = _verify_one(part, every, selection.scratch, mirror)
        kept |= {check.key: check for check in done.checks}
        verified.write(kept.values(), output)
        found.checks.extend(done.checks)
        found.missing.extend(done.missing)
        found.skipped.extend(done.skipped)
        tell(f"{protocol} {dataset}: {len(done.checks)} reruns, {len(done.differing)} differ")
    return found


def _verify_one(drawn: pd.DataFrame, every: pd.DataFrame, scratch: bool, mirror: str | None) -> Verification:
    """Rerun drawn records of one data set under one protocol; ``every`` has the records they start from."""
    found = Verification()
    first = drawn.iloc[0]
    name = f"{first['protocol']} {first['dataset']}"
    current = [runs.todays(*key) is not None for key in drawn[list(SEED[:3])].itertuples(index=False)]
    gone = ", ".join(dict.fromkeys(drawn["method"][[not known for known in current]]))
    if gone:
        found.missing.append(f"{name} {gone}: not in today's protocol")
    lines = drawn[current].to_dict("records")
    try:
        bench = _bench(first["protocol"], first["dataset"], lines, every, mirror)
    except data.DataError as error:
        reason, tried, _ = str(error).partition("; tried:")
        remedy = f"; set {MIRROR_VARIABLE} or --mirror to a folder or URL that has it" if tried else ""
        found.missing.append(f"{name}: {reason}{remedy}")
        return found
    for line in lines:
        try:
            checks = rerun.checks(bench, line, scratch)
        except rerun.MissingRecord as error:
            found.missing.append(f"{name} {line['method']}: {error}")
            continue
        found.checks.extend(checks)
        if not checks:
            found.skipped.append(f"{name} {line['method']}")
    return found


def _bench(
    protocol: str, dataset: str, lines: list[dict[str, Any]], every: pd.DataFrame, mirror: str | None
) -> Bench:
    """The data, the records and, if one of the lines needs it, the certified table."""
    variant = protocols.block(protocol, qp.task_of(dataset))["variant"]
    loaded = data.load(dataset, variant, mirror=mirror)
    needed = any(qp.uses_table(protocol, dataset, line["method"]) for line in lines)
    records = {(line["method"], line["seed"], line["fold"]): line for line in every.to_dict("records")}
    return Bench(protocol, loaded, records, lookup.build(points=TABLE_POINTS) if needed else None)


def summary_lines(found: Verification) -> list[str]:
    """What was found, for the terminal: a line a (protocol, method, way), then all that is not well."""
    groups: dict[tuple[str, ...], list[Check]] = {}
    for check in found.checks:
        groups.setdefault((check.protocol, check.method, check.how), []).append(check)
    header = ("Protocol", "Method", "Rerun", "Folds", "Passed", "By search", "Difference", "Evidence", "NTLL")
    rows = [(*name, *_cells(checks)) for name, checks in groups.items()]
    lines = grid(header, "lllrrrrrr", rows) if rows else []
    skipped = ", ".join(dict.fromkeys(found.skipped))
    trouble = [f"DIFFERS: {_named(check)}" for check in found.differing]
    trouble += [f"NOT VERIFIED: {text}" for text in dict.fromkeys(found.missing)]
    trouble += [*_gathered(found.checks, BY_SEARCH), *_gathered(found.checks, REPORTED)]
    trouble += [f"only with --from-scratch: {skipped}"] if skipped else []
    return [*lines, *([""] if lines and trouble else []), *(items(trouble) if trouble else [])]


def _cells(checks: list[Check]) -> tuple[str, ...]:
    """Folds, passed, by search; largest difference, smallest evidence gain, largest NTLL difference."""
    verdicts = [check.passed for check in checks]
    return (
        str(len(checks)),
        str(verdicts.count(PASSED)),
        str(verdicts.count(BY_SEARCH)),
        _extreme(max, [check.largest_difference for check in checks]),
        _extreme(min, [check.evidence_gain for check in checks]),
        _extreme(max, [abs(check.ntll_difference) for check in checks]),
    )


def _extreme(pick: Callable[[list[float]], float], values: Iterable[float]) -> str:
    known = [value for value in values if value == value]
    return f"{pick(known):.1e}" if known else "-"


def _named(check: Check) -> str:
    name = f"{check.protocol} {check.dataset} {check.method} seed {check.seed} fold {check.fold}, {check.how}"
    evidence, ntll = check.evidence_gain, check.ntll_difference
    numbers = f" (evidence {evidence:+.2g}, NTLL {ntll:+.2g})" if evidence == evidence else ""
    return f"{name}: {check.note}{numbers}"


def _gathered(checks: list[Check], verdict: str) -> list[str]:
    """Checks of one verdict, a line a (protocol, data set, method, way); each fold as seed/fold."""
    groups: dict[tuple[str, ...], list[Check]] = {}
    for check in checks:
        if check.passed == verdict:
            groups.setdefault((*check[:3], check.how), []).append(check)
    return [
        f"{verdict}: {' '.join(name)}, seed/fold {' '.join(f'{c.seed}/{c.fold}' for c in part)}"
        for name, part in groups.items()
    ]
