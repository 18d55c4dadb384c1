"""Named protocols: every choice an experiment makes, as data (``protocols.yaml``).

A *derived* protocol, ``BASE+NAME`` such as ``as-released+ard``, is the protocol BASE with the one change that
``differences.yaml`` gives for NAME. Each difference between a paper and its code is thus measured alone.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import files

if TYPE_CHECKING:
    from typing import Any

TASKS = ("classification", "counts")
TUNE = "-tune"
RELEASED = "-released"
"""Suffix of a record: the same fit, predicted and scored as the released code does (`vb_released`)."""

PLUS = "+"


@lru_cache(maxsize=2)
def _load(file: str) -> dict[str, Any]:
    return dict(files.read_yaml(Path(__file__).with_name(file)))


def names() -> list[str]:
    """Return the names of the protocols (without derived ones)."""
    return list(_load("protocols.yaml"))


def differences() -> dict[str, dict[str, Any]]:
    """Return the differences by name, as in ``differences.yaml``."""
    return _load("differences.yaml")


def derived() -> list[str]:
    """Return the names of the derived protocols."""
    return [entry["base"] + PLUS + name for name, entry in differences().items() if "change" in entry]


def block(protocol: str, task: str) -> dict[str, Any]:
    """Return the choices of ``protocol`` for ``task`` ("classification" or "counts").

    Raises
    ------
    ValueError
        For an unknown protocol or task, or a derived protocol that changes nothing for the task; the
        message lists the known ones.
    """
    base, plus, name = protocol.partition(PLUS)
    if base not in names():
        raise ValueError(f"unknown protocol '{protocol}'; known: {', '.join(names())}")
    if plus and protocol not in derived():
        changes = [d.partition(PLUS)[2] for d in derived() if d.startswith(base + PLUS)]
        raise ValueError(f"unknown protocol '{protocol}'; '{base}' has the differences: {', '.join(changes)}")
    if task not in TASKS:
        raise ValueError(f"unknown task '{task}'; known: {', '.join(TASKS)}")
    choices = _load("protocols.yaml")[base][task]
    if not plus:
        return choices
    change = differences()[name]["change"]
    if task not in change:
        raise ValueError(f"'{name}' changes nothing for {task}, only for {', '.join(change)}")
    return merged(choices, change[task])


def merged(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return ``base`` with the entries of ``change``, which may be nested; neither is altered."""
    out = dict(base)
    for key, value in change.items():
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out


def method(protocol: str, task: str, name: str) -> dict[str, Any]:
    """Return the spec of one method, or of the method whose job writes records of this name (`job_of`).

    Raises
    ------
    ValueError
        For a method the protocol does not have; the message lists what it has.
    """
    methods = block(protocol, task)["methods"]
    job = job_of(methods, name)
    if job is None:
        known = ", ".join(methods)
        raise ValueError(f"protocol '{protocol}' has no method '{name}' for {task}; known: {known}")
    return methods[job]


def choices(protocol: str, task: str, name: str) -> dict[str, Any]:
    """Return all choices of a protocol for one method: the task's choices and, as ``method``, its spec.

    Raises
    ------
    ValueError
        As `block` and `method`.
    """
    shared = {key: value for key, value in block(protocol, task).items() if key != "methods"}
    return {**shared, "method": method(protocol, task, name)}


def job_of(methods: dict[str, Any], record: str) -> str | None:
    """Return the method whose job writes records called ``record``, or None.

    A method writes records of its own name. One that is tuned twice also writes ``NAME-tune``, and one that
    replays the released code ``NAME-released``.
    """
    if record in methods:
        return record
    further = (name for name, spec in methods.items() if record in further_records(name, spec))
    return next(further, None)


def further_records(name: str, spec: dict[str, Any]) -> list[str]:
    """Return the names of the further records that a method's job writes, without ``NAME``."""
    tuned = [name + TUNE] * (spec.get("tunings", 1) > 1)
    return tuned + [name + RELEASED] * bool(spec.get("released"))
