"""Records kept as a job makes them: a killed job goes on, and one that is asked for more makes only that.

Beside the file of a job is another, with a line a record, written at once. A job that makes the file again,
or another of its folder, gets the records in these that the same code made under the same choices. A line
that a kill cut off is no JSON: its record is made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import store
from papers.core.study import RUN

if TYPE_CHECKING:
    from typing import Any

    Records = Iterable[dict[str, Any]]

ENDING, OWN = ".jsonl.gz", ".kept"


def place(path: str | Path) -> Path:
    """Return the path at which the records of a job's file are kept."""
    return Path(path).with_name(Path(path).name.removesuffix(ENDING) + OWN)


def before(path: str | Path, stamp: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the kept records in the folder of a job's file, made by the code and choices of a stamp."""
    files = sorted(place(path).parent.glob(f"*{OWN}"))
    return [record for file in files for record in _records(file, stamp)]


def _records(path: Path, stamp: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the records of a file, if there is one, by the code and choices (and user's data) of a stamp."""
    for line in path.read_text(encoding="ascii").splitlines() if path.is_file() else ():
        with suppress(ValueError):
            record = json.loads(line)
            if all(record[RUN][name] == stamp[name] for name in ("source", "protocol")):
                yield record


def saved(path: str | Path, records: Records, stamp: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the records, stamped; those without a stamp are written down before the next is made.

    Parameters
    ----------
    path : str or Path
        The job's file.
    records : iterable of dict
        With a ``run`` if they are of `before`.
    stamp : dict
        Of those without; its ``source`` is the hash of the code.
    """
    lines = [f"{json.dumps(record)}\n" for record in _records(place(path), stamp)]
    store.write_text(place(path), "".join(dict.fromkeys(lines)))
    with open(place(path), "a", encoding="ascii", buffering=1) as file:
        for record in records:
            if RUN not in record:
                record = {**record, RUN: stamp}
                file.write(f"{json.dumps(record, allow_nan=False)}\n")
            yield record
