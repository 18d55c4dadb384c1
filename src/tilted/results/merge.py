"""New fits into the compact records already there.

The runs of a paper take many hours, over days and on several machines, and their full records
(``data/fits``) stay on the machine that made them. So a folder of compact records grows: `fold_in`
replaces, seed by seed of each (protocol, data set, method), what was run again, and keeps the rest.
Of two runs of a seed the one of the later day is kept; of the same day, the fit at hand. A QP fit
keeps its pair only while the EP record it was compared with stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.results import compact, runs, store
from tilted.results.collect import NO_PAIR, Collected, collect, joined, no_variances
from tilted.results.compact import MAIN
from tilted.results.runs import SEED, Change, Runs

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FOLD = ("protocol", "dataset", "seed", "fold")


def fold_in(paths: Iterable[str | Path], folder: str | Path, keep: bool = True) -> Change:
    """Fold fit files into the compact records of a folder, which need not exist.

    Writes ``<protocol>.csv.gz`` for every protocol, ``variances.csv.gz`` and ``provenance.json``.
    Folding the same fits in twice changes nothing.

    Parameters
    ----------
    paths : iterable of str or Path
        Fit files, see `collect.collect`.
    folder : str or Path
    keep : bool
        Whether records of the folder that ``paths`` do not replace are kept.

    Raises
    ------
    RecordError
        As `collect.collect` and `compact.read`; nothing is written then.
    """
    folder, new = Path(folder), collect(paths)
    old = load(folder) if keep else Collected(joined([]), no_variances(), Runs())
    merged, change = merge(old, new)
    save(merged, folder)
    return change


def merge(old: Collected, new: Collected) -> tuple[Collected, Change]:
    """Records of both; seeds of both are the new ones unless their run is of an earlier day."""
    had, found = set(_keys(old.frame, SEED)), set(_keys(new.frame, SEED))
    outdated = {key for key in had & found if new.runs.date(key) < old.runs.date(key)}
    wins = found - outdated
    origin = dict.fromkeys(had - wins, "old") | dict.fromkeys(wins, "new")
    frame = joined([_rows(old.frame, had - wins), _rows(new.frame, wins)])
    frame, unpaired = _without_broken_pairs(frame, origin)
    paired = set(_keys(frame[frame["pair"] != ""], FOLD))
    variances = [_sound(old.variances, origin, "old", paired), _sound(new.variances, origin, "new", paired)]
    stamps = Runs(
        {**old.runs.seeds, **{key: new.runs.seeds[key] for key in wins}},
        {**old.runs.environments, **new.runs.environments},
    )
    lost = f"{unpaired} QP fits lost the EP record they were compared with" if unpaired else ""
    change = Change("seeds", len(wins - had), len(wins & had), len(had - wins), len(outdated), lost)
    return Collected(frame, joined(variances), stamps), change


def load(folder: str | Path) -> Collected:
    """The compact records of a folder; empty if there are none.

    Raises
    ------
    RecordError
        A damaged file; the message names it.
    """
    folder = Path(folder)
    frames = [compact.read(path) for path in compact.protocol_files(folder)]
    path = folder / f"{compact.VARIANCES}{compact.SUFFIX}"
    variances = compact.read_variances(path) if path.is_file() else no_variances()
    return Collected(joined(frames), variances, runs.read(folder))


def save(records: Collected, folder: str | Path) -> None:
    """Write compact records into a folder, the provenance last; all are checked before the first is written.

    Raises
    ------
    RecordError
        As `compact.encode` and `compact.encode_variances`; every file stays as it was.
    """
    folder = Path(folder)
    frame = compact.ordered(records.frame)
    contents = {}
    for protocol, part in frame.groupby("protocol", sort=False):
        path = folder / f"{protocol}{compact.SUFFIX}"
        contents[path] = compact.encode(part, path)
    path = folder / f"{compact.VARIANCES}{compact.SUFFIX}"
    contents[path] = compact.encode_variances(records.variances, path)
    contents[folder / runs.FILE] = runs.encode(records.runs, frame).encode("utf-8")
    for path, content in contents.items():
        store.write_bytes(path, content)


def _without_broken_pairs(
    frame: pd.DataFrame, origin: dict[tuple[Any, ...], str]
) -> tuple[pd.DataFrame, int]:
    """Empty the pair of QP lines whose EP record is of another origin or absent; and their number."""
    qp = frame[frame["pair"] != ""]
    broken = [
        index
        for index, key, pair in zip(qp.index, _keys(qp, SEED), qp["pair"], strict=True)
        if origin.get((key[0], key[1], pair, key[3])) != origin[key]
    ]
    frame = frame.copy()
    for name, value in NO_PAIR.items():
        frame.loc[broken, name] = value
    return frame, len(broken)


def _sound(
    variances: pd.DataFrame, origin: dict[tuple[Any, ...], str], whose: str, paired: set[tuple[Any, ...]]
) -> pd.DataFrame:
    """Variances of one origin whose QP fit, and the EP fit beside it, are in the merged frame."""

    def stays(protocol: str, dataset: str, seed: int, fold: int, reference: str) -> bool:
        if origin.get((protocol, dataset, "qp", seed)) != whose:
            return False
        if reference == MAIN:
            return (protocol, dataset, seed, fold) in paired
        return origin.get((protocol, dataset, "ep", seed)) == whose

    return _selected(variances, [stays(*key) for key in _keys(variances, (*FOLD, "reference"))])


def _keys(frame: pd.DataFrame, names: Iterable[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(frame[name].tolist() for name in names), strict=True))


def _rows(frame: pd.DataFrame, wanted: set[tuple[Any, ...]]) -> pd.DataFrame:
    return _selected(frame, [key in wanted for key in _keys(frame, SEED)])


def _selected(frame: pd.DataFrame, mask: list[bool]) -> pd.DataFrame:
    return frame[np.array(mask, dtype=bool)]  # an empty list would select columns
