"""Compact records of the Power-EP paper's regressions: one line a fit, small enough to commit.

``dataset, split, alpha, m, start``
    which fit: "synthetic" (split is the number of the drawn set) or a regression set; the power as text,
    "full" for exact regression, whose m is 0; where the search started (`tilted.experiments.pep.STARTS`);
``nlml, smse, smll``
    the negative log evidence that was minimised, and the scores, of standardised targets; empty if failed;
``evaluations, outcome, message, seconds``
    ``ok``, ``stopped`` (numbers, but the search did not converge) or ``failed`` (no numbers), why, and
    processor seconds.

Beside them ``provenance.json`` says what made them (`tilted.results.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import pep
from tilted.provenance import closure_hash
from tilted.results import compact, runs, stamps, store
from tilted.results.runs import UNKNOWN, Change, Runs
from tilted.results.store import RecordError

if TYPE_CHECKING:
    import pandas as pd

    from tilted.results.stamps import Made

FILE = "regression.csv.gz"
KEY = ("dataset", "alpha", "m", "start", "split")
NAMED = "{dataset} split {split}, alpha {alpha}, m {m}, {start}"
SCORES = ("nlml", "smse", "smll")
COLUMNS = (
    "dataset", "split", "alpha", "m", "start", "n_train", "n_test", *SCORES,
    "evaluations", "outcome", "message", "seconds",
)  # fmt: skip
TEXT = ("dataset", "alpha", "start", "outcome", "message")
DIGITS = {"nlml": 12, "smse": 10, "smll": 10, "seconds": 3}
"""Significant digits in the file."""

OUTCOMES = OK, STOPPED, FAILED = ("ok", "stopped", "failed")
TYPES = dict.fromkeys(COLUMNS, "int64") | dict.fromkeys(DIGITS, "float64") | dict.fromkeys(TEXT, "str")
MODULE = "tilted.experiments.pep"


def line_of(record: dict) -> dict:
    """Line of a frame from a fit record (`tilted.experiments.pep.run_cell`)."""
    status = record["status"]
    outcome = FAILED if record["nlml"] is None else OK if status["converged"] else STOPPED
    message = "" if outcome == OK else " ".join(status["message"].removeprefix("failed: ").split())
    line = {name: record.get(name) for name in COLUMNS}
    made = {"evaluations": status["evaluations"], "outcome": outcome, "message": message}
    return {**line, "alpha": power(record["alpha"]), **made}


def power(alpha: float | str) -> str:
    """A power as the records name it."""
    return alpha if alpha == pep.FULL else f"{alpha:g}"


def frame_of(lines: Iterable[dict]) -> pd.DataFrame:
    """Lines as a frame, sorted: data set, start, m, alpha, split."""
    import pandas as pd

    return ordered(pd.DataFrame(list(lines), columns=list(COLUMNS)).astype(TYPES))


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Lines by data set, start, m, alpha and split, as data sets and starts are listed in the code."""
    ranks = {
        "dataset": {name: k for k, name in enumerate(pep.datasets())}.get,
        "start": {name: k for k, name in enumerate(pep.STARTS)}.get,
        "alpha": lambda text: 2.0 if text == pep.FULL else float(text),
    }
    by = ["dataset", "start", "m", "alpha", "split"]
    return frame.sort_values(
        by, key=lambda column: column.map(ranks[column.name]) if column.name in ranks else column
    ).reset_index(drop=True)


def read_records(path: str | Path) -> pd.DataFrame:
    """Read compact records.

    Returns
    -------
    pandas.DataFrame
        `COLUMNS`; ``alpha`` is text, ``m`` and other counts whole numbers, missing scores NaN.

    Raises
    ------
    RecordError
        The file is damaged, has other columns, two lines of one fit, or a line that contradicts itself.
    FileNotFoundError
        There is no such file.
    """
    frame = compact.parsed(Path(path), COLUMNS, tuple(DIGITS), TEXT)
    check(frame, path)
    return frame


def write_records(path: str | Path, frame: pd.DataFrame) -> Path:
    """Write compact records, sorted, atomically and byte for byte reproducibly.

    Raises
    ------
    RecordError
        As `read_records`; the file stays as it was.
    """
    return store.write_bytes(path, encode(path, frame))


def encode(path: str | Path, frame: pd.DataFrame) -> bytes:
    """What `write_records` writes."""
    check(frame, path)
    return compact.packed(ordered(frame), DIGITS)


def check(frame: pd.DataFrame, where: object) -> None:
    """Refuse a frame whose lines contradict one another or themselves.

    Raises
    ------
    RecordError
        With ``where`` and the first offending line.
    """
    compact.check_columns(frame, COLUMNS, where)
    failed, full = frame["outcome"] == FAILED, frame["alpha"] == pep.FULL
    scores = frame[list(SCORES)]
    wrongs = (
        (~frame["dataset"].isin(pep.datasets()), "unknown data set"),
        (~frame["start"].isin(list(pep.STARTS)), "unknown start"),
        (~full & ~frame["alpha"].map(_is_power), "alpha is no power from 0 to 1"),
        ((frame["m"] == 0) != full, "m does not agree with alpha"),
        ((frame["m"] < 0) | (frame["m"] > frame["n_train"]), "m is no number of pseudo-points"),
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        (np.isfinite(scores).all(axis=1) == failed, "scores do not agree with the outcome"),
        (scores.notna().any(axis=1) & failed, "a failed fit with scores"),
        ((frame["message"] == "") != (frame["outcome"] == OK), "message does not agree with the outcome"),
        (~(frame["seconds"] >= 0), "no processor time"),
        (frame.duplicated(list(KEY)), "two records of one fit"),
    )
    compact.refuse(frame, wrongs, NAMED, where)


def _is_power(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return 0 <= value <= 1 and f"{value:g}" == text


def fold_in(paths: Iterable[str | Path], folder: str | Path, keep: bool = True) -> Change:
    """Fold fit files into the compact records of a folder, which need not exist.

    Of two runs of a fit the one of the later day is kept; of the same day, the one of the later file, and a
    file rather than the record.

    Parameters
    ----------
    paths : iterable of path
        Files of stamped records (`store.write_records`).
    folder : path
    keep : bool
        Whether records of the folder that ``paths`` do not replace are kept.

    Raises
    ------
    RecordError
        A damaged file or record; nothing is written then.
    """
    lines, made = _collected(paths)
    old, old_runs = _load(folder) if keep else (frame_of([]), Runs())
    had = {_key(line): line for line in old.to_dict("records")}
    outdated = {key for key in lines if key in had and made.date(key) < old_runs.date(key)}
    wins = {key: line for key, line in lines.items() if key not in outdated}
    frame = frame_of({**had, **wins}.values())
    merged = Runs(
        {**old_runs.seeds, **{key: made.seeds[key] for key in wins}},
        {**old_runs.environments, **made.environments},
    )
    path = Path(folder, FILE)
    contents = encode(path, frame), runs.encode(merged, frame, KEY).encode("utf-8")
    for target, content in zip((path, Path(folder, runs.FILE)), contents, strict=True):
        store.write_bytes(target, content)
    replaced, failed = len(wins.keys() & had.keys()), int((frame["outcome"] == FAILED).sum())
    counts = len(wins) - replaced, replaced, len(had) - replaced, len(outdated)
    return Change("fits", *counts, f"{failed} of all failed")


def _key(line: dict) -> tuple:
    return tuple(line[name] for name in KEY)


def _collected(paths: Iterable[str | Path]) -> tuple[dict[tuple, dict], Runs]:
    """Fit -> its line, and stamps."""
    lines: dict[tuple, dict] = {}
    made, ages = Runs(), {}
    for path in sorted(map(Path, paths)):
        written, seen = path.stat().st_mtime_ns, set()
        for record in store.read_records(path):
            line, stamp = line_of(record), record.get("run") or UNKNOWN
            key, age = _key(line), (stamp["date"], written)
            if key in seen:
                raise RecordError(f"{path}: {NAMED.format(**line)}: two records of one fit")
            seen.add(key)
            if key not in lines or ages[key] <= age:
                lines[key], ages[key] = line, age
                made.add(key, stamp)
    return lines, made


def _load(folder: str | Path) -> tuple[pd.DataFrame, Runs]:
    path = Path(folder, FILE)
    if not path.is_file():
        return frame_of([]), Runs()
    return read_records(path), runs.read(folder, key=KEY)


def made(folder: str | Path) -> list[Made]:
    """By which source the records of a folder were made, a part a data set and stamp (`stamps.note`)."""
    found, today = runs.read(folder, key=KEY), closure_hash(MODULE)
    parts = {}
    for (dataset, *_), stamp in found.seeds.items():
        versions = found.environments.get(stamp["environment"])
        where = stamps.environment(versions) if versions else ""
        part = stamps.Made("", dataset, stamp["source"], stamp["date"], where, today)
        parts[part] = None
    return sorted(parts, key=lambda part: pep.datasets().index(part.what))
