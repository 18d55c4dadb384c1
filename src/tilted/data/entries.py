"""Entries of the registry by kind: the sets of the Power-EP and the relaxed-EP paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tilted.data.registry import DataError, RegistryError, data_home, load_registry

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.data.schema import Entry, File, Kind, Line


def names(kind: Kind, home: str | Path | None = None) -> list[str]:
    """Names of the sets of a kind."""
    return list(load_registry(home)[kind])


def entry_of(kind: Kind, name: str, home: str | Path | None = None) -> Entry:
    """The registry's entry of a set; DataError listing the known ones for an unknown name."""
    known = load_registry(home)[kind]
    if name not in known:
        raise DataError(f"unknown {kind} set '{name}'; known: {', '.join(known)}")
    return known[name]


def raw_files(kind: Kind, name: str, home: str | Path | None = None) -> list[File]:
    """File entries of a set, in order.

    Raises
    ------
    DataError
        For an unknown name, or (RegistryError) an entry that names an unknown file.
    """
    entry, files = entry_of(kind, name, home), load_registry(home)["files"]
    keys = entry["files"] if "files" in entry else [entry["file"]]
    unknown = [key for key in keys if key not in files]
    if unknown:
        raise RegistryError(f"sources.yaml: {kind}/{name} names unknown files {unknown}")
    return [files[key] for key in keys]


def provenance(entry: Entry, files: list[File]) -> dict[str, object]:
    """Where a set comes from, as ``standard.Dataset`` has it."""
    return {
        "title": entry["title"],
        "citation": entry["citation"],
        "licence": entry["licence"],
        "files": {file["path"]: file.get("plain_sha256", file["sha256"]) for file in files},
        "bundled": "",
    }


def table(
    kind: Kind, task: str, shape_of: Callable[[Entry], list[int]], home: str | Path | None = None
) -> list[Line]:
    """One row a set, as ``registry.table_of_datasets``; ``shape_of`` takes an entry to rows and features."""
    root = data_home(home)
    found: list[Line] = []
    for name in names(kind, home):
        entry, files = entry_of(kind, name, home), raw_files(kind, name, home)
        rows, features = shape_of(entry)
        here = all((root / "raw" / file["path"]).is_file() for file in files)
        found.append(
            {
                "name": name,
                "row": entry["row"],
                "task": task,
                "rows": rows,
                "features": features,
                "bytes": sum(file["bytes"] for file in files),
                "present": "yes" if here else "no",
                "licence": entry["licence"],
                "citation": entry["citation"],
                "source": files[0]["urls"][0] if files[0]["urls"] else "-",
            }
        )
    return found
