"""What `verify` found, a line a rerun fold (``verified.csv``), and which of it still counts.

A line is evidence about one record and one source: it counts while the record is the same (``record``, a hash
of its numbers) and today's source and protocol are those it was rerun with (``source``, ``choices``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilted.provenance import content_hash
from tilted.results import compact, runs
from tilted.results.store import RecordError, write_text

if TYPE_CHECKING:
    from typing import Any, TypeVar

    import pandas as pd

    Line = TypeVar("Line")

FILE = "verified.csv"
HOWS = FIXED, SCRATCH = ("fixed", "scratch")
"""At the recorded hyperparameters; with the whole search."""
VERDICTS = PASSED, BY_SEARCH, DIFFERS, REPORTED = ("yes", "by search", "no", "reported")
DIFFERENCES = ("largest_difference", "evidence_gain", "ntll_difference")


class Check(NamedTuple):
    """One fold rerun.

    Attributes
    ----------
    protocol, dataset, method, seed, fold
        Which record.
    how : str
        One of `HOWS`.
    largest_difference : float
        Largest absolute difference of the recorded numbers (of hyperparameters, after a search: relative).
    evidence_gain, ntll_difference : float
        Today's minus recorded, nats; NaN for a failed fit, like the largest difference.
    passed : str
        ``yes``; ``by search``: inference at the recorded hyperparameters ends elsewhere, the whole search
        reproduces the record; ``no``; ``reported``: chaotic (``vb-joint``), another result is no failure.
    note : str
        Why not ``yes``; of a failed fit, that it fails again.
    record, source, choices : str
        Hashes of the recorded numbers, and of today's source and protocol.
    """

    protocol: str
    dataset: str
    method: str
    seed: int
    fold: int
    how: str
    largest_difference: float
    evidence_gain: float
    ntll_difference: float
    passed: str
    note: str
    record: str
    source: str
    choices: str

    @property
    def key(self) -> tuple[str, str, str, int, int, str]:
        """What a later check replaces."""
        return self[:6]


def record_hash(line: dict[str, Any]) -> str:
    """Hash of the numbers of a compact record, as the file has them, without the time it took."""
    shown = {name: line[name] for name in compact.COLUMNS if name != "seconds"}
    shown |= {name: f"{line[name]:.{digits}g}" for name, digits in compact.DIGITS.items() if name in shown}
    return content_hash({name: str(value) for name, value in shown.items()})


def write(checks: Iterable[Check], path: str | Path) -> Path:
    """Write checks in the order of the table, atomically."""
    import pandas as pd

    table = pd.DataFrame(sorted(checks, key=lambda check: check.key), columns=list(Check._fields))
    table = compact.ordered(table)
    for name in DIFFERENCES:
        table[name] = [f"{value:.3g}" if math.isfinite(value) else "" for value in table[name]]
    return write_text(path, table.to_csv(index=False, lineterminator="\n"))


def read(path: str | Path) -> list[Check]:
    """Checks of a file (`lines`)."""
    return lines(path, Check._fields, _check)


def lines(path: str | Path, columns: Sequence[str], parse: Callable[[dict[str, str]], Line]) -> list[Line]:
    """Lines of a CSV file, each parsed from its cells by column; none if there is no such file.

    Raises
    ------
    RecordError
        The file has other columns, or a line cannot be parsed; the message names it.
    """
    import pandas as pd

    if not Path(path).is_file():
        return []
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        if tuple(table.columns) != tuple(columns):
            raise ValueError(f"columns {list(table.columns)} are not {list(columns)}")
        return [parse(line) for line in table.to_dict("records")]
    except (KeyError, ValueError) as error:
        raise RecordError(f"{path}: damaged ({error})") from error


def _check(line: dict[str, str]) -> Check:
    if line["how"] not in HOWS or line["passed"] not in VERDICTS:
        raise ValueError(f"how '{line['how']}', passed '{line['passed']}'")
    numbers = {name: float(line[name] or "nan") for name in DIFFERENCES}
    cells: dict[str, Any] = {**line, **numbers, "seed": int(line["seed"]), "fold": int(line["fold"])}
    return Check(**cells)


def counting(checks: Iterable[Check], frame: pd.DataFrame) -> list[Check]:
    """Checks of records that a frame still has, by today's source and protocol."""
    wanted = {check[:5]: None for check in checks}
    lines = frame[[key in wanted for key in _keys(frame)]]
    current = dict(zip(_keys(lines), map(record_hash, lines.to_dict("records")), strict=True))
    return [
        check
        for check in checks
        if current.get(check[:5]) == check.record
        and runs.todays(check.protocol, check.dataset, check.method) == (check.source, check.choices)
    ]


def _keys(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(zip(*(frame[name].tolist() for name in ("protocol", *compact.KEY)), strict=True))
