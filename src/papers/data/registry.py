"""The registry of data sets, ``data/sources.yaml``."""

from __future__ import annotations

import json
import math
import os
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from papers.core import files
from papers.core.files import MissingData
from papers.data import user_sets
from tilted.numerics.words import nearest

if TYPE_CHECKING:
    Entry = dict[str, Any]
    """Entry of a set, a file, or the whole registry; ``sources.schema.json`` defines its fields."""

DATASETS = "datasets"
VARIANTS = ("as-released", "as-described", "corrected")
VARIABLE = "TILTED_DATA"
OWN = Path(__file__).resolve().parents[3] / "data"
"""Data folder of the checkout that this package is installed from."""


class DataError(MissingData):
    """An error in data or in their registry; the message names the file and the error."""


class RegistryError(DataError):
    """An error in ``sources.yaml``; the message names the offending entry."""


def data_home(explicit: str | Path | None = None) -> Path:
    """Return the folder with ``sources.yaml``, ``raw/`` and ``standard/``.

    This is the argument, else the environment variable ``TILTED_DATA``, else ``data/`` of the source checkout
    that this package is installed from.

    Raises
    ------
    DataError
        If there is no ``sources.yaml`` in it.
    """
    from_environment = os.environ.get(VARIABLE)
    home = Path(explicit or from_environment or OWN)
    if not (home / "sources.yaml").is_file():
        by = f", which {VARIABLE} names; unset it, or" if from_environment and not explicit else ";"
        raise DataError(
            f"no sources.yaml in {home}{by} set {VARIABLE} to the data/ folder of a checkout of tilted"
        )
    return home


def load_registry(home: str | Path | None = None) -> Entry:
    """Return the validated registry, with the entries of ``sets`` also in the sections of their tasks.

    Raises
    ------
    RegistryError
        If the file is not valid YAML or breaks its schema; names the offending entry.
    """
    path = data_home(home) / "sources.yaml"
    return _load(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)
def _load(path: Path, _stamp: int) -> Entry:
    try:
        registry: Entry = files.read_yaml(path)
    except ValueError as error:
        raise RegistryError(f"{path} is not valid YAML: {error}") from None
    validate(registry, schema(), path)
    wrong = user_sets.place(registry, VARIANTS)
    if wrong:
        raise RegistryError(f"{path}: {wrong}")
    named = [
        (f"{kind}/{name}", [*_keys(entry), *entry.get("optional_files", [])])
        for kind in TASKS
        for name, entry in registry[kind].items()
    ]
    named += [
        (f"images/{name}", sum(images["files"].values(), [])) for name, images in registry["images"].items()
    ]
    for where, keys in named:
        unknown = sorted(set(keys) - set(registry["files"]))
        if unknown:
            raise RegistryError(f"{path}: {where} names unknown files {unknown}")
    return registry


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the registry."""
    content = Path(__file__).with_name("sources.schema.json").read_text(encoding="utf-8")
    return dict(json.loads(content))


def validate(content: object, rules: dict[str, Any], path: Path) -> None:
    """Raise RegistryError for the first entry that the rules, a JSON Schema, do not allow; name its place."""
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(rules).iter_errors(content)), None)
    if error is not None:
        where = "/".join(str(step) for step in error.absolute_path) or "top level"
        about = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
        message = about if about and error.validator == "not" else error.message
        message += f" ({about})" if about and error.validator in ("pattern", "type") else ""
        if error.validator == "additionalProperties" and error.absolute_path:
            message += f"; known: {', '.join(error.schema['properties'])}"
        raise RegistryError(f"{path}: {where}: {message}")


def names_of(kind: str, home: str | Path | None = None) -> list[str]:
    """Return the names of the sets of a kind."""
    return list(load_registry(home)[kind])


def entry(kind: str, name: str, home: str | Path | None = None) -> Entry:
    """Return the registry's entry of a set; DataError for an unknown name lists the known ones."""
    entries = load_registry(home)[kind]
    if name not in entries:
        noun = "data" if kind == DATASETS else kind
        sections = [section for section in PAPERS if name in load_registry(home)[section]]
        sections.sort(key=lambda section: PAPERS[section] != PAPERS.get(kind))
        near = (
            f"; it is among the {NOUNS.get(sections[0], sections[0])} sets"
            if sections
            else nearest(name, entries)
        )
        raise DataError(f"unknown {noun} set '{name}'; known: {', '.join(entries)}{near}")
    return entries[name]


def files_of(kind: str, name: str, home: str | Path | None = None) -> list[Entry]:
    """Return the file entries of a set, in order (none for a bundled one); errors as `entry`."""
    files = load_registry(home)["files"]
    return [files[key] for key in _keys(entry(kind, name, home))]


def _keys(entry: Entry) -> list[str]:
    return [entry["file"]] if "file" in entry else entry.get("files", [])


names = partial(names_of, DATASETS)
entry_of = partial(entry, DATASETS)
raw_files = partial(files_of, DATASETS)
"""Names and entries of the QP paper's sets."""


def task_of(name: str, home: str | Path | None = None) -> str:
    """Return the task of a set of the QP paper, "classification" or "counts"; errors as `entry`."""
    return entry_of(name, home)["task"]


def file_entry(path: str, home: str | Path | None = None) -> Entry:
    """Return the registry's entry of the raw file stored as ``path``; DataError if there is none."""
    for file in load_registry(home)["files"].values():
        if file["path"] == path:
            return file
    raise DataError(f"no raw file '{path}' in sources.yaml")


def shape_of(entry: Entry, variant: str) -> list[int]:
    """Return rows and features of a set in a variant."""
    return entry["shape"] if "shape" in entry else entry["shapes"][variant]


WITHOUT_EFFECT = ("title", "licence", "citation")
"""Fields of a user's set that do not affect the numbers."""


def user_data(name: str, home: str | Path | None = None) -> dict[str, Any]:
    """Return the entry of a user's set (``sets``), with the checksums of its files, as ``data``.

    The result is empty for other sets: published ones do not change. It is one of the choices of a job
    (`papers.core.jobs.Job`), so that rows made from other data are recognised.
    """
    about = load_registry(home).get("sets", {}).get(name)
    if about is None:
        return {}
    decides = {field: value for field, value in about.items() if field not in WITHOUT_EFFECT}
    return {"data": decides | {"files": [file["sha256"] for file in about["files"]]}}


def table_of_datasets(home: str | Path | None = None) -> list[dict[str, Any]]:
    """Return one row for each set of every paper: name, table row, task, size, state of download, source."""
    registry = load_registry(home)
    lines = []
    for kind, (task, variant) in TASKS.items():
        for name in registry[kind]:
            about = entry(kind, name, home)
            size = shape_of(about, variant)
            purpose = task or about["task"]
            lines.append(_line(PAPERS[kind], name, about, purpose, size, files_of(kind, name, home), home))
    for name, images in registry["images"].items():
        train, test = images["shapes"]["train"], images["shapes"]["test"]
        files = [registry["files"][key] for keys in images["files"].values() for key in keys]
        size = [train[0] + test[0], math.prod(train[1:])]
        lines.append(_line("pep", name, images, "classification", size, files, home))
    return lines


TASKS: dict[str, tuple[str, str]] = {
    DATASETS: ("", "as-released"),
    "regression": ("regression", "regression"),
    "classification": ("classification (Power EP)", "corrected"),
    "relaxed": ("classification (relaxed EP)", "relaxed"),
}
"""Kind -> task of its sets, empty if each entry has its own, and the variant whose size is listed."""

NOUNS = {DATASETS: "first paper's", "relaxed": "relaxed-EP"}
"""Kind -> noun for its sets in messages, if not its name."""

PAPERS: dict[str, str] = {DATASETS: "qp", "regression": "pep", "classification": "pep", "relaxed": "rep"}
"""Kind -> paper; paper and name together are unique: ``pep:pima`` is another set than ``rep:pima``."""


def _line(
    paper: str,
    name: str,
    about: Entry,
    task: str,
    size: list[int],
    files: list[Entry],
    home: str | Path | None,
) -> dict[str, Any]:
    here = [(data_home(home) / "raw" / file["path"]).is_file() for file in files]
    bundled = about.get("bundled", "")
    return {
        "set": f"{paper}:{name}",
        "name": name,
        "row": about["row"],
        "task": task,
        "rows": size[0],
        "features": size[1],
        "bytes": sum(file["bytes"] for file in files) or "-",
        "present": "bundled" if not files else "yes" if all(here) else "no",
        "licence": about["licence"],
        "citation": about["citation"],
        "source": str(bundled) if not files else files[0]["urls"][0] if files[0]["urls"] else "-",
    }
