"""Fit records to compact records.

A checkout can hold two runs of one seed (the preview's block and the full run's, say). The seed is
then taken whole from the later of the two, by the day of the run, then by the age of the file.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import compact, pairs, store
from tilted.results.compact import FAILED, MAIN, MOVED, OK, UNCONVERGED
from tilted.results.published import is_counts
from tilted.results.runs import SEED, UNKNOWN, Runs

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FIGURE_SEEDS = 5
"""Seeds whose predictive variances are kept point by point (counts: every seed)."""

NO_PAIR = {"pair": ""} | dict.fromkeys(compact.PAIR[1:])


@dataclass(frozen=True)
class Collected:
    """Compact records: a frame, matched variances (`compact.VARIANCE_COLUMNS`), stamps."""

    frame: pd.DataFrame
    variances: pd.DataFrame
    runs: Runs


@dataclass(frozen=True)
class _Seed:
    """All folds of one (protocol, dataset, method, seed) in one file."""

    stamp: dict[str, Any]
    written: int
    lines: dict[int, dict[str, Any]] = field(default_factory=dict)
    fits: dict[int, pairs.Fit] = field(default_factory=dict)

    @property
    def age(self) -> tuple[str, int]:
        return self.stamp["date"], self.written


def collect(paths: Iterable[str | Path]) -> Collected:
    """Compact records of fit files ``.../<protocol>/<dataset>/<block>.jsonl.gz``.

    One data set of one protocol is in memory at a time, and of its test points only the variances.

    Raises
    ------
    RecordError
        A damaged file, two records of one fit in a file, folds of different runs in a seed, or
        predictive variances that do not match.
    """
    runs, frames = Runs(), []
    points: list[tuple[Any, ...]] = []
    for _, files in itertools.groupby(sorted(map(Path, paths)), key=lambda path: path.parent):
        seeds = _latest(files)
        for key, seed in seeds.items():
            runs.add(key, seed.stamp)
        _fill_pairs(seeds, points)
        frames.append(_frame([line for seed in seeds.values() for line in seed.lines.values()]))
    return Collected(joined(frames), _variance_frame(points), runs)


def joined(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames as one; an empty frame if there are none."""
    import pandas as pd

    return pd.concat(frames, ignore_index=True) if frames else _frame([])


def no_variances() -> pd.DataFrame:
    """Matched variances of no test point."""
    return _variance_frame([])


def _latest(files: Iterable[Path]) -> dict[tuple[Any, ...], _Seed]:
    """Seeds of the files; of two of one name the later."""
    found: dict[tuple[Any, ...], _Seed] = {}
    for path in files:
        for key, seed in _seeds_of(path).items():
            if key not in found or found[key].age <= seed.age:
                found[key] = seed
    return found


def _seeds_of(path: Path) -> dict[tuple[Any, ...], _Seed]:
    """(protocol, dataset, method, seed) -> its folds in one fit file."""
    written = path.stat().st_mtime_ns
    found: dict[tuple[Any, ...], _Seed] = {}
    for record in store.read_records(path):
        key, fold = tuple(record[name] for name in SEED), record["fold"]
        stamp = record.get("run") or UNKNOWN
        seed = found.setdefault(key, _Seed(stamp, written))
        where = f"{path}: {' '.join(map(str, key))} {fold}"
        if fold in seed.lines:
            raise store.RecordError(f"{where}: two records of one fit")
        if stamp != seed.stamp:
            raise store.RecordError(f"{where}: folds of different runs in one seed")
        seed.lines[fold] = line_of(record)
        if record["method"] in (*pairs.EP_METHODS, "qp") and record["latent_variance"] is not None:
            variances = np.asarray(record["latent_variance"], dtype=float)
            seed.fits[fold] = pairs.Fit(record["hyperparameters"], variances)
    return found


def line_of(record: dict[str, Any]) -> dict[str, Any]:
    """Line of a frame from a fit record, without a pair."""
    status, kernel = record["status"], record["hyperparameters"] or {}
    failed = record["test_error"] is None or record["ntll"] is None
    outcome = FAILED if failed else OK if status["converged"] else UNCONVERGED
    message = str(status.get("message") or "no reason given").removeprefix("failed: ")
    scales = np.atleast_1d(kernel.get("lengthscale", ()))
    return {
        **{name: record[name] for name in ("protocol", *compact.KEY, "n_train", "n_test")},
        "outcome": outcome,
        "reason": "" if outcome == OK else " ".join(message.split()),
        **{name: status[name] for name in compact.COUNTS[2:]},
        "variance": kernel.get("variance"),
        "lengthscale": ":".join(f"{scale:.12g}" for scale in scales),
        **{name: record[name] for name in ("log_evidence", "test_error", "ntll", "seconds")},
        **NO_PAIR,
    }


def _fill_pairs(seeds: dict[tuple[Any, ...], _Seed], points: list[tuple[Any, ...]]) -> None:
    """Pair columns of the QP lines; variances that figures draw are added to ``points``."""
    for (protocol, dataset, method, number), qp in seeds.items():
        if method != "qp":
            continue
        ep = {name: seeds.get((protocol, dataset, name, number)) for name in pairs.EP_METHODS}
        for fold in qp.fits:
            fits = {name: seed.fits[fold] for name, seed in ep.items() if seed and fold in seed.fits}
            where = (protocol, dataset, number, fold)
            qp.lines[fold] |= _pair(where, {**fits, "qp": qp.fits[fold]}, points)


def _pair(
    where: tuple[str, str, int, int], fits: dict[str, pairs.Fit], points: list[tuple[Any, ...]]
) -> dict[str, Any]:
    """Pair columns of one QP line."""
    _, dataset, seed, _ = where
    name = " ".join(map(str, where))
    drawn = is_counts(dataset) or seed < FIGURE_SEEDS
    if drawn and pairs.has_moved(dataset, fits):
        points.append((*where, MOVED, *pairs.matched(fits["ep"], fits["qp"], name)))
    method = pairs.reference(dataset, fits)
    if not method:
        return {}
    ep, qp = pairs.matched(fits[method], fits["qp"], name)
    if drawn:
        points.append((*where, MAIN, ep, qp))
    return {"pair": method, **pairs.comparison(ep, qp)}


def _frame(lines: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(lines, columns=["protocol", *compact.COLUMNS]).astype(compact.TYPES)


def _variance_frame(points: list[tuple[Any, ...]]) -> pd.DataFrame:
    import pandas as pd

    parts = [pd.DataFrame(dict(zip(compact.VARIANCE_COLUMNS, point, strict=True))) for point in points]
    empty = pd.DataFrame(columns=list(compact.VARIANCE_COLUMNS))
    return (pd.concat(parts, ignore_index=True) if parts else empty).astype(compact.VARIANCE_TYPES)
