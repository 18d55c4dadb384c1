"""Records of ground truth, a JSON file for each split: read with checksums, folded in, repeated in part.

Sampling the exact posterior takes half an hour, inference takes seconds. `again` therefore repeats only EP,
QP and VB, at the recorded hyperparameters, one row for each method.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.study import RUN
from papers.evidence import files, records, runs, store
from papers.evidence.merge import stamp_of
from papers.evidence.runs import Run
from papers.evidence.store import RecordError
from papers.evidence.verification.outcome import FIXED, outcome_of
from papers.qp import fits
from papers.qp.published import FOLDS, ROWS, truth_file
from papers.qp.rerun import loaded
from papers.qp.truth.experiment import DIGITS, METHODS, PROTOCOL, approximations

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.evidence.verification.outcome import Context
    from papers.qp.rerun import Made

FOLDER, SUFFIX = "qp/truth", ".json.gz"
TOLERANCE = 1e-6
"""Differences beyond a unit of the last digit are relative: of means to the larger of mean and standard
deviation, of log densities to the larger of these and a nat; those of the evidence are in nats."""


def read(folder: str | Path) -> list[dict[str, Any]]:
    """Read the records of ground truth in a folder, in the order of the paper's table.

    Raises
    ------
    RecordError
        A damaged file, one with the record of another data set, or of a run that is not its own; it is named.
    """
    files.finished(folder)
    runs = records.read_runs(folder)
    names = [f"{FOLDER}/{truth_file(name, split)}" for name in ROWS for split in range(FOLDS)]
    present = {f"{FOLDER}/{path.name}" for path in Path(folder, FOLDER).glob(f"*{SUFFIX}")}
    listed = records.sums(folder)
    present |= {name for name in listed if name.startswith(f"{FOLDER}/")}
    strange = sorted(present.difference(names))
    if strange:
        raise RecordError(f"{Path(folder, strange[0])}: no data set of the paper's table, or no split of it")
    contents = {name: records.content_if_any(folder, name, listed) for name in names if name in present}
    return [
        _record(Path(folder, name), name, data, runs) for name, data in contents.items() if data is not None
    ]


def _record(path: Path, name: str, data: bytes, known: Mapping[str, Run]) -> dict[str, Any]:
    record = _single(store.decoded(data, path), path)
    run = known.get(record[RUN])
    if run is None or run.study != name:
        raise RecordError(f"{path}: run '{record[RUN]}' is {f'of {run.study}' if run else 'not known'}")
    return record


def _single(content: list[dict[str, Any]], path: Path) -> dict[str, Any]:
    """Return the only record of a file, whose name must state its split; `RecordError` names the file."""
    if len(content) != 1:
        raise RecordError(f"{path}: {len(content)} records of ground truth")
    record = content[0]
    name = f"{record.get('dataset')} {record.get('protocol')}"
    if record.get("protocol") != PROTOCOL or path.name != truth_file(record["dataset"], split_of(record)):
        raise RecordError(f"{path}: the record of {name} does not belong here")
    return record


def split_of(record: Mapping[str, Any]) -> int:
    """Return the number of a record's split: the fold of seed 0, or the seed if there are no folds."""
    return int(record["seed"] + record["fold"])


def lines(folder: str | Path) -> pd.DataFrame:
    """Return a row for each (data set, split, method), with the run of its record."""
    import pandas as pd

    listed = [
        (record["dataset"], str(split_of(record)), method, record[RUN])
        for record in read(folder)
        for method in METHODS
    ]
    return pd.DataFrame(listed, columns=["dataset", "split", "method", RUN])


def fold_in(paths: Iterable[str | Path], folder: str | Path) -> list[str]:
    """Fold files of one record each (`truth_file`) into a folder of records; return the names of new ones.

    A record of an earlier day than the recorded one is skipped.

    Raises
    ------
    RecordError
        A damaged file, or one with the record of another data set; nothing is written then.
    """
    by_path = {}
    for path in map(Path, paths):
        by_path[path] = _single(store.read_records(path), path)
    contents, fresh = {}, []
    with files.alone(folder):
        runs = records.read_runs(folder)
        had = {run.study: run for run in runs.values()}
        for path, record in by_path.items():
            name, stamp = f"{FOLDER}/{path.name}", stamp_of(record, path)
            old = had.get(name)
            run = _run(name, stamp, record)._replace(replaced=int(old is not None))
            if run.run not in runs and (old is None or run.date >= old.date):
                contents[name] = store.encoded([{**record, RUN: run.run}], path)
                fresh.append(run)
        records.save(folder, {}, fresh, contents)
    return list(contents)


def _run(name: str, stamp: Mapping[str, str], record: Mapping[str, Any]) -> Run:
    identity = runs.content_hash([name, [stamp[field] for field in runs.STAMP], record])[:8]
    seconds = sum(record["truth"]["seconds"].values())
    commit, version, protocol, environment, date = (stamp[field] for field in runs.STAMP)
    return Run(f"{date}-{identity}", name, commit, version, protocol, environment, date, seconds, 1)


def again(lines: pd.DataFrame, context: Context) -> Made:
    """Repeat approximations of one data set (`papers.evidence.verification.outcome.Again`)."""
    recorded = {(record["dataset"], str(split_of(record))): record for record in read(context.folder)}
    today: dict[tuple[str, str], dict[str, Any]] = {}
    for line in lines.to_dict("records"):
        of, method = (line["dataset"], line["split"]), line["method"]
        record = recorded[of]
        if of not in today:
            kernel = fits.kernel_at(record["hyperparameters"])
            dataset = loaded(line["dataset"], PROTOCOL, context.mirror)
            today[of] = approximations(dataset, kernel, record["seed"], record["fold"])
        compared = differences(record["methods"][method], today[of][method])
        yield line, [outcome_of(FIXED, compared, TOLERANCE)]


def differences(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> dict[str, float]:
    """Return the largest differences of two approximations in `TOLERANCE` units; infinite if sizes differ."""
    density = np.asarray(recorded["log_density"])
    largest = {
        "log_evidence": abs(made["log_evidence"] - recorded["log_evidence"]),
        "log_density": _largest(density, made["log_density"], np.maximum(1.0, np.abs(density))),
    }
    for half in ("train", "test"):
        mean, variance = (np.asarray(recorded[half][name]) for name in ("mean", "variance"))
        scale = np.maximum(np.abs(mean), np.sqrt(variance)) if mean.shape == variance.shape else mean
        largest[f"{half} variance"] = _largest(variance, made[half]["variance"], variance)
        largest[f"{half} mean"] = _largest(mean, made[half]["mean"], scale)
    return largest


def _largest(recorded: np.ndarray, made: list[float], scale: np.ndarray) -> float:
    if recorded.shape != np.shape(made) or recorded.shape != scale.shape:
        return np.inf
    last_digit = 10.0 ** (np.floor(np.log10(np.maximum(np.abs(recorded), 1e-300))) - DIGITS + 1)
    return float(np.max(np.maximum(0.0, np.abs(recorded - made) - last_digit) / scale))
