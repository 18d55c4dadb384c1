"""The registry of data sets, ``data/sources.yaml``."""

from __future__ import annotations

import json
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.data import sets

if TYPE_CHECKING:
    from tilted.data.schema import Entry, File, Line, Registry

VARIANTS = ("as-released", "as-described", "corrected")


class DataError(ValueError):
    """Data or its registry is not what it must be; the message names the file and what is wrong."""


class RegistryError(DataError):
    """``sources.yaml`` is not valid; the message names the offending entry."""


def data_home(explicit: str | Path | None = None) -> Path:
    """The folder with ``sources.yaml``, ``raw/`` and ``standard/``.

    The argument, else the environment variable ``TILTED_DATA``, else ``data/`` of the source checkout
    that this package is installed from.

    Raises
    ------
    DataError
        If there is no ``sources.yaml`` in it.
    """
    checkout = Path(__file__).resolve().parents[3] / "data"
    home = Path(explicit or os.environ.get("TILTED_DATA") or checkout)
    if not (home / "sources.yaml").is_file():
        raise DataError(
            f"no sources.yaml in {home}; set TILTED_DATA to the data/ folder of a checkout of tilted"
        )
    return home


def load_registry(home: str | Path | None = None) -> Registry:
    """The validated registry, entries of ``sets`` also where sets of their task are (`tilted.data.sets`).

    Raises
    ------
    RegistryError
        If the file is not valid YAML or breaks its schema; names the offending entry.
    """
    path = data_home(home) / "sources.yaml"
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: Path, _stamp: int) -> Registry:
    import yaml

    try:
        registry: Registry = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RegistryError(f"{path} is not valid YAML: {error}") from None
    schema = Path(__file__).with_name("sources.schema.json")
    _validate(registry, json.loads(schema.read_text(encoding="utf-8")), path)
    wrong = sets.place(registry, VARIANTS)
    if wrong:
        raise RegistryError(f"{path}: {wrong}")
    for name, entry in registry["datasets"].items():
        named = {*entry.get("files", []), *entry.get("optional_files", [])}
        unknown = sorted(named - set(registry["files"]))
        if unknown:
            raise RegistryError(f"{path}: datasets/{name} names unknown files {unknown}")
    return registry


def _validate(registry: object, schema: dict[str, object], path: Path) -> None:
    """RegistryError naming the place of the first thing that the schema does not allow."""
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(schema).iter_errors(registry)), None)
    if error is not None:
        where = "/".join(str(part) for part in error.absolute_path) or "top level"
        about = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
        what = about if about and error.validator == "not" else error.message
        what += f" ({about})" if about and error.validator in ("pattern", "type") else ""
        if error.validator == "additionalProperties" and error.absolute_path:
            what += f"; known: {', '.join(error.schema['properties'])}"
        raise RegistryError(f"{path}: {where}: {what}")


def names(home: str | Path | None = None) -> list[str]:
    """Names of the data sets."""
    return list(load_registry(home)["datasets"])


def entry_of(name: str, home: str | Path | None = None) -> Entry:
    """The registry's entry of a data set; DataError listing the known ones for an unknown name."""
    datasets = load_registry(home)["datasets"]
    if name not in datasets:
        raise DataError(f"unknown data set '{name}'; known: {', '.join(datasets)}")
    return datasets[name]


def task_of(name: str, home: str | Path | None = None) -> str:
    """Task of a data set, "classification" or "counts"; errors as `entry_of`."""
    return entry_of(name, home)["task"]


def raw_files(name: str, home: str | Path | None = None) -> list[File]:
    """File entries of a data set, in order (none for a bundled one)."""
    files = load_registry(home)["files"]
    return [files[key] for key in entry_of(name, home).get("files", [])]


def file_entry(path: str, home: str | Path | None = None) -> File:
    """The registry's entry of the raw file stored as ``path``; DataError if there is none."""
    for file in load_registry(home)["files"].values():
        if file["path"] == path:
            return file
    raise DataError(f"no raw file '{path}' in sources.yaml")


def table_of_datasets(home: str | Path | None = None) -> list[Line]:
    """One row a data set: name, row of the paper's table, rows, features, bytes, present, licence, source."""
    root = data_home(home)
    table: list[Line] = []
    for name, entry in load_registry(home)["datasets"].items():
        files = raw_files(name, home)
        rows, features = entry["shapes"]["as-released"]
        source = entry["bundled"] if not files else files[0]["urls"][0] if files[0]["urls"] else "-"
        here = [(root / "raw" / file["path"]).is_file() for file in files]
        table.append(
            {
                "name": name,
                "row": entry["row"],
                "task": entry["task"],
                "rows": rows,
                "features": features,
                "bytes": sum(file["bytes"] for file in files) or "-",
                "present": "bundled" if not files else "yes" if all(here) else "no",
                "licence": entry["licence"],
                "citation": entry["citation"],
                "source": source,
            }
        )
    return table
