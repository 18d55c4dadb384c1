"""Compact records of the Power-EP paper's experiments: one line a fit (`forms`), small enough to commit.

Beside each file its provenance says what made it (`tilted.results.runs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments import pep
from tilted.provenance import closure_hash
from tilted.results import compact, runs, stamps, store
from tilted.results.pep.forms import FORMS, REGRESSION, Form
from tilted.results.runs import UNKNOWN, Change, Runs
from tilted.results.store import RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from tilted.results.stamps import Made

OUTCOMES = OK, STOPPED, FAILED = ("ok", "stopped", "failed")


def line_of(record: dict[str, Any], form: Form = REGRESSION) -> dict[str, Any]:
    """Line of a frame from a fit record (``run_cell`` of the experiment)."""
    status = record["status"]
    outcome = FAILED if record["nlml"] is None else OK if status["converged"] else STOPPED
    message = "" if outcome == OK else " ".join(status["message"].removeprefix("failed: ").split())
    line = {name: record.get(name) for name in form.columns}
    made = {"evaluations": status["evaluations"], "outcome": outcome, "message": message}
    return {**line, "alpha": power(record["alpha"]), **made}


def power(alpha: float | str) -> str:
    """A power as the records name it."""
    return alpha if alpha == pep.FULL else f"{alpha:g}"


def frame_of(lines: Iterable[dict[str, Any]], form: Form = REGRESSION) -> pd.DataFrame:
    """Lines as a frame, sorted: data set, variant, m, alpha, split."""
    import pandas as pd

    return ordered(pd.DataFrame(list(lines), columns=list(form.columns)).astype(form.types), form)


def ordered(frame: pd.DataFrame, form: Form = REGRESSION) -> pd.DataFrame:
    """Lines by data set, variant, m, alpha and split, as data sets and variants are listed in the code."""
    ranks = {
        "dataset": {name: k for k, name in enumerate(form.experiment.datasets())}.get,
        form.variant: {name: k for k, name in enumerate(form.variants)}.get,
        "alpha": lambda text: 2.0 if text == pep.FULL else float(text),
    }
    by = ["dataset", form.variant, "m", "alpha", "split"]
    return frame.sort_values(
        by, key=lambda column: column.map(ranks[column.name]) if column.name in ranks else column
    ).reset_index(drop=True)


def read_records(path: str | Path, form: Form = REGRESSION) -> pd.DataFrame:
    """Read compact records.

    Returns
    -------
    pandas.DataFrame
        `Form.columns`; ``alpha`` is text, ``m`` and other counts whole numbers, missing scores NaN.

    Raises
    ------
    RecordError
        The file is damaged, has other columns, two lines of one fit, or a line that contradicts itself.
    FileNotFoundError
        There is no such file.
    """
    frame = compact.parsed(Path(path), form.columns, tuple(form.floats), form.text)
    check(frame, path, form)
    return frame


def write_records(path: str | Path, frame: pd.DataFrame, form: Form = REGRESSION) -> Path:
    """Write compact records, sorted, atomically and byte for byte reproducibly.

    Raises
    ------
    RecordError
        As `read_records`; the file stays as it was.
    """
    return store.write_bytes(path, encode(path, frame, form))


def encode(path: str | Path, frame: pd.DataFrame, form: Form = REGRESSION) -> bytes:
    """What `write_records` writes."""
    check(frame, path, form)
    return compact.packed(ordered(frame, form), form.floats)


def check(frame: pd.DataFrame, where: object, form: Form = REGRESSION) -> None:
    """Refuse a frame whose lines contradict one another or themselves.

    Raises
    ------
    RecordError
        With ``where`` and the first offending line.
    """
    compact.check_columns(frame, form.columns, where)
    failed, full = frame["outcome"] == FAILED, frame["alpha"] == pep.FULL
    scores = frame[list(form.scores)]
    wrongs = (
        (~frame["dataset"].isin(form.experiment.datasets()), "unknown data set"),
        (~frame[form.variant].isin(form.variants), f"unknown {form.variant}"),
        (~full & ~frame["alpha"].map(_is_power), "alpha is no power from 0 to 1"),
        ((frame["m"] == 0) != full, "m does not agree with alpha"),
        ((frame["m"] < 0) | (frame["m"] > frame["n_train"]), "m is no number of pseudo-points"),
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        (np.isfinite(scores).all(axis=1) == failed, "scores do not agree with the outcome"),
        (scores.notna().any(axis=1) & failed, "a failed fit with scores"),
        ((frame["message"] == "") != (frame["outcome"] == OK), "message does not agree with the outcome"),
        (~(frame["seconds"] >= 0), "no processor time"),
        (frame.duplicated(list(form.key)), "two records of one fit"),
    )
    compact.refuse(frame, wrongs, form.named, where)


def _is_power(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return 0 <= value <= 1 and f"{value:g}" == text


def fold_in(
    paths: Iterable[str | Path], folder: str | Path, keep: bool = True, form: Form = REGRESSION
) -> Change:
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
    form : Form

    Raises
    ------
    RecordError
        A damaged file or record; nothing is written then.
    """
    lines, made = _collected(paths, form)
    old, old_runs = _load(folder, form) if keep else (frame_of([], form), Runs())
    had = {_key(line, form): line for line in old.to_dict("records")}
    outdated = {key for key in lines if key in had and made.date(key) < old_runs.date(key)}
    wins = {key: line for key, line in lines.items() if key not in outdated}
    frame = frame_of({**had, **wins}.values(), form)
    merged = Runs(
        {**old_runs.seeds, **{key: made.seeds[key] for key in wins}},
        {**old_runs.environments, **made.environments},
    )
    path = Path(folder, form.file)
    contents = encode(path, frame, form), runs.encode(merged, frame, form.key).encode("utf-8")
    for target, content in zip((path, Path(folder, form.provenance)), contents, strict=True):
        store.write_bytes(target, content)
    replaced, failed = len(wins.keys() & had.keys()), int((frame["outcome"] == FAILED).sum())
    counts = len(wins) - replaced, replaced, len(had) - replaced, len(outdated)
    return Change("fits", *counts, f"{failed} of all failed")


def fold_all(fits: str | Path, folder: str | Path) -> dict[str, Change]:
    """Fold the fit files of all forms (folders of ``fits``) into a folder; what changed, by file."""
    found = {form: list(Path(fits, form.fits).rglob("*.jsonl.gz")) for form in FORMS.values()}
    return {form.file: fold_in(paths, folder, form=form) for form, paths in found.items() if paths}


def _key(line: dict[str, Any], form: Form) -> tuple[Any, ...]:
    return tuple(line[name] for name in form.key)


def _collected(paths: Iterable[str | Path], form: Form) -> tuple[dict[tuple[Any, ...], dict[str, Any]], Runs]:
    """Fit -> its line, and stamps."""
    lines: dict[tuple[Any, ...], dict[str, Any]] = {}
    ages: dict[tuple[Any, ...], tuple[str, int]] = {}
    made = Runs()
    for path in sorted(map(Path, paths)):
        written, seen = path.stat().st_mtime_ns, set()
        for record in store.read_records(path):
            line, stamp = line_of(record, form), record.get("run") or UNKNOWN
            key, age = _key(line, form), (stamp["date"], written)
            if key in seen:
                raise RecordError(f"{path}: {form.named.format(**line)}: two records of one fit")
            seen.add(key)
            if key not in lines or ages[key] <= age:
                lines[key], ages[key] = line, age
                made.add(key, stamp)
    return lines, made


def _load(folder: str | Path, form: Form) -> tuple[pd.DataFrame, Runs]:
    return load(folder, form), runs.read(folder, form.provenance, form.key)


def load(folder: str | Path, form: Form = REGRESSION) -> pd.DataFrame:
    """Compact records of a folder; an empty frame if it has none."""
    path = Path(folder, form.file)
    return read_records(path, form) if path.is_file() else frame_of([], form)


def made(folder: str | Path, form: Form = REGRESSION) -> list[Made]:
    """By which source the records of a folder were made, a part a data set and stamp (`stamps.note`)."""
    found, today = runs.read(folder, form.provenance, form.key), closure_hash(form.module)
    parts: dict[Made, None] = {}
    for (dataset, *_), stamp in found.seeds.items():
        versions = found.environments.get(stamp["environment"])
        where = stamps.environment(versions) if versions else ""
        part = stamps.Made("", dataset, stamp["source"], stamp["date"], where, today)
        parts[part] = None
    return sorted(parts, key=lambda part: form.experiment.datasets().index(part.what))
