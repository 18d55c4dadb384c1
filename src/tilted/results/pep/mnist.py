"""The record of the digits (``mnist.csv``, a line a measurement): folding in, checks, curves, times, ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.data.mnist import NAME
from tilted.experiments.mnist import COLUMNS, FAILED, OK, RUN
from tilted.results import compact, stamps, store, studies
from tilted.results.grid import counted
from tilted.results.runs import Change
from tilted.results.store import RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FILE = studies.DIGITS
DIGITS = {"seconds": 5, "error": 6, "log_likelihood": 7, "energy": 7, "variance": 6, "lengthscale": 6}
"""Significant digits in the file."""

LEVELS = (0.05, 0.03)
"""Shares of errors of which the record says when a training reached them."""


def fold_in(paths: Iterable[str | Path], path: str | Path, keep: bool = True) -> Change:
    """Fold files of measurements, a run each, into the record, which need not exist.

    A run is replaced as a whole, unless the one in the record is of a later day.

    Parameters
    ----------
    paths : iterable of path
        Files of stamped measurements (`experiments.mnist.run`).
    path : path
    keep : bool
        Whether runs of the record that ``paths`` do not replace are kept.

    Raises
    ------
    RecordError
        A damaged file or record; nothing is written then.
    """
    path = Path(path)
    old = read(path) if keep else None
    had = {} if old is None else {run: _plain(part) for run, part in old.groupby(list(RUN), sort=False)}
    new: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for source in sorted(map(Path, paths)):
        for record in store.read_records(source):
            new.setdefault(tuple(record[name] for name in RUN), []).append(_line(record))
    outdated = {run for run in new if run in had and new[run][0]["date"] < had[run][0]["date"]}
    wins = {run: lines for run, lines in new.items() if run not in outdated}
    merged = {**had, **wins}
    store.write_text(path, encode([line for run in merged.values() for line in run], path))
    replaced = len(wins.keys() & had.keys())
    return Change("runs", len(wins) - replaced, replaced, len(had) - replaced, len(outdated))


def _line(record: dict[str, Any]) -> dict[str, Any]:
    stamp = record["run"]
    made = {"source": stamp["source"], "date": stamp["date"]}
    made["environment"] = stamps.environment(stamp["environment"])
    return {**{name: record[name] for name in COLUMNS}, **made}


def _plain(part: pd.DataFrame) -> list[dict[str, Any]]:
    return part.astype(object).where(part.notna(), None).to_dict("records")


def encode(lines: list[dict[str, Any]], where: object) -> str:
    """The record as text, sorted by M, power, seed and step.

    Raises
    ------
    RecordError
        Lines that contradict one another or themselves.
    """
    import pandas as pd

    table = pd.DataFrame(lines, columns=[*COLUMNS, *stamps.COLUMNS])
    counts = dict.fromkeys(("skipped", "refused"), "Int64")
    table = table.astype({"alpha": float} | dict.fromkeys(DIGITS, float) | counts)
    table = table.sort_values(["m", "alpha", "seed", "step"]).reset_index(drop=True)
    check(table, where)
    for name, count in DIGITS.items():
        table[name] = [f"{value:.{count}g}" if value == value else "" for value in table[name]]
    table["alpha"] = [f"{alpha:g}" for alpha in table["alpha"]]
    return table.to_csv(index=False, lineterminator="\n")


def read(path: str | Path) -> pd.DataFrame | None:
    """The record, or None if there is none.

    Raises
    ------
    RecordError
        As `encode`, or for a file that is no such record.
    """
    path = Path(path)
    try:
        table = studies.read(path.parent, FILE)
    except ValueError as error:
        raise RecordError(str(error)) from error
    if table is not None:
        table["message"] = table["message"].astype("str").where(table["message"].notna(), "")
        check(table, path)
    return table


def check(table: pd.DataFrame, where: object) -> None:
    """Refuse (RecordError) a table whose lines contradict one another or themselves."""
    failed, scores = table["outcome"] == FAILED, table[["error", "log_likelihood"]].astype(float)
    alike = table.groupby(list(RUN))[["steps", *stamps.COLUMNS]].transform("nunique", dropna=False)
    wrongs = (
        (table["dataset"] != NAME, "unknown data set"),
        (~table["outcome"].isin((OK, FAILED)), "unknown outcome"),
        (~table["alpha"].between(0, 1), "alpha is no power from 0 to 1"),
        (np.isfinite(scores).all(axis=1) == failed, "scores do not agree with the outcome"),
        ((table["message"] == "") == failed, "message does not agree with the outcome"),
        (~table["error"].isna() & ~table["error"].between(0, 1), "error is no share"),
        (~(table["seconds"] >= 0), "no processor time"),
        (~table["step"].between(0, table["steps"]), "a step beyond the last"),
        (table.duplicated([*RUN, "step"]), "two lines of one measurement"),
        ((alike > 1).any(axis=1), "lines of several runs mixed"),
    )
    compact.refuse(table, wrongs, "alpha {alpha}, m {m}, seed {seed}, step {step}", where)


class End(NamedTuple):
    """What became of the runs of a power and a number of pseudo-points.

    Attributes
    ----------
    alpha : str
    m, steps, n_runs, n_failed : int
        Runs that failed did not get to their last measurement, or not with numbers; the scores are of the
        others.
    seconds, error, log_likelihood : arrays [runs that did not fail]
        At the last measurement, by seed.
    reached : dict
        Level of `LEVELS` -> seconds [runs that reached it] until the first measurement at or below it.
    skipped, refused : int
        Of all runs together, at their last measurement that has them.
    """

    alpha: str
    m: int
    steps: int
    n_runs: int
    n_failed: int
    seconds: np.ndarray
    error: np.ndarray
    log_likelihood: np.ndarray
    reached: dict[float, np.ndarray]
    skipped: int
    refused: int


def power(alpha: float) -> str:
    """A power as text."""
    return f"{alpha:g}"


def ends(table: pd.DataFrame) -> Iterator[End]:
    """What became of all runs, by M and power; runs of another length apart."""
    for (m, alpha, steps), part in table.groupby(["m", "alpha", "steps"]):
        groups = [run.sort_values("step") for _, run in part.groupby("seed")]
        last = [run.iloc[-1] for run in groups]
        done = [line for line in last if line["step"] == steps and line["outcome"] == OK]
        seconds, error, log_likelihood = (
            np.array([line[name] for line in done]) for name in ("seconds", "error", "log_likelihood")
        )
        reached = {level: _first(groups, level) for level in LEVELS}
        skipped, refused = (int(sum(run[name].max() for run in groups if run[name].notna().any()))
                            for name in ("skipped", "refused"))  # fmt: skip
        number = len(groups), len(groups) - len(done)
        yield End(power(alpha), int(m), int(steps), *number, seconds, error, log_likelihood, reached,
                  skipped, refused)  # fmt: skip


def _first(runs: list[pd.DataFrame], level: float) -> np.ndarray:
    below = [run[run["error"] <= level] for run in runs]
    return np.array([run["seconds"].iloc[0] for run in below if len(run)])


def curve(table: pd.DataFrame, score: str) -> pd.DataFrame:
    """Mean seconds and score a step, over the seeds that have all of them at this step.

    Parameters
    ----------
    table : pandas.DataFrame
        Runs of one power, M and length.
    score : str
        A column.
    """
    seeds = table["seed"].nunique()
    groups = table[table["outcome"] == OK].groupby("step")[["seconds", score]]
    return groups.mean()[groups.size() == seeds]


def covered(table: pd.DataFrame) -> str:
    """What the record covers, a sentence without a full stop."""
    runs = table.drop_duplicates(list(RUN))
    parts = []
    for (m, steps), part in runs.groupby(["m", "steps"]):
        powers = ", ".join(
            f"{power(a)} ({counted(n, 'run')})" for a, n in part.groupby("alpha").size().items()
        )
        parts.append(f"M = {m}, {steps} steps: α = {powers}")
    failed = sum(end.n_failed for end in ends(table))
    return f"{'; '.join(parts)}; {failed} failed"
