"""The folder of records: read with their check sums, folded into, replaced as one.

``SHA256SUMS`` has the sum of every file that is committed below the folder (``sha256sum -c`` reads it too).
`find` refuses a file that differs from it, that is not in it, whose lines are of runs of another study, or
that has fewer or more lines than its runs say; the message names the file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.study import RUN, Study
from papers.evidence import files, runs
from papers.evidence.merge import Change as Change
from papers.evidence.merge import LinesOf, Made, Unit, collected, grouped, merge
from papers.evidence.runs import Run
from papers.evidence.store import RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

SUMS = "SHA256SUMS"


def find(study: Study, folder: str | Path | None) -> pd.DataFrame | None:
    """Lines of a record, or None where there is no file.

    Returns
    -------
    pandas.DataFrame or None
        `Study.types`; the last column names the run of a line.

    Raises
    ------
    RecordError
        The file is not what `SUMS` and the runs say, or what `Study.parse` refuses, or is gone though one of
        them has it; the message names it.
    """
    if folder is None:
        return None
    if study.reader is not None:
        return study.reader(folder)
    files.finished(folder)
    path, data, known = Path(folder, study.file), content_if_any(folder, study.file), read_runs(folder)
    if data is None:
        if any(run.study == study.file for run in known.values()):
            raise RecordError(f"{path}: missing, though {runs.FILE} has it")
        return None
    frame = study.parse(data, path)
    _agree(frame, study, known, folder)
    return frame


def load(study: Study, folder: str | Path | None) -> pd.DataFrame:
    """The same, without lines where there is no file (errors as `find`)."""
    record = find(study, folder)
    return study.frame() if record is None else record


def read_runs(folder: str | Path) -> dict[str, Run]:
    """Runs of the records in a folder, by name; none if it has no such file."""
    files.finished(folder)
    path = Path(folder, runs.FILE)
    return runs.parse(content(folder, runs.FILE), path) if path.is_file() else {}


def _agree(frame: pd.DataFrame, study: Study, known: Mapping[str, Run], folder: str | Path) -> None:
    """Refuse lines whose runs are not of this study, and another number of lines than its runs brought."""
    path = Path(folder, study.file)
    ours = {name: run for name, run in known.items() if run.study == study.file}
    for name in dict.fromkeys(frame[RUN]):
        if name not in ours:
            whose = f"one of {known[name].study}" if name in known else f"not in {runs.FILE}"
            raise RecordError(f"{path}: run '{name}' of its lines is {whose}")
    expected = sum(run.lines - run.replaced for run in ours.values())
    if expected != len(frame):
        raise RecordError(f"{path}: {len(frame)} lines, where its runs in {runs.FILE} brought {expected}")


def sums(folder: str | Path) -> dict[str, str]:
    """File below a folder -> its sum, of those that `SUMS` has."""
    path = Path(folder, SUMS)
    if not path.is_file():
        return {}
    digests = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not name or name in digests:
            raise RecordError(f"{path}, line {number}: not a check sum and a name, or a second sum of one")
        digests[name] = digest
    return digests


def content(folder: str | Path, name: str, listed: Mapping[str, str] | None = None) -> bytes:
    """Bytes of a file of a folder of records, whose `sums` may be given.

    Raises
    ------
    RecordError
        They are not those whose sum is in `SUMS`.
    FileNotFoundError
        There is no such file.
    """
    path = Path(folder, name)
    data = path.read_bytes()
    expected = (sums(folder) if listed is None else listed).get(name)
    if expected is None:
        raise RecordError(f"{path}: not in {Path(folder, SUMS)}")
    if hashlib.sha256(data).hexdigest() != expected:
        raise RecordError(f"{path}: differs from its check sum in {Path(folder, SUMS)}")
    return data


def content_if_any(folder: str | Path, name: str, listed: Mapping[str, str] | None = None) -> bytes | None:
    """The same, or None where there is no such file and no sum of it; one that is gone is a RecordError."""
    if Path(folder, name).exists():
        return content(folder, name, listed)
    if name in (sums(folder) if listed is None else listed):
        raise RecordError(f"{Path(folder, name)}: missing, though {SUMS} has it")
    return None


def wrong(folder: str | Path, studies: Iterable[Study] = ()) -> list[str]:
    """What is wrong with a folder of records, a line each: sums and missing files, then the studies."""
    return checked(folder, studies)[0]


def checked(folder: str | Path, studies: Iterable[Study]) -> tuple[list[str], int]:
    """What is `wrong` with a folder of records, and the number of lines of the studies that are sound."""
    files.finished(folder)
    errors, lines, listed = [], 0, sums(folder)
    for name in listed:
        try:
            content(folder, name, listed)
        except (OSError, RecordError) as error:
            errors.append(str(error))
    for study in studies:
        try:
            lines += len(load(study, folder))
        except RecordError as error:
            errors.append(str(error))
    return list(dict.fromkeys(errors)), lines


def save(
    folder: str | Path, frames: Mapping[Study, pd.DataFrame], new: Iterable[Run], others: Mapping[str, bytes]
) -> None:
    """Write records, their runs and their sums, all or none of them. Call it in a block of `files.alone`.

    Parameters
    ----------
    folder : str or Path
    frames : mapping
        Study -> all lines that its record is to have.
    new : iterable of Run
        Of lines that were not there before; how many they replace is filled in here.
    others : mapping
        Further files below the folder, by name.

    Raises
    ------
    RecordError
        Lines that a study refuses. Every file stays as it was.
    """
    known = read_runs(folder)
    listed = dict(known)
    for run in new:
        listed.setdefault(run.run, run)
    contents = dict(others)
    for study, frame in frames.items():
        contents[study.file] = study.encode(frame, Path(folder, study.file))
        _account(listed, known, study, frame)
        _agree(frame, study, listed, folder)
    contents[runs.FILE] = runs.encode(listed.values())
    _write(folder, sums(folder), contents)


def _write(folder: str | Path, listed: Mapping[str, str], contents: Mapping[str, bytes | None]) -> None:
    """Write or remove (None) files below a folder, and the sums of these beside those that are listed."""
    there = {name: data for name, data in contents.items() if data is not None}
    summed = {**listed, **{name: hashlib.sha256(data).hexdigest() for name, data in there.items()}}
    lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(summed.items()))
    files.replace_all(folder, {**contents, SUMS: lines.encode("utf-8")})


def begin(folder: str | Path, names: Iterable[str], committed: str | Path = "") -> None:
    """Make files of a folder what they are in another one, or remove them if none is given.

    Parameters
    ----------
    folder : path
        Of records; its other files stay.
    names : iterable of str
        Files below the folder. Those that the other folder lacks are removed.
    committed : path, optional
        The other folder of records.

    Raises
    ------
    RecordError
        A file of the other folder is damaged.
    """
    begun = set(names)
    contents: dict[str, bytes | None] = dict.fromkeys(begun)
    known: list[Run] = []
    if committed:
        listed = sums(committed)
        contents = {name: content_if_any(committed, name, listed) for name in begun}
        known = [run for run in read_runs(committed).values() if run.study in begun]
    with files.alone(folder):
        known = [*(run for run in read_runs(folder).values() if run.study not in begun), *known]
        listed = {name: digest for name, digest in sums(folder).items() if name not in begun}
        _write(folder, listed, {**contents, runs.FILE: runs.encode(known)})


def _account(listed: dict[str, Run], known: Mapping[str, Run], study: Study, frame: pd.DataFrame) -> None:
    """Let the new runs of a study say how many older lines are gone."""
    fresh = [run for run in listed.values() if run.study == study.file and run.run not in known]
    had = sum(run.lines - run.replaced for run in known.values() if run.study == study.file)
    gone = had + sum(run.lines for run in fresh) - len(frame)
    if gone > 0 and not fresh:  # lines were taken out and none put in
        loss = runs.of_loss(study.file, gone, known)
        listed[loss.run] = loss
    for run in fresh:
        replaced = min(gone, run.lines) if run is not fresh[-1] else gone
        listed[run.run] = run._replace(replaced=replaced)
        gone -= replaced


def fold_in(
    study: Study,
    paths: Iterable[str | Path],
    folder: str | Path,
    lines_of: LinesOf = lambda record: [record],
) -> Change:
    """Fold files of fits into a record, which need not exist; a unit is replaced as a whole.

    Of two runs of a unit the one of the later day is kept; of the same day, the one of the later file, and a
    file rather than the record. Folding the same files in twice changes nothing.

    Parameters
    ----------
    study : Study
    paths : iterable of path
        Files of records, each with the stamp of its job as ``run`` (`store.write_records`).
    folder : path
        Of the records.
    lines_of : callable
        Record -> its lines.

    Raises
    ------
    RecordError
        A damaged file or record; nothing is written then.
    """
    return replace_units(folder, {study: collected(study, paths, lines_of)})[study.file]


def put(
    folder: str | Path,
    made: Mapping[Study, Iterable[dict[str, Any]]],
    keep: bool = True,
) -> dict[str, Change]:
    """Put lines that were made just now into records, which need not exist; those of all studies or of none.

    Parameters
    ----------
    folder : path
        Of the records.
    made : mapping
        Study -> its lines.
    keep : bool
        Whether other units of the records are kept.

    Returns
    -------
    changes : dict
        File -> what changed.

    Raises
    ------
    RecordError
        Two lines of one name, a damaged record, or what `Study.check` refuses; nothing is written then.
    """
    stamp = runs.stamp()
    units: dict[Study, dict[Unit, Made]] = {}
    for study, lines in made.items():
        units[study] = grouped(study, ((line, stamp) for line in lines), 0, study.file)
    return replace_units(folder, units, keep)


def replace_units(
    folder: str | Path,
    new: Mapping[Study, Mapping[Unit, Made]],
    keep: bool = True,
    settle: Callable[[dict[Study, pd.DataFrame]], None] = lambda frames: None,
) -> dict[str, Change]:
    """Put units into the records of several studies, all or none of them; what changed, by file.

    Parameters
    ----------
    folder : path
        Of the records.
    new : mapping
        Study -> its units.
    keep : bool
        Whether other units of the records are kept.
    settle : callable
        Takes the lines of all these records, which are about to be written, and may drop some.

    Raises
    ------
    RecordError
        A damaged record, or what `Study.check` refuses; nothing is written then.
    """
    frames: dict[Study, pd.DataFrame] = {}
    made, changes = [], {}
    with files.alone(folder):
        known = read_runs(folder)
        for study, units in new.items():
            frames[study], fresh, changes[study.file] = merge(study, load(study, folder), units, known, keep)
            made += fresh
        settle(frames)
        save(folder, frames, made, {})
    return changes
