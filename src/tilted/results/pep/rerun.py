"""Do the Power-EP paper's regressions come out the same today? A sample of the records, fitted again.

A search is deterministic, and what it finds is what is recorded, so a fit is repeated as a whole.
``verified.csv`` has a line a fit: it counts while the record is the same and today's source the one it was
rerun with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.data import regression
from tilted.experiments import pep
from tilted.provenance import closure_hash, content_hash
from tilted.results import verified
from tilted.results.pep import records
from tilted.results.pep.forms import REGRESSION
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from tilted.results.stamps import Made

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

FILE = "verified.csv"
TOLERANCE = 1e-6
"""Largest difference: of the NLML in nats, of the scores relatively to the larger of them and 1."""
CHECKED = "a sample"
LARGEST = 20
"""Pseudo-points of a fit that is drawn: those with more take minutes."""


class Check(NamedTuple):
    """One fit, repeated; ``largest_difference`` is infinite where one of the two has failed."""

    dataset: str
    split: int
    alpha: str
    m: int
    start: str
    largest_difference: float
    passed: bool
    record: str
    source: str

    @property
    def fit(self) -> tuple[str, int, str, int, str]:
        """Which one."""
        return self[:5]


def record_hash(line: dict[str, Any]) -> str:
    """Hash of the numbers of a record, as its file has them, without the time it took."""
    numbers = {name: f"{line[name]:.{REGRESSION.digits[name]}g}" for name in REGRESSION.scores}
    return content_hash({**numbers, "evaluations": int(line["evaluations"]), "message": line["message"]})


def sample(frame: pd.DataFrame, fits: int, seed: int) -> pd.DataFrame:
    """So many fits of each data set and power, drawn among those of at most `LARGEST` pseudo-points.

    Raises
    ------
    ValueError
        For less than one.
    """
    if fits < 1:
        raise ValueError(f"need at least one fit, got {fits}")
    small = frame[frame["m"] <= LARGEST]
    rng = np.random.default_rng(seed)
    drawn = [
        rng.choice(part.index, min(fits, len(part)), replace=False)
        for _, part in small.groupby(["dataset", "alpha"], sort=True)
    ]
    return small.loc[sorted(np.concatenate(drawn))] if drawn else small


def check(line: dict[str, Any], parts: Parts) -> Check:
    """Repeat a fit on the training and test parts of its split."""
    alpha = line["alpha"] if line["alpha"] == pep.FULL else float(line["alpha"])
    record = pep.run_cell(parts, line["dataset"], line["split"], alpha, line["m"], start=line["start"])
    today = records.line_of(record)
    largest = 0.0
    for name in REGRESSION.scores:
        a, b = line[name], np.nan if today[name] is None else today[name]
        if np.isfinite(a) or np.isfinite(b):
            scale = 1.0 if name == "nlml" else max(1.0, abs(a))
            gap = abs(a - b) / scale
            largest = max(largest, float(gap) if np.isfinite(gap) else np.inf)
    dataset, split, power, m, start = (line[key] for key in ("dataset", "split", "alpha", "m", "start"))
    stamp = record_hash(line), closure_hash(REGRESSION.module)
    return Check(dataset, split, power, m, start, largest, largest <= TOLERANCE, *stamp)


def verify(
    folder: str | Path,
    fits: int = 1,
    seed: int = 0,
    mirror: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Check]:
    """Repeat a sample of the records of a folder, keep what was found there, and return it.

    Raises
    ------
    RecordError, FileNotFoundError
        Damaged records, or none.
    DataError
        A data set that cannot be had.
    """
    folder = Path(folder)
    found = []
    for name, part in sample(records.read_records(folder / REGRESSION.file), fits, seed).groupby(
        "dataset", sort=False
    ):
        dataset = None if name == pep.SYNTHETIC else regression.load(name, mirror=mirror)
        for line in part.to_dict("records"):
            split = line["split"]
            parts = pep.synthetic_split(split) if dataset is None else regression.parts(dataset, split)
            found.append(check(line, parts))
        differ = sum(not c.passed for c in found if c.dataset == name)
        tell(f"{name}: {len(part)} fits repeated, {differ} differ")
    again = {c.fit for c in found}
    write([*(c for c in read(folder / FILE) if c.fit not in again), *found], folder / FILE)
    return found


def summary_lines(checks: list[Check]) -> list[str]:
    """A line each that differs, and how many were repeated."""
    lines = [
        f"DIFFERS: {REGRESSION.named.format(**check._asdict())}: by {check.largest_difference:.1e}"
        for check in checks
        if not check.passed
    ]
    return [*lines, f"{len(checks)} fits repeated, {len(lines)} differ"]


def write(checks: Iterable[Check], path: str | Path) -> Path:
    """Write checks, sorted, atomically."""
    import pandas as pd

    table = pd.DataFrame(sorted(checks), columns=list(Check._fields))
    table["largest_difference"] = [f"{value:.3g}" for value in table["largest_difference"]]
    table["passed"] = np.where(table["passed"].astype(bool), "yes", "no")
    return write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read(path: str | Path) -> list[Check]:
    """Checks of a file, none if there is none; RecordError if it is damaged."""
    return verified.lines(path, Check._fields, _parsed)


def _parsed(line: dict[str, str]) -> Check:
    if line["passed"] not in ("yes", "no"):
        raise ValueError(f"passed '{line['passed']}'")
    numbers = {"split": int(line["split"]), "m": int(line["m"])}
    gap = {"largest_difference": float(line["largest_difference"]), "passed": line["passed"] == "yes"}
    cells: dict[str, Any] = {**line, **numbers, **gap}
    return Check(**cells)


def made(folder: str | Path, frame: pd.DataFrame) -> list[Made]:
    """By which source the records were made (`records.made`), and which data sets come out the same today.

    These have a check by today's source of a record that still stands, and none that differs.
    """
    today = closure_hash(REGRESSION.module)
    checks = [c for c in read(Path(folder, FILE)) if c.source == today]
    wanted = {c.fit for c in checks}
    lines = [x for x in frame.to_dict("records") if tuple(x[key] for key in Check._fields[:5]) in wanted]
    current = {tuple(x[key] for key in Check._fields[:5]): record_hash(x) for x in lines}
    counting = [c for c in checks if current.get(c.fit) == c.record]
    differing = {c.dataset for c in counting if not c.passed}
    seen = {c.dataset for c in counting} - differing
    return [part._replace(verified=part.what in seen) for part in records.made(folder)]
