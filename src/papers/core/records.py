"""Tables of rows in a folder, with the runs that made them and their check sums.

``SHA256SUMS`` has the sum of every file below the folder (``sha256sum -c`` reads it too). A file that differs
from its sum is refused, by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers import PAPERS
from papers.core import files, runs, store
from papers.core.study import RUN, RecordError, Study

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.runs import Run

    Rows = Iterable[tuple[Study, Mapping[str, Any]]]

SUMS = "SHA256SUMS"


def studies(papers: Iterable[str] = PAPERS) -> list[Study]:
    """Return every study of some papers."""
    return [study for paper in papers for study in import_module(f"papers.{paper}.records").STUDIES]


# Reading


def find(study: Study, folder: str | Path | None) -> pd.DataFrame | None:
    """Return the rows of a study in a folder, or None without a file (errors as `load`)."""
    if folder is None:
        return None
    data = content(folder, study.file)
    return None if data is None else study.parse(data, Path(folder, study.file))


def load(study: Study, folder: str | Path | None) -> pd.DataFrame:
    """Return the rows of a study in a folder, none without a file.

    Returns
    -------
    pandas.DataFrame
        `Study.types`; the last column names the run of a row.

    Raises
    ------
    RecordError
        The file differs from its check sum, is gone though it has one, or is refused by `Study.parse`.
    """
    record = find(study, folder)
    return study.frame() if record is None else record


def sums(folder: str | Path) -> dict[str, str]:
    """Return the check sum of each file below a folder, by name; none without `SUMS`."""
    path = Path(folder, SUMS)
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def content(folder: str | Path, name: str) -> bytes | None:
    """Return the content of a file below a folder; None without the file and a sum of it.

    Raises
    ------
    RecordError
        It differs from its check sum, has none, or is gone though it has one.
    """
    path, expected = Path(folder, name), sums(folder).get(name)
    if not path.exists():
        if expected is not None:
            raise RecordError(f"{path}: missing, though {SUMS} has it")
        return None
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != expected:
        raise RecordError(f"{path}: differs from its check sum in {Path(folder, SUMS)}")
    return data


def damaged(folder: str | Path) -> list[str]:
    """Return a sentence for each file below a folder that is missing or differs from its check sum."""
    found = []
    for name in sums(folder):
        try:
            content(folder, name)
        except (OSError, RecordError) as error:
            found.append(str(error))
    return found


def read_runs(folder: str | Path) -> dict[str, Run]:
    """Return the runs of the rows in a folder, by name."""
    data = content(folder, runs.FILE)
    return {} if data is None else runs.parse(data, Path(folder, runs.FILE))


# Joining


class Change(NamedTuple):
    """The number of units (`Study.unit`) that joining rows added, replaced and left as they were."""

    added: int
    replaced: int
    same: int
    passed_over: int

    def __str__(self) -> str:
        text = f"{self.added} added, {self.replaced} replaced, {self.same} the same"
        if self.passed_over:
            text += f", {self.passed_over} passed over (the recorded ones are later or longer)"
        return text


def collect(paths: Iterable[str | Path], folder: str | Path) -> dict[str, Change]:
    """Join the rows of files of fits to the tables of a folder; return what changed, by file.

    A unit is replaced as a whole: by the later of two days, on one day by the file that was written later,
    but never by a shorter run (`Study.progress`).

    Raises
    ------
    RecordError
        A damaged file or table, or rows that a study refuses; nothing is written then.
    """
    made: dict[Study, dict[Name, _Made]] = {}
    for path in sorted(map(Path, paths), key=lambda path: (path.stat().st_mtime_ns, path)):
        of_file: dict[Study, dict[Name, _Made]] = {}
        rows_of = rows_function(path)
        for record in store.read_records(path):
            for study, row in rows_of(record):
                row = study.line(row)
                unit = of_file.setdefault(study, {}).setdefault(_name(study, row), _Made([], record[RUN]))
                unit.rows.append(row)
        for study, units in of_file.items():
            kept = made.setdefault(study, {})
            for name, unit in units.items():
                if name not in kept or not _stays(kept[name].ends(study), unit.ends(study)):
                    kept[name] = unit
    return _join(folder, {study: list(units.values()) for study, units in made.items()})


def rows_function(path: Path) -> Callable[[dict[str, Any]], Rows]:
    """Return the function that turns the records of a file of fits into rows (`ROWS_OF` of each paper).

    Raises
    ------
    RecordError
        The file lies in no folder of an experiment.
    """
    parts = path.resolve().parent.parts
    for paper in PAPERS:
        for place, function in import_module(f"papers.{paper}.records").ROWS_OF.items():
            names = ("data", *place.split("/"))
            if any(parts[k : k + len(names)] == names for k in range(len(parts))):
                return function
    raise RecordError(f"{path}: in no folder of an experiment's fits")


def put(
    folder: str | Path, made: Mapping[Study, Iterable[Mapping[str, Any]]], keep: bool = True
) -> dict[str, Change]:
    """Join rows that were made just now to the tables of a folder; return what changed, by file.

    Parameters
    ----------
    folder : path
    made : mapping
        Study -> its rows.
    keep : bool
        Whether other rows of these studies are kept.
    """
    stamp = runs.stamp()
    new = {study: [_Made([study.line(row) for row in rows], stamp)] for study, rows in made.items()}
    return _join(folder, new, keep)


Name = tuple[Any, ...]
"""Values of `Study.unit`."""


class _Made(NamedTuple):
    """Rows that were made, and the stamp of the job that made them."""

    rows: list[Mapping[str, Any]]
    stamp: Mapping[str, str]

    def ends(self, study: Study) -> _End:
        """Return the day of these rows, and how far they go."""
        return _End(
            self.stamp["date"], max(row[study.progress] if study.progress else 0 for row in self.rows)
        )


class _End(NamedTuple):
    """The day on which a unit was made, and how far it goes (`Study.progress`)."""

    date: str
    progress: float


def _stays(before: _End, after: _End) -> bool:
    return before.date > after.date or before.progress > after.progress


def _join(folder: str | Path, new: Mapping[Study, list[_Made]], keep: bool = True) -> dict[str, Change]:
    with files.alone(folder):
        recorded = read_runs(folder)
        joined, fresh, changes = {}, [], {}
        for study, made in new.items():
            frame, ours = _with_runs(study, made)
            had = load(study, folder)
            known = {**ours, **recorded}
            joined[study], changes[study.file] = joined_rows(study, had if keep else had[:0], frame, known)
            fresh += _brought(joined[study], had, [run for run in ours.values() if run.run not in recorded])
        save(folder, joined, fresh)
    return changes


def _with_runs(study: Study, made: Iterable[_Made]) -> tuple[pd.DataFrame, dict[str, Run]]:
    """Return rows with the names of their runs, one for each stamp, and these runs."""
    import pandas as pd

    by_stamp: dict[tuple[str, ...], list[_Made]] = {}
    for unit in made:
        by_stamp.setdefault(tuple(unit.stamp[name] for name in runs.STAMP), []).append(unit)
    parts, found = [study.frame()], {}
    for units in by_stamp.values():
        rows = study.sorted(study.frame({**row, RUN: ""} for unit in units for row in unit.rows))
        run = runs.of_rows(study.file, units[0].stamp, rows)
        parts.append(rows.assign(**{RUN: run.run}))
        found[run.run] = run
    return pd.concat(parts, ignore_index=True).astype(study.types), found


def _brought(joined: pd.DataFrame, had: pd.DataFrame, fresh: Iterable[Run]) -> list[Run]:
    """Return the runs that have rows among the joined ones, with their numbers.

    The first says how many older rows are gone.
    """
    counts = joined[RUN].value_counts()
    brought = [run._replace(lines=int(counts[run.run])) for run in fresh if run.run in counts]
    if brought:
        gone = len(had) + sum(run.lines for run in brought) - len(joined)
        brought[0] = brought[0]._replace(replaced=gone)
    return brought


def joined_rows(
    study: Study, had: pd.DataFrame, new: pd.DataFrame, known: Mapping[str, Run]
) -> tuple[pd.DataFrame, Change]:
    """Return the rows of both, unit by unit, and what changed.

    A recorded unit stays if it is of a later day, goes further (`Study.progress`), or if the new rows are the
    same and made by the same environment and commit on the same day.

    Parameters
    ----------
    study : Study
    had, new : pandas.DataFrame
        Recorded rows and others.
    known : mapping
        Name -> run, of both.
    """
    import pandas as pd

    before, after = (_ends(study, frame, known) for frame in (had, new))
    shared = before.keys() & after.keys()
    passed_over = {name for name in shared if _stays(before[name], after[name])}
    same = _same(study, had, new, known, shared - passed_over)
    wins = after.keys() - passed_over - same
    parts = [
        frame[_among(study, frame, chosen)]
        for frame, chosen in ((had, before.keys() - wins), (new, wins))
        if len(frame)
    ]
    change = Change(len(wins - shared), len(wins & shared), len(same), len(passed_over))
    return pd.concat(parts, ignore_index=True) if parts else had, change


def _same(
    study: Study, had: pd.DataFrame, new: pd.DataFrame, known: Mapping[str, Run], names: Collection[Name]
) -> set[Name]:
    """Return the units, of some that both have, whose rows and stamps are the same."""
    texts: list[dict[Name, list[tuple[str, ...]]]] = []
    for frame in (had, new):
        ours = study.sorted(frame[_among(study, frame, names)])
        stamps = {run: repr(runs.stamp_of(known[run])) for run in ours[RUN].unique()}
        printed = study.printed(ours).assign(**{RUN: ours[RUN].map(stamps)}).astype(str)
        texts.append({})
        for name, row in zip(_names(study, ours), printed.itertuples(index=False), strict=True):
            texts[-1].setdefault(name, []).append(tuple(row))
    return {name for name in names if texts[0][name] == texts[1][name]}


def _name(study: Study, row: Mapping[str, Any]) -> Name:
    return tuple(row[name] for name in study.unit)


def _names(study: Study, frame: pd.DataFrame) -> list[Name]:
    return list(zip(*(frame[name].tolist() for name in study.unit), strict=True))


def _among(study: Study, frame: pd.DataFrame, names: Collection[Name]) -> np.ndarray:
    return np.array([name in names for name in _names(study, frame)], dtype=bool)


def _ends(study: Study, frame: pd.DataFrame, known: Mapping[str, Run]) -> dict[Name, _End]:
    progress = frame[study.progress].tolist() if study.progress else [0] * len(frame)
    found: dict[Name, _End] = {}
    for name, run, reached in zip(_names(study, frame), frame[RUN], progress, strict=True):
        end = found.get(name, _End("", 0))
        found[name] = _End(max(end.date, known[run].date), max(end.progress, reached))
    return found


# Writing


def save(folder: str | Path, frames: Mapping[Study, pd.DataFrame], fresh: Iterable[Run]) -> None:
    """Write whole tables of rows, append runs that made some of them, and write the check sums.

    Raises
    ------
    RecordError
        Rows that a study refuses; every file stays as it was.
    """
    contents: dict[str, bytes | None] = {
        study.file: study.encode(frame, Path(folder, study.file)) for study, frame in frames.items()
    }
    write(folder, {**contents, runs.FILE: runs.encode([*read_runs(folder).values(), *fresh])})


def write(folder: str | Path, contents: Mapping[str, bytes | None]) -> None:
    """Write or remove (None) files below a folder, and the check sums."""
    digests = {name: digest for name, digest in sums(folder).items() if name not in contents}
    digests |= {name: hashlib.sha256(data).hexdigest() for name, data in contents.items() if data is not None}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    store.write_together(folder, {**contents, SUMS: lines.encode("utf-8")})


def begin(folder: str | Path, names: Iterable[str], committed: str | Path = "") -> None:
    """Make files of a folder what they are in another one, or remove them if none is given.

    Parameters
    ----------
    folder : path
        Of tables of rows; its other files stay.
    names : iterable of str
        Files below the folder. Those that the other folder lacks are removed.
    committed : path, optional
        The other folder.

    Raises
    ------
    RecordError
        A file of the other folder is damaged.
    """
    begun = set(names)
    contents = {name: content(committed, name) if committed else None for name in begun}
    with files.alone(folder):
        known = {name: run for name, run in read_runs(folder).items() if run.study not in begun}
        known |= read_runs(committed) if committed else {}
        write(folder, {**contents, runs.FILE: runs.encode(known.values())})
