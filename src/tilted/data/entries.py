"""Entries of the registry by kind: the sets of the Power-EP paper, ``regression`` and ``classification``."""

from __future__ import annotations

from pathlib import Path

from tilted.data.registry import DataError, RegistryError, data_home, load_registry


def names(kind: str, home: str | Path | None = None) -> list[str]:
    """Names of the sets of a kind."""
    return list(load_registry(home)[kind])


def entry_of(kind: str, name: str, home: str | Path | None = None) -> dict:
    """The registry's entry of a set; DataError listing the known ones for an unknown name."""
    known = load_registry(home)[kind]
    if name not in known:
        raise DataError(f"unknown {kind} set '{name}'; known: {', '.join(known)}")
    return known[name]


def raw_file(kind: str, name: str, home: str | Path | None = None) -> dict:
    """File entry of a set.

    Raises
    ------
    DataError
        For an unknown name, or (RegistryError) an entry that names an unknown file.
    """
    file, files = entry_of(kind, name, home)["file"], load_registry(home)["files"]
    if file not in files:
        raise RegistryError(f"sources.yaml: {kind}/{name} names unknown file '{file}'")
    return files[file]


def provenance(entry: dict, file: dict) -> dict:
    """Where a set comes from, as ``standard.Dataset`` has it."""
    about = {key: entry[key] for key in ("title", "citation", "licence")}
    return {**about, "files": {file["path"]: file.get("plain_sha256", file["sha256"])}, "bundled": ""}


def table(kind: str, task: str, shape_of, home: str | Path | None = None) -> list[dict]:
    """One row a set, as ``registry.table_of_datasets``; ``shape_of`` takes an entry to rows and features."""
    root, found = data_home(home), []
    for name in names(kind, home):
        entry, file = entry_of(kind, name, home), raw_file(kind, name, home)
        rows, features = shape_of(entry)
        here = (root / "raw" / file["path"]).is_file()
        line = {"name": name, "row": entry["row"], "task": task, "rows": rows, "features": features}
        line |= {"bytes": file["bytes"], "present": "yes" if here else "no"}
        line |= {key: entry[key] for key in ("licence", "citation")}
        found.append(line | {"source": file["urls"][0] if file["urls"] else "-"})
    return found
