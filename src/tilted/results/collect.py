"""Fit records to compact records, and new fits into the compact records already there.

The runs of a paper take many hours, over days and on several machines, and their full records
(``data/fits``) stay on the machine that made them. So a folder of compact records grows: `fold_in`
replaces, seed by seed of each (protocol, data set, method), what was run again, and keeps the rest.
Of two runs of a seed the one of the later day is kept; of the same day, the fit at hand.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import compact, pairs, runs, store
from tilted.results.compact import FAILED, MAIN, MOVED, OK, SINGLE_FOLD, UNCONVERGED
from tilted.results.runs import SEED

if TYPE_CHECKING:
    import pandas as pd

FIGURE_SEEDS = 5
"""Seeds whose predictive variances are kept point by point (coal: every seed)."""

EMPTY_PAIR = {"pair": ""} | dict.fromkeys(compact.PAIR[1:])


@dataclass(frozen=True)
class Collected:
    """Compact records of fits: a frame, matched variances (`compact.VARIANCE_COLUMNS`), stamps."""

    frame: pd.DataFrame
    variances: pd.DataFrame
    runs: runs.Runs


@dataclass(frozen=True)
class Change:
    """What `fold_in` did, in seeds of (protocol, data set, method)."""

    added: int
    replaced: int
    kept: int
    outdated: int
    unpaired: int

    def __str__(self) -> str:
        text = f"{self.added} seeds added, {self.replaced} replaced, {self.kept} kept"
        if self.outdated:
            text += f"; {self.outdated} seeds of older runs than the records' were passed over"
        if self.unpaired:
            text += f"; {self.unpaired} QP fits lost their EP partner and have no pair now"
        return text


def collect(paths: Iterable[str | Path]) -> Collected:
    """Compact records of fit files ``.../<protocol>/<dataset>/<block>.jsonl.gz``.

    One data set of one protocol is in memory at a time, and of its test points only the variances.

    Raises
    ------
    RecordError
        A damaged file, two records of one fit, or predictive variances that do not match.
    """
    import pandas as pd

    found, frames, points = runs.Runs(), [], []
    for _, files in itertools.groupby(sorted(map(Path, paths)), key=lambda path: path.parent):
        lines, fits = _read_dataset(files, found)
        for (protocol, dataset, seed, fold), methods in fits.items():
            if "qp" in methods:
                where = (protocol, dataset, seed, fold)
                lines[*where, "qp"] |= _pair(where, methods, points)
        frames.append(pd.DataFrame(list(lines.values()), columns=["protocol", *compact.COLUMNS]))
    return Collected(_typed(frames), _variance_frame(points), found)


def fold_in(paths: Iterable[str | Path], folder: str | Path) -> Change:
    """Fold fit files into the compact records of a folder, which need not exist.

    Writes ``<protocol>.csv.gz`` for every protocol, ``variances.csv.gz`` and ``provenance.json``.
    Folding the same fits in twice changes nothing.

    Raises
    ------
    RecordError
        As `collect` and `compact.read`; nothing is written then.
    """
    import pandas as pd

    folder = Path(folder)
    old, new = load(folder), collect(paths)
    outdated = {key for key, stamp in new.runs.seeds.items() if stamp["date"] < old.runs.date(key)}
    wins = new.runs.seeds.keys() - outdated
    has_old = set(_keys(old.frame, SEED))
    kept = _rows(old.frame, has_old - wins)
    frame = pd.concat([kept, _rows(new.frame, wins)], ignore_index=True)
    frame, unpaired = _without_broken_pairs(frame, wins)
    whole = runs.Runs(
        {**old.runs.seeds, **{key: new.runs.seeds[key] for key in wins}},
        {**old.runs.environments, **new.runs.environments},
    )
    variances = pd.concat(
        [
            _sound_variances(old.variances, frame, wins, from_new=False),
            _sound_variances(new.variances, frame, wins, from_new=True),
        ],
        ignore_index=True,
    )
    save(Collected(frame, variances, whole), folder)
    replaced = len(has_old & wins)
    return Change(len(wins) - replaced, replaced, len(has_old - wins), len(outdated), unpaired)


def load(folder: str | Path) -> Collected:
    """The compact records of a folder; empty if there are none."""
    folder = Path(folder)
    frames = [compact.read(path) for path in compact.protocol_files(folder)]
    path = folder / f"{compact.VARIANCES}{compact.SUFFIX}"
    variances = compact.read_variances(path) if path.is_file() else _variance_frame([])
    return Collected(_typed(frames), variances, runs.read(folder))


def save(records: Collected, folder: str | Path) -> None:
    """Write compact records into a folder, the provenance last."""
    folder = Path(folder)
    frame = compact.ordered(records.frame)
    for protocol, part in frame.groupby("protocol", sort=False):
        compact.write(part, folder / f"{protocol}{compact.SUFFIX}")
    compact.write_variances(records.variances, folder / f"{compact.VARIANCES}{compact.SUFFIX}")
    runs.write(records.runs, frame, folder)


def _read_dataset(files: Iterable[Path], found: runs.Runs) -> tuple[dict, dict]:
    """Lines by (protocol, dataset, seed, fold, method), and fits by the same without method."""
    lines: dict[tuple, dict] = {}
    fits: dict[tuple, dict[str, pairs.Fit]] = {}
    origin: dict[tuple, Path] = {}
    for path in files:
        for record in store.read_records(path):
            where = tuple(record[name] for name in ("protocol", "dataset", "seed", "fold"))
            key = (*where, record["method"])
            if key in lines:
                name = " ".join(map(str, key))
                raise store.RecordError(f"{path}: {name}: two records of one fit (also in {origin[key]})")
            lines[key], origin[key] = _line(record), path
            found.add(record)
            if record["method"] in (*pairs.EP_METHODS, "qp") and record["latent_variance"] is not None:
                variances = np.asarray(record["latent_variance"], dtype=float)
                fits.setdefault(where, {})[record["method"]] = pairs.Fit(record["hyperparameters"], variances)
    return lines, fits


def _line(record: dict) -> dict:
    """Line of a compact file, ``protocol`` first; a pair is filled in later."""
    status, kernel = record["status"], record["hyperparameters"] or {}
    failed = record["test_error"] is None or record["ntll"] is None
    outcome = FAILED if failed else OK if status["converged"] else UNCONVERGED
    message = " ".join(str(status.get("message") or "no reason given").split())
    scales = np.atleast_1d(kernel.get("lengthscale", ()))
    return {
        **{name: record[name] for name in ("protocol", *compact.KEY, "n_train", "n_test")},
        "outcome": outcome,
        "reason": "" if outcome == OK else message,
        **{name: status[name] for name in compact.COUNTS[2:]},
        "variance": kernel.get("variance"),
        "lengthscale": ":".join(f"{scale:.12g}" for scale in scales),
        **{name: record[name] for name in ("log_evidence", "test_error", "ntll", "seconds")},
        **EMPTY_PAIR,
    }


def _pair(where: tuple, fits: dict[str, pairs.Fit], points: list) -> dict:
    """Pair columns of a QP line; its variances are added to ``points`` if the figures draw them."""
    _, dataset, seed, _ = where
    name = " ".join(map(str, where))
    drawn = dataset in SINGLE_FOLD or seed < FIGURE_SEEDS
    if drawn and pairs.has_moved(dataset, fits):
        points.append((where, MOVED, *pairs.matched(fits["ep"], fits["qp"], name)))
    method = pairs.reference(dataset, fits)
    if not method:
        return {}
    ep, qp = pairs.matched(fits[method], fits["qp"], name)
    if drawn:
        points.append((where, MAIN, ep, qp))
    return {"pair": method, **pairs.comparison(ep, qp)}


def _typed(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames of collected or read lines as one, with the types of a read one."""
    import pandas as pd

    empty = pd.DataFrame(columns=["protocol", *compact.COLUMNS])
    typed = [frame.astype(compact.TYPES) for frame in frames]
    return pd.concat(typed, ignore_index=True) if typed else empty.astype(compact.TYPES)


def _variance_frame(points: list) -> pd.DataFrame:
    import pandas as pd

    parts = [
        pd.DataFrame(dict(zip(compact.VARIANCE_COLUMNS, (*where, reference, ep, qp), strict=True)))
        for where, reference, ep, qp in points
    ]
    empty = pd.DataFrame(columns=list(compact.VARIANCE_COLUMNS))
    return (pd.concat(parts, ignore_index=True) if parts else empty).astype(compact.VARIANCE_TYPES)


def _sound_variances(
    variances: pd.DataFrame, frame: pd.DataFrame, new: set[tuple], from_new: bool
) -> pd.DataFrame:
    """Variances whose QP fit, and its EP fit, are those of the merged frame."""
    present = set(_keys(frame, SEED))
    paired = set(_keys(frame[frame["pair"] != ""], ("protocol", "dataset", "seed", "fold")))

    def is_sound(protocol, dataset, seed, fold, reference) -> bool:
        qp, ep = ((protocol, dataset, method, seed) for method in ("qp", "ep"))
        if qp not in present or (qp in new) != from_new:
            return False
        if reference == MAIN:
            return (protocol, dataset, seed, fold) in paired
        return _together(qp, ep, present, new)

    return variances[[is_sound(*key) for key in _keys(variances, compact.VARIANCE_COLUMNS[:5])]]


def _without_broken_pairs(frame: pd.DataFrame, new: set[tuple]) -> tuple[pd.DataFrame, int]:
    """Empty the pair of QP lines whose EP record is of another origin or absent; and their number."""
    present = set(_keys(frame, SEED))
    qp = frame[frame["pair"] != ""]
    broken = [
        index
        for index, key, pair in zip(qp.index, _keys(qp, SEED), qp["pair"], strict=True)
        if not _together(key, (key[0], key[1], pair, key[3]), present, new)
    ]
    frame = frame.copy()
    for name, value in EMPTY_PAIR.items():
        frame.loc[broken, name] = value
    return frame, len(broken)


def _together(first: tuple, second: tuple, present: set, new: set) -> bool:
    return {first, second} <= present and (first in new) == (second in new)


def _keys(frame: pd.DataFrame, names: Iterable[str]) -> list[tuple]:
    return list(zip(*(frame[name].tolist() for name in names), strict=True))


def _rows(frame: pd.DataFrame, wanted: set[tuple]) -> pd.DataFrame:
    return frame[[key in wanted for key in _keys(frame, SEED)]]
