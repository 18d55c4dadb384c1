"""Tables of rows in a folder, with the runs that made them and their check sums.

``SHA256SUMS`` has the sum of every file below the folder (``sha256sum -c`` reads it too). A file that differs
from its sum is refused, by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers import PAPERS
from papers.core.study import RUN, RecordError, Study
from papers.evidence import files, runs, store

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.evidence.runs import Run

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
    made: dict[Study, dict[tuple[Any, ...], list[dict[str, Any]]]] = {}
    known: dict[str, Run] = {}
    for path in sorted(map(Path, paths), key=lambda path: (path.stat().st_mtime_ns, path)):
        of_file: dict[Study, dict[tuple[Any, ...], list[dict[str, Any]]]] = {}
        rows_of = rows_function(path)
        for record in store.read_records(path):
            for study, row in rows_of(record):
                run = runs.of_stamp(study.file, record[RUN])
                known[run.run] = run
                row = study.line({**row, RUN: run.run})
                units = of_file.setdefault(study, {})
                units.setdefault(tuple(row[name] for name in study.unit), []).append(row)
        for study, units in of_file.items():
            kept = made.setdefault(study, {})
            for unit, rows in units.items():
                if unit not in kept or not _stays(_unit(study, kept[unit]), _unit(study, rows), known):
                    kept[unit] = rows
    new = {study: [row for rows in units.values() for row in rows] for study, units in made.items()}
    return _join(folder, {study: study.frame(rows) for study, rows in new.items()}, known)


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
    known = {study: runs.of_stamp(study.file, stamp) for study in made}
    frames = {
        study: study.frame(study.line({**row, RUN: known[study].run}) for row in rows)
        for study, rows in made.items()
    }
    return _join(folder, frames, {run.run: run for run in known.values()}, keep)


def _join(
    folder: str | Path, new: Mapping[Study, pd.DataFrame], fresh: Mapping[str, Run], keep: bool = True
) -> dict[str, Change]:
    with files.alone(folder):
        known = {**read_runs(folder), **fresh}
        joined, changes = {}, {}
        for study, frame in new.items():
            had = load(study, folder)
            joined[study], changes[study.file] = joined_rows(study, had if keep else had[:0], frame, known)
        save(folder, joined, known)
    return changes


def joined_rows(
    study: Study, had: pd.DataFrame, new: pd.DataFrame, known: Mapping[str, Run]
) -> tuple[pd.DataFrame, Change]:
    """Return the rows of both, unit by unit, and what changed.

    A recorded unit stays if it is of a later day, or of a longer run (`Study.progress`).
    """
    import pandas as pd

    before, after = (_units(study, frame) for frame in (had, new))
    stays = {unit for unit in before.keys() & after.keys() if _stays(before[unit], after[unit], known)}
    wins = after.keys() - stays
    parts = [
        frame[[unit in chosen for unit in _names(study, frame)]]
        for frame, chosen in ((had, before.keys() - wins), (new, wins))
        if len(frame)
    ]
    shared = before.keys() & wins
    same = sum(before[unit].run == after[unit].run for unit in shared)
    change = Change(len(wins - before.keys()), len(shared) - same, same, len(stays))
    return pd.concat(parts, ignore_index=True) if parts else had, change


class _Unit(NamedTuple):
    """The run of a unit's rows, and where it ends (`Study.progress`)."""

    run: str
    end: float


def _stays(before: _Unit, after: _Unit, known: Mapping[str, Run]) -> bool:
    return known[before.run].date > known[after.run].date or before.end > after.end


def _unit(study: Study, rows: Iterable[Mapping[str, Any]]) -> _Unit:
    found = [(row[RUN], row[study.progress] if study.progress else 0.0) for row in rows]
    return _Unit(found[-1][0], max(end for _, end in found))


def _names(study: Study, frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(zip(*(frame[name].tolist() for name in study.unit), strict=True))


def _units(study: Study, frame: pd.DataFrame) -> dict[tuple[Any, ...], _Unit]:
    """Return each unit by its name."""
    ends = frame[study.progress].tolist() if study.progress else [0.0] * len(frame)
    found: dict[tuple[Any, ...], _Unit] = {}
    for name, run, end in zip(_names(study, frame), frame[RUN], ends, strict=True):
        found[name] = _Unit(run, max(end, found[name].end) if name in found else end)
    return found


# Writing


def save(folder: str | Path, frames: Mapping[Study, pd.DataFrame], known: Mapping[str, Run]) -> None:
    """Write whole tables of rows, and the runs and check sums of the folder.

    Raises
    ------
    RecordError
        Rows that a study refuses; every file stays as it was.
    """
    contents: dict[str, bytes | None] = {
        study.file: study.encode(frame, Path(folder, study.file)) for study, frame in frames.items()
    }
    of_others = [run for run in known.values() if run.study not in contents]
    counted = [run for study, frame in frames.items() for run in runs.counted(study, frame, known)]
    write(folder, {**contents, runs.FILE: runs.encode([*of_others, *counted])})


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
        known = [run for run in read_runs(folder).values() if run.study not in begun]
        if committed:
            known += [run for run in read_runs(committed).values() if run.study in begun]
        write(folder, {**contents, runs.FILE: runs.encode(known)})
