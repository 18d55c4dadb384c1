"""Records kept as a job makes them: a killed one goes on, and one that is asked for more makes only that.

Beside the file of a job is another, with a line a record, written at once. Whoever makes the file again, or
another of its folder, gets the records in these that the same code made under the same choices. A line begins
with its check sum: one that a kill cut off, or that was damaged, is none, and its record is made again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
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
    """Records that are kept in the folder of a job's file, made by the code and choices of a stamp."""
    files = sorted(place(path).parent.glob(f"*{OWN}"))
    return [record for file in files for record in _lines(file, stamp).values()]


def _lines(path: Path, stamp: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Whole lines of a file, if there is one, without their sums, and the records they hold.

    Those alone whose stamp is of the same code and choices, data of one's own among them.
    """
    content = path.read_text(encoding="ascii", errors="replace") if path.is_file() else ""
    found, alike = {}, {name: stamp[name] for name in ("source", "protocol")}
    for line in content.split("\n")[:-1]:
        text = line[9:]
        if line == _summed(text):
            record = json.loads(text)
            if all(record[RUN][name] == value for name, value in alike.items()):
                found[text] = record
    return found


def _summed(line: str) -> str:
    """A line with its check sum before it."""
    return f"{zlib.crc32(line.encode()):08x} {line}"


def noted(path: str | Path, records: Records, stamp: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The records, stamped; those that have no stamp yet are written down before the next is made.

    Parameters
    ----------
    path : str or Path
        The job's file.
    records : iterable of dict
        With a ``run`` if they are of `before`.
    stamp : dict
        Of those without; its ``source`` is the hash of the code.
    """
    whole = _lines(place(path), stamp)
    store.write_text(place(path), "".join(f"{_summed(line)}\n" for line in whole))
    with open(place(path), "a", encoding="ascii", buffering=1) as file:
        for record in records:
            if RUN in record:
                yield record
            else:
                stamped = {**record, RUN: stamp}
                file.write(f"{_summed(json.dumps(stamped, allow_nan=False))}\n")
                yield stamped
