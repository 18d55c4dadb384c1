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
    messages = []
    for name in sums(folder):
        try:
            content(folder, name)
        except (OSError, RecordError) as error:
            messages.append(str(error))
    return messages


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


Name = tuple[Any, ...]
"""Values of `Study.unit`."""


class _Unit(NamedTuple):
    """Rows of one unit and the stamp of the job that made them (`runs.stamp`)."""

    rows: list[dict[str, Any]]
    stamp: Mapping[str, str]

    def end(self, study: Study) -> _End:
        progress = max(row[study.progress] for row in self.rows) if study.progress else 0
        return _End(self.stamp["date"], progress)


class _End(NamedTuple):
    """The day on which a unit was made, and how far it goes (`Study.progress`)."""

    date: str
    progress: float

    def stays(self, later: _End) -> bool:
        """Return True if a unit that was written later must not replace this one."""
        return self.date > later.date or self.progress > later.progress


def collect(paths: Iterable[str | Path], folder: str | Path) -> dict[str, Change]:
    """Join the rows of files of fits to the tables of a folder; return the changes by file.

    A unit is replaced as a whole: by the later of two days, on one day by the file that was written later,
    but never by a shorter run (`Study.progress`).

    Raises
    ------
    RecordError
        A damaged file or table, or rows that a study refuses; nothing is written then.
    """
    newest: dict[Study, dict[Name, _Unit]] = {}
    for path in sorted(map(Path, paths), key=lambda path: (path.stat().st_mtime_ns, path)):
        units: dict[tuple[Study, Name], _Unit] = {}
        rows_of = rows_function(path)
        for record in store.read_records(path):
            for study, unrounded in rows_of(record):
                row = study.line(unrounded)
                name = tuple(row[column] for column in study.unit)
                units.setdefault((study, name), _Unit([], record[RUN])).rows.append(row)
        for (study, name), unit in units.items():
            earlier = newest.setdefault(study, {})
            if name not in earlier or not earlier[name].end(study).stays(unit.end(study)):
                earlier[name] = unit
    return _join(folder, {study: list(of_study.values()) for study, of_study in newest.items()})


def rows_function(path: Path) -> Callable[[dict[str, Any]], Rows]:
    """Return the function that turns the records of a file of fits into rows (`ROWS_OF` of each paper).

    Raises
    ------
    RecordError
        The file lies in no folder of an experiment.
    """
    parent = f"{path.resolve().parent.as_posix()}/"
    for paper in PAPERS:
        for place, function in import_module(f"papers.{paper}.records").ROWS_OF.items():
            if f"/data/{place}/" in parent:
                return function
    raise RecordError(f"{path}: in no folder of an experiment's fits")


def put(
    folder: str | Path, rows: Mapping[Study, Iterable[Mapping[str, Any]]], keep: bool = True
) -> dict[str, Change]:
    """Join rows of this process to the tables of a folder; return the changes by file.

    Parameters
    ----------
    folder : path
    rows : mapping
        Study -> its new rows.
    keep : bool
        Whether recorded rows of these studies are kept.
    """
    stamp = runs.stamp()
    return _join(
        folder,
        {study: [_Unit([study.line(row) for row in new], stamp)] for study, new in rows.items()},
        keep,
    )


def _join(folder: str | Path, new: Mapping[Study, list[_Unit]], keep: bool = True) -> dict[str, Change]:
    with files.alone(folder):
        listed = read_runs(folder)
        tables, added, changes = {}, [], {}
        for study, units in sorted(new.items(), key=lambda item: item[0].file):
            rows, new_runs = _with_runs(study, units)
            recorded = load(study, folder)
            tables[study], changes[study.file] = joined_rows(
                study, recorded if keep else recorded[:0], rows, {**new_runs, **listed}
            )
            unlisted = [run for name, run in new_runs.items() if name not in listed]
            added += _with_counts(unlisted, tables[study], recorded)
        save(folder, tables, added)
    return changes


def _with_runs(study: Study, units: Iterable[_Unit]) -> tuple[pd.DataFrame, dict[str, Run]]:
    """Return rows with the names of their runs, one for each stamp, and these runs."""
    import pandas as pd

    by_stamp: dict[tuple[str, ...], list[_Unit]] = {}
    for unit in units:
        by_stamp.setdefault(tuple(unit.stamp[name] for name in runs.STAMP), []).append(unit)
    tables, new_runs = [study.frame()], {}
    for _, stamped in sorted(by_stamp.items()):
        rows = study.sorted(study.frame({**row, RUN: ""} for unit in stamped for row in unit.rows))
        run = runs.of_rows(study.file, stamped[0].stamp, rows)
        tables.append(rows.assign(**{RUN: run.run}))
        new_runs[run.run] = run
    return pd.concat(tables, ignore_index=True).astype(study.types), new_runs


def _with_counts(new_runs: Iterable[Run], joined: pd.DataFrame, recorded: pd.DataFrame) -> list[Run]:
    """Return the runs that have joined rows, with their numbers; the first has that of rows it replaced."""
    counts = joined[RUN].value_counts()
    brought = [run._replace(lines=int(counts[run.run])) for run in new_runs if run.run in counts]
    if brought:
        replaced = len(recorded) + sum(run.lines for run in brought) - len(joined)
        brought[0] = brought[0]._replace(replaced=replaced)
    return brought


def joined_rows(
    study: Study, recorded: pd.DataFrame, new: pd.DataFrame, runs_by_name: Mapping[str, Run]
) -> tuple[pd.DataFrame, Change]:
    """Return the rows of both, unit by unit, and the changes.

    A recorded unit stays if it is of a later day, goes further (`Study.progress`), or if the new rows are the
    same and made by the same environment and commit on the same day.

    Parameters
    ----------
    study : Study
    recorded, new : pandas.DataFrame
    runs_by_name : mapping
        Runs of both.
    """
    import pandas as pd

    before, after = (_ends(study, frame, runs_by_name) for frame in (recorded, new))
    shared = before.keys() & after.keys()
    passed_over = {name for name in shared if before[name].stays(after[name])}
    texts = [_texts(study, frame, runs_by_name, shared - passed_over) for frame in (recorded, new)]
    same = {name for name in shared - passed_over if texts[0][name] == texts[1][name]}
    replacing = after.keys() - passed_over - same
    selected = [
        frame[_are_among(study, frame, names)]
        for frame, names in ((recorded, before.keys() - replacing), (new, replacing))
        if len(frame)
    ]
    change = Change(len(replacing - shared), len(replacing & shared), len(same), len(passed_over))
    return pd.concat(selected, ignore_index=True) if selected else recorded, change


def _names(study: Study, frame: pd.DataFrame) -> list[Name]:
    return list(zip(*(frame[column].tolist() for column in study.unit), strict=True))


def _are_among(study: Study, frame: pd.DataFrame, names: Collection[Name]) -> np.ndarray:
    return np.array([name in names for name in _names(study, frame)], dtype=bool)


def _ends(study: Study, frame: pd.DataFrame, runs_by_name: Mapping[str, Run]) -> dict[Name, _End]:
    progress = frame[study.progress].tolist() if study.progress else [0] * len(frame)
    ends: dict[Name, _End] = {}
    for name, run, reached in zip(_names(study, frame), frame[RUN], progress, strict=True):
        end = ends.get(name, _End("", 0))
        ends[name] = _End(max(end.date, runs_by_name[run].date), max(end.progress, reached))
    return ends


def _texts(
    study: Study, frame: pd.DataFrame, runs_by_name: Mapping[str, Run], names: Collection[Name]
) -> dict[Name, list[tuple[str, ...]]]:
    """Return the text of the rows of some units in the file, with their stamp in place of their run."""
    rows = study.sorted(frame[_are_among(study, frame, names)])
    stamps = {run: repr(runs.stamp_of(runs_by_name[run])) for run in rows[RUN].unique()}
    printed = study.printed(rows).assign(**{RUN: rows[RUN].map(stamps)}).astype(str)
    texts: dict[Name, list[tuple[str, ...]]] = {}
    for name, text in zip(_names(study, rows), printed.itertuples(index=False), strict=True):
        texts.setdefault(name, []).append(tuple(text))
    return texts


# Writing


def save(folder: str | Path, frames: Mapping[Study, pd.DataFrame], added: Iterable[Run]) -> None:
    """Write tables of rows, append the runs that made some of them, and write the check sums.

    Raises
    ------
    RecordError
        Rows that a study refuses; every file stays as it was.
    """
    contents: dict[str, bytes | None] = {
        study.file: study.encode(frame, Path(folder, study.file)) for study, frame in frames.items()
    }
    write(folder, {**contents, runs.FILE: runs.encode([*read_runs(folder).values(), *added])})


def write(folder: str | Path, contents: Mapping[str, bytes | None]) -> None:
    """Write or remove (None) files below a folder, and the check sums."""
    digests = {name: digest for name, digest in sums(folder).items() if name not in contents}
    digests |= {name: hashlib.sha256(data).hexdigest() for name, data in contents.items() if data is not None}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    files.write_together(folder, {**contents, SUMS: lines.encode("utf-8")})


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
        listed = {name: run for name, run in read_runs(folder).items() if run.study not in begun}
        listed |= read_runs(committed) if committed else {}
        write(folder, {**contents, runs.FILE: runs.encode(listed.values())})
