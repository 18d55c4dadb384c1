"""Variants of data sets: the module that reads the raw files of ``data/standard/VARIANT/NAME.h5``."""

from __future__ import annotations

from papers.data import classification, registry, regression, relaxed, standard

MODULES = {"regression": regression, "relaxed": relaxed, "classification": classification}


def reader(variant: str) -> tuple[str, list[str]]:
    """Return the name of the module that reads a variant, and the arguments of its ``load`` behind the name.

    A variant is a family with or without a protocol (``relaxed``, ``classification/corrected``), or one
    of the first paper's protocols (``as-released``).
    """
    family, _, protocol = variant.partition("/")
    if family in MODULES:
        return MODULES[family].__name__, [protocol] if protocol else []
    return standard.__name__, [variant]


def raw_paths(variant: str, name: str) -> list[str]:
    """Return the paths of the raw files of a data set."""
    entries = MODULES.get(variant.partition("/")[0], registry)
    return [f"data/raw/{file['path']}" for file in entries.raw_files(name, "data")]
