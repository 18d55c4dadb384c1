"""What a paper hands to the artifacts of all papers: its chapter of the audit, its part of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from papers.evidence.audit import Chapter


@dataclass(frozen=True)
class FigureFile:
    """An image on disk and the caption printed under it."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Table:
    """A table of a further paper: heading, header, rows of texts."""

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """A further paper's part of the report."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[Table] = ()
    figures: Sequence[FigureFile] = ()


class Written(NamedTuple):
    """What the common artifacts take up.

    Attributes
    ----------
    audit : list of audit.Chapter
        One, or none without a record.
    report : list of Part
    loud : list of str
        What nobody should overlook (`standing.loud`).
    """

    audit: list[Chapter]
    report: list[Part]
    loud: list[str]
