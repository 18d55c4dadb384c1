"""Do EP, QP and VB still give what the records of ground truth say, at the recorded hyperparameters?

Sampling the exact posterior again takes half an hour, inference seconds. ``verified_truth.csv`` has a line
a (data set, method): it counts while the record is the same and today's source is the one it was made with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted import data, protocols
from tilted.experiments import qp, truth
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.provenance import closure_hash, content_hash
from tilted.results import stamps, verified
from tilted.results.published import ROWS
from tilted.results.stamps import Made
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

FILE = "verified_truth.csv"
TOLERANCE = 1e-6
"""Records have 7 digits: differences are relative, of means to the larger of mean and standard deviation, of
log densities to the larger of these and a nat; those of the evidence are in nats."""


class Check(NamedTuple):
    """One method's marginals, test log densities and evidence computed again.

    ``record`` and ``source`` are hashes of the method's numbers and of today's source.
    """

    dataset: str
    method: str
    largest_difference: float
    passed: bool
    record: str
    source: str


def check(record: dict[str, Any], dataset: data.Dataset) -> list[Check]:
    """Compute a record's approximations again, a `Check` a method.

    Raises
    ------
    ArithmeticError
        If a method's inference fails or does not converge.
    """
    kernel = SquaredExponential(**record["hyperparameters"])
    today = truth.approximations(dataset, kernel, record["seed"], record["fold"])
    source = todays(dataset.name)
    found = []
    for method in truth.METHODS:
        recorded = record["methods"][method]
        largest = difference(recorded, today[method])
        name = dataset.name, method, largest, largest <= TOLERANCE
        found.append(Check(*name, content_hash(_numbers(recorded)), source))
    return found


def difference(recorded: dict[str, Any], today: dict[str, Any]) -> float:
    """Largest difference of two approximations, in the units of `TOLERANCE`; infinite if sizes differ."""
    pairs: list[tuple[np.ndarray, Any, np.ndarray | float]] = [
        (np.asarray(recorded["log_evidence"]), today["log_evidence"], 1.0)
    ]
    density = np.asarray(recorded["log_density"])
    pairs.append((density, today["log_density"], np.maximum(1.0, np.abs(density))))
    for part in ("train", "test"):
        mean, variance = (np.asarray(recorded[part][name]) for name in ("mean", "variance"))
        if mean.shape != variance.shape:
            return np.inf
        pairs.append((variance, today[part]["variance"], variance))
        pairs.append((mean, today[part]["mean"], np.maximum(np.abs(mean), np.sqrt(variance))))
    if any(a.shape != np.shape(b) for a, b, _ in pairs):
        return np.inf
    return float(max(np.max(np.abs(a - b) / scale) for a, b, scale in pairs))


def todays(dataset: str) -> str:
    """Hash of the source that would make a record today."""
    return closure_hash(*truth.modules_of(dataset))


def _numbers(recorded: dict[str, Any]) -> dict[str, Any]:
    return {name: recorded[name] for name in ("log_evidence", "train", "test", "log_density")}


def made(records: Iterable[dict[str, Any]], checks: Sequence[Check] = ()) -> list[Made]:
    """By which source each record was made, and whether today's reproduces all its approximations."""
    passed = {(c.dataset, c.method, c.record, c.source) for c in checks if c.passed}
    found = []
    for record in records:
        name, today = record["dataset"], todays(record["dataset"])
        needed = {(name, m, content_hash(_numbers(record["methods"][m])), today) for m in truth.METHODS}
        versions = stamps.environment(record["environment"])
        stamp = record["source"], record.get("date", ""), versions
        found.append(Made("", ROWS[name], *stamp, today, needed <= passed))
    return found


def verify(
    records: Iterable[dict[str, Any]],
    path: str | Path,
    datasets: Iterable[str] | None = None,
    mirror: str | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Check]:
    """Check records (`results.truth.load`), keep what was found in a file, and return it.

    Parameters
    ----------
    records : iterable of dict
    path : str or Path
        Checks in it of other data sets are kept.
    datasets : iterable of str, optional
        Which data sets; all by default.
    mirror : str, optional
        Tried first for raw data.
    tell : callable
        Told of each data set.

    Raises
    ------
    DataError
        Raw data are not to be had.
    ArithmeticError
        As `check`.
    """
    kept = {(c.dataset, c.method): c for c in read(path)}
    found = []
    for record in records:
        name = record["dataset"]
        if datasets is not None and name not in datasets:
            continue
        variant = protocols.block(truth.PROTOCOL, qp.task_of(name))["variant"]
        done = check(record, data.load(name, variant, mirror=mirror))
        kept |= {(c.dataset, c.method): c for c in done}
        write(kept.values(), path)
        found += done
        differing = [f"{c.method} by {c.largest_difference:.1e}" for c in done if not c.passed]
        tell(f"ground truth {name}: {', '.join(differing) or 'no method'} differs")
    return found


def write(checks: Iterable[Check], path: str | Path) -> Path:
    """Write checks in the order of the table, atomically."""
    import pandas as pd

    order = list(ROWS)
    ranked = sorted(checks, key=lambda c: (order.index(c.dataset), truth.METHODS.index(c.method)))
    table = pd.DataFrame(ranked, columns=list(Check._fields))
    return write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.3g"))


def read(path: str | Path) -> list[Check]:
    """Checks of a file (`verified.lines`)."""
    return verified.lines(path, Check._fields, _check)


def _check(line: dict[str, str]) -> Check:
    passed = {"True": True, "False": False}[line["passed"]]
    cells: dict[str, Any] = {
        **line,
        "largest_difference": float(line["largest_difference"]),
        "passed": passed,
    }
    return Check(**cells)
