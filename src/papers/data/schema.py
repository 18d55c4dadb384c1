"""Types of the registry's entries, as ``sources.schema.json`` describes them."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

Kind = Literal["datasets", "regression", "classification", "relaxed"]
"""Sections of the QP, the Power-EP (two) and the relaxed-EP papers' sets."""


class File(TypedDict):
    """A raw file: path below ``raw/``, checksum and size as stored and, if compressed, of the plain bytes."""

    path: str
    sha256: str
    bytes: int
    urls: list[str]
    plain_sha256: NotRequired[str]
    plain_bytes: NotRequired[int]


class _About(TypedDict):
    title: str
    row: str
    papers: list[str]
    licence: str
    citation: str


class _Reading(TypedDict, total=False):
    """How a described table is read (`papers.data.described`)."""

    delimiter: str
    header: bool
    target: str | int
    positive: list[str | int]
    negative: list[str | int]
    drop: list[str | int]
    one_hot: list[str | int]
    missing: list[str | int]


class Entry(_About, _Reading, total=False):
    """A data set of any section but ``images``; which fields it has is the section's schema."""

    task: str
    file: str
    files: list[str]
    optional_files: list[str]
    bundled: str
    label: str
    shape: list[int]
    shapes: dict[str, list[int]]
    labels: dict[str, list[int]]
    columns: int
    quirks: str


class Described(_Reading):
    """An entry of ``sets``."""

    title: str
    task: Literal["classification", "counts", "regression"]
    licence: str
    citation: str
    files: list[File]
    shape: list[int]


class Images(_About):
    """Images with labels: files and shapes of the part to train and the part to test."""

    files: dict[str, list[str]]
    label: str
    shapes: dict[str, list[int]]
    quirks: str


class Registry(TypedDict):
    """The whole file."""

    version: int
    files: dict[str, File]
    datasets: dict[str, Entry]
    regression: dict[str, Entry]
    classification: dict[str, Entry]
    relaxed: dict[str, Entry]
    images: dict[str, Images]
    sets: NotRequired[dict[str, Described]]


class Line(TypedDict):
    """A row of `registry.table_of_datasets`; ``set`` is the name with its paper, of which there is one."""

    set: str
    name: str
    row: str
    task: str
    rows: int
    features: int
    bytes: int | str
    present: str
    licence: str
    citation: str
    source: str
