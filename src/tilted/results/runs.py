"""Provenance of compact records: which code, protocol, packages and processor made each seed.

Every fit record carries a stamp (`tilted.provenance.stamp`). ``provenance.json`` gathers the stamps of
a folder of compact records: one entry a (protocol, data set, method, stamp) with the seeds it covers,
how many fits these are, how many converged, and the processor seconds they took.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.provenance import content_hash
from tilted.results import spans
from tilted.results.compact import OK
from tilted.results.store import RecordError, write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FILE = "provenance.json"
SEED = ("protocol", "dataset", "method", "seed")
STAMP = ("source", "choices", "environment", "date")
UNKNOWN = dict.fromkeys(STAMP, "")
"""Stamp of a record that has none."""


@dataclass(frozen=True)
class Runs:
    """Stamps of seeds.

    Attributes
    ----------
    seeds : dict
        (protocol, data set, method, seed), or another key, -> stamp, its environment named by a hash.
    environments : dict
        Hash -> package versions and processor.
    """

    seeds: dict[tuple[Any, ...], dict[str, str]] = field(default_factory=dict)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, key: tuple[Any, ...], stamp: dict[str, Any]) -> None:
        """Note the stamp of a seed as its records have it (`tilted.provenance.stamp`)."""
        name = content_hash(stamp["environment"]) if stamp["environment"] else ""
        if name:
            self.environments[name] = stamp["environment"]
        self.seeds[key] = {**stamp, "environment": name}

    def date(self, key: tuple[Any, ...]) -> str:
        """Day of the run that made a seed, ISO; empty if unknown."""
        return self.seeds.get(key, UNKNOWN)["date"]


@dataclass(frozen=True)
class Change:
    """What folding new records into a folder did, in its units (fits, seeds), and a note."""

    unit: str
    added: int
    replaced: int
    kept: int
    outdated: int
    note: str = ""

    def __str__(self) -> str:
        parts = [f"{self.added} {self.unit} added, {self.replaced} replaced, {self.kept} kept"]
        if self.outdated:
            parts.append(f"{self.outdated} {self.unit} passed over, older than the records")
        return "; ".join([*parts, *([self.note] if self.note else [])])


def read(folder: str | Path, name: str = FILE, key: tuple[str, ...] = SEED) -> Runs:
    """Stamps of the compact records in a folder; none if it has no such file.

    The last part of the key is a number, listed under its plural.

    Raises
    ------
    RecordError
        The file is damaged; the message names it.
    """
    path = Path(folder, name)
    if not path.is_file():
        return Runs()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        runs = Runs(environments=content["environments"])
        for entry in content["runs"]:
            fit = [entry[part] for part in key[:-1]]
            stamp = {part: entry[part] for part in STAMP}
            for seed in spans.numbers(entry[f"{key[-1]}s"]):
                runs.seeds[*fit, seed] = stamp
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{path}: damaged ({error!r})") from error
    return runs


def write(runs: Runs, frame: pd.DataFrame, folder: str | Path, name: str = FILE) -> Path:
    """Write the stamps of the seeds in a frame, with counts and times taken from the frame."""
    return write_text(Path(folder, name), encode(runs, frame))


def encode(runs: Runs, frame: pd.DataFrame, key: tuple[str, ...] = SEED) -> str:
    """What `write` writes."""
    listed = list(entries(runs, frame, key))
    used = {entry["environment"] for entry in listed}
    environments = {name: runs.environments[name] for name in sorted(used) if name}
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in listed)
    packages = json.dumps(environments, indent=1, sort_keys=True)
    return f'{{"environments": {packages},\n"runs": [\n{lines}\n]}}\n'


def entries(runs: Runs, frame: pd.DataFrame, key: tuple[str, ...] = SEED) -> Iterator[dict[str, Any]]:
    """One dictionary a (protocol, data set, method, stamp), or of another key, in the frame's order."""
    import pandas as pd

    keys = list(zip(*(frame[name] for name in key), strict=True))
    stamps = pd.DataFrame([runs.seeds.get(name, UNKNOWN) for name in keys], columns=list(STAMP))
    lines = pd.concat([frame.reset_index(drop=True), stamps], axis=1)
    for name, part in lines.groupby([*key[:-1], *STAMP], sort=False):
        yield {
            **dict(zip([*key[:-1], *STAMP], name, strict=True)),
            f"{key[-1]}s": spans.spans(set(part[key[-1]].tolist())),
            "n_attempted": len(part),
            "n_converged": int((part["outcome"] == OK).sum()),
            "core_seconds": round(float(part["seconds"].sum()), 3),
        }


@lru_cache(maxsize=1024)
def todays(protocol: str, dataset: str, method: str) -> tuple[str, str] | None:
    """Source and choices hash that a fit would be stamped with today; None if there is no such fit."""
    from tilted import protocols
    from tilted.experiments import qp
    from tilted.provenance import closure_hash

    try:
        choices = protocols.choices(protocol, qp.task_of(dataset), method)
        return closure_hash(*qp.modules_of(protocol, dataset, method)), content_hash(choices)
    except ValueError:
        return None
