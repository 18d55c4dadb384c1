"""Fit files folded into the committed records: rows, matched EP and QP records, matched variances.

A paper's runs take many hours, over days and on several machines. Their full records (``data/fits``) stay on
the machine of the run. A seed of a (protocol, data set, method) is taken in full from the later of two runs:
by the day of the run, then by the age of the file. On the same day a file replaces the record. A QP record
keeps its pair and its variances only while the EP record of that comparison is still recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.study import RUN
from papers.evidence import files, records
from papers.evidence.merge import Change, Made, Unit, collected, merge
from papers.evidence.store import RecordError
from papers.qp import pairs
from papers.qp.lines import FOLD, NO_PAIR, SEED, line_of
from papers.qp.published import is_counts
from papers.qp.records import FITS, MAIN, MOVED, VARIANCES, study_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pandas as pd

    from papers.core.study import Study
    from papers.evidence.runs import Run

    Units = dict[Unit, Made]

FIGURE_SEEDS = 5
"""Seeds whose predictive variances are kept point by point (counts: every seed)."""

FIT = "fit"
"""Key of the `pairs.Fit` of a row in memory; absent if the fit failed."""


def fold_in(paths: Iterable[str | Path], folder: str | Path) -> dict[str, Change]:
    """Fold fit files ``.../<protocol>/<data set>/<block>.jsonl.gz`` into the records of a folder, at once.

    A second folding of the same files changes nothing.

    Parameters
    ----------
    paths : iterable of str or Path
    folder : str or Path
        Folder of the records, which need not exist.

    Returns
    -------
    changes : dict
        File of a study -> its changes, in seeds.

    Raises
    ------
    RecordError
        A damaged file or record, a record in another's folder, two records of one fit in a file, folds of
        different runs in a seed, or predictive variances that do not match; nothing is written then.
    """
    new = _collected(map(Path, paths))
    with files.alone(folder):
        runs = records.read_runs(folder)
        had = {study: records.load(study, folder) for study in new}
        current = _current(had, new, runs)
        points = _fill_pairs(current)
        merged = {study: merge(study, had[study], units, runs) for study, units in new.items()}
        before, after = _runs_of(had.values()), _runs_of(frame for frame, _, _ in merged.values())
        stands = {unit for unit, run in before.items() if after.get(unit) == run}
        frames, changes, fresh = {}, {}, []
        for study, (frame, new_runs, change) in merged.items():
            frames[study], lost = _without_broken_pairs(frame, current.keys(), stands)
            note = f"{lost} QP fits lost the EP record they were compared with" if lost else ""
            changes[study.file] = change._replace(note="; ".join(filter(None, (change.note, note))))
            fresh += new_runs
        if frames.keys() & set(FITS.values()):
            sound = _sound_variances(records.load(VARIANCES, folder), frames, current.keys(), stands, points)
            frames[VARIANCES], new_runs, _ = merge(VARIANCES, sound, points, runs)
            fresh += new_runs
        records.save(folder, frames, fresh, {})
    return changes


def _collected(paths: Iterable[Path]) -> dict[Study, Units]:
    """Return the seeds of fit files, by study; the later of two with one name."""
    by_folder: dict[Path, list[Path]] = {}
    for path in paths:
        by_folder.setdefault(path.parent, []).append(path)
    by_study: dict[Study, Units] = {}
    for folder, listed in sorted(by_folder.items()):
        study = study_of(folder.parent.name)
        by_study.setdefault(study, {}).update(collected(study, listed, _lines_in(folder)))
    return by_study


def _lines_in(folder: Path) -> Callable[[dict[str, Any]], list[dict[str, Any]]]:
    """Return the function that converts records to rows; it checks that they belong in the folder."""

    def lines(record: dict[str, Any]) -> list[dict[str, Any]]:
        if (record["protocol"], record["dataset"]) != (folder.parent.name, folder.name):
            where = f"{record['protocol']} {record['dataset']}"
            raise RecordError(f"{folder}: a record of {where} does not belong here")
        line = line_of(record)
        if record["method"] in (*pairs.EP_METHODS, "qp") and record["latent_variance"] is not None:
            variances = np.asarray(record["latent_variance"], dtype=float)
            line[FIT] = pairs.Fit(record["hyperparameters"], variances)
        return [line]

    return lines


def _current(
    had: Mapping[Study, pd.DataFrame], new: Mapping[Study, Units], known: Mapping[str, Run]
) -> Units:
    """Return the new seeds that are not older than their record."""
    date_of = {unit: known[run].date for unit, run in _runs_of(had.values()).items()}
    return {
        unit: entry
        for units in new.values()
        for unit, entry in units.items()
        if entry.stamp["date"] >= date_of.get(unit, "")
    }


def _runs_of(frames: Iterable[pd.DataFrame]) -> dict[Unit, str]:
    """Map each seed to its run."""
    return {unit: run for frame in frames for unit, run in zip(_keys(frame, SEED), frame[RUN], strict=True)}


def _fill_pairs(units: Mapping[Unit, Made]) -> Units:
    """Fill in the pairs of QP rows; return the variances that figures draw, by `VARIANCES.unit`."""
    points: Units = {}
    for (protocol, dataset, method, seed), entry in units.items():
        if method != "qp":
            continue
        partners = {name: units.get((protocol, dataset, name, seed)) for name in pairs.EP_METHODS}
        fits = {name: _fits_of(unit) for name, unit in partners.items() if unit}
        drawn = protocol in FITS and (is_counts(dataset) or seed < FIGURE_SEEDS)
        for line in entry.lines:
            fold = line["fold"]
            ep_fits = {name: by_fold[fold] for name, by_fold in fits.items() if fold in by_fold}
            if FIT in line:
                where = protocol, dataset, seed, fold
                for reference, matched in _pair(line, ep_fits | {"qp": line[FIT]}, where):
                    if drawn:
                        lines = list(_point_lines((*where, reference), *matched))
                        points[*where, reference] = Made(lines, entry.stamp, entry.written)
    return points


def _fits_of(made: Made) -> dict[int, pairs.Fit]:
    return {line["fold"]: line[FIT] for line in made.lines if FIT in line}


def _pair(
    line: dict[str, Any], fits: Mapping[str, pairs.Fit], where: Unit
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """Fill in the pair of one QP row; yield kind and variances of its pairs."""
    name = " ".join(map(str, where))
    if pairs.has_moved(line["dataset"], fits):
        yield MOVED, pairs.matched(fits["ep"], fits["qp"], name)
    method = pairs.reference(line["dataset"], fits)
    if method:
        matched = pairs.matched(fits[method], fits["qp"], name)
        line |= {"pair": method, **pairs.comparison(*matched)}
        yield MAIN, matched


def _point_lines(where: Unit, v_ep: np.ndarray, v_qp: np.ndarray) -> Iterator[dict[str, Any]]:
    names = (*VARIANCES.unit, "v_ep", "v_qp")
    for ep, qp in zip(v_ep.tolist(), v_qp.tolist(), strict=True):
        yield dict(zip(names, (*where, ep, qp), strict=True))


def _without_broken_pairs(
    frame: pd.DataFrame, current: Collection[Unit], stands: Collection[Unit]
) -> tuple[pd.DataFrame, int]:
    """Empty the pairs of recorded QP rows whose EP record was replaced or removed; count them."""
    qp = frame[frame["pair"] != ""]
    broken = [
        index
        for index, unit, pair in zip(qp.index, _keys(qp, SEED), qp["pair"], strict=True)
        if unit not in current and (*unit[:2], pair, unit[3]) not in stands
    ]
    frame = frame.copy()
    for name, value in NO_PAIR.items():
        frame.loc[broken, name] = value
    return frame, len(broken)


def _sound_variances(
    had: pd.DataFrame,
    frames: Mapping[Study, pd.DataFrame],
    current: Collection[Unit],
    stands: Collection[Unit],
    points: Collection[Unit],
) -> pd.DataFrame:
    """Return the recorded variances whose QP fit and EP fit are still recorded, or are repeated."""
    touched = {protocol for frame in frames.values() for protocol in frame["protocol"].unique()}
    paired = {fold for frame in frames.values() for fold in _keys(frame[frame["pair"] != ""], FOLD)}

    def stays(unit: Unit) -> bool:
        protocol, dataset, seed, _, reference = unit
        if protocol not in touched:
            return True
        qp, ep = ((protocol, dataset, method, seed) for method in ("qp", "ep"))
        if qp in current:
            return unit in points
        return qp in stands and (unit[:4] in paired if reference == MAIN else ep in stands)

    return had[np.array([stays(unit) for unit in _keys(had, VARIANCES.unit)], dtype=bool)]


def _keys(frame: pd.DataFrame, names: Iterable[str]) -> list[Unit]:
    return list(zip(*(frame[name].tolist() for name in names), strict=True))
