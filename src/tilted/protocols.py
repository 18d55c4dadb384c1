"""Named protocols: every choice an experiment makes, as data (``protocols.yaml``)."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

TASKS = ("classification", "counts")
TUNE = "-tune"


@lru_cache(maxsize=1)
def _all() -> dict:
    import yaml

    return yaml.safe_load(resources.files("tilted").joinpath("protocols.yaml").read_text("utf-8"))


def names() -> list[str]:
    """Names of the protocols."""
    return list(_all())


def block(protocol: str, task: str) -> dict:
    """The choices of ``protocol`` for ``task`` ("classification" or "counts").

    Raises
    ------
    ValueError
        For an unknown protocol or task; the message lists the known ones.
    """
    if protocol not in _all():
        raise ValueError(f"unknown protocol '{protocol}'; known: {', '.join(names())}")
    if task not in TASKS:
        raise ValueError(f"unknown task '{task}'; known: {', '.join(TASKS)}")
    return _all()[protocol][task]


def method(protocol: str, task: str, name: str) -> dict:
    """The spec of one method; ``NAME-tune`` is the first tuning of a method tuned twice.

    Raises
    ------
    ValueError
        For a method the protocol does not have; the message lists what it has.
    """
    methods = block(protocol, task)["methods"]
    job = job_of(methods, name)
    if job is None:
        raise ValueError(
            f"protocol '{protocol}' has no method '{name}' for {task}; known: {', '.join(methods)}"
        )
    return methods[job]


def choices(protocol: str, task: str, name: str) -> dict:
    """All that a protocol says about one method: the task's choices and, as ``method``, its spec.

    Raises
    ------
    ValueError
        As `block` and `method`.
    """
    shared = {key: value for key, value in block(protocol, task).items() if key != "methods"}
    return {**shared, "method": method(protocol, task, name)}


def job_of(methods: dict, record: str) -> str | None:
    """The method whose job writes records called ``record``, or None."""
    if record in methods:
        return record
    base = record.removesuffix(TUNE)
    return base if base != record and methods.get(base, {}).get("tunings", 1) > 1 else None
