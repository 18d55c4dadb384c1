"""The chapters of the audit, from the rule of one paper to that of all, and warnings about its records.

From one rule of the workflow to the next a chapter goes as JSON: text, numbers and nothing that could run.
Numbers that are none are written as Python's `json` does, ``NaN`` and ``Infinity``.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core.audit import Chapter
from papers.core.store import RecordError, write_text
from papers.core.verdicts import Block, Finding, Inference, Line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import numpy as np


class Written(NamedTuple):
    """The contribution of one paper to the artifacts of all.

    Attributes
    ----------
    audit : list of audit.Chapter
        One, or none without a record.
    loud : list of str
        What nobody should overlook (`provenance.warnings`).
    """

    audit: list[Chapter]
    loud: list[str]


def write_chapters(chapters: Sequence[Chapter], path: str | Path) -> Path:
    """Write what `read_chapters` reads, to the last digit."""
    return write_text(Path(path), json.dumps([asdict(chapter) for chapter in chapters], default=_plain))


def _plain(value: np.generic) -> int | float | bool:
    return value.item()


def read_chapters(path: str | Path) -> list[Chapter]:
    """Chapters of a file.

    Raises
    ------
    RecordError
        It is no JSON, or its parts are others than those of chapters.
    """
    try:
        said = json.loads(Path(path).read_text(encoding="utf-8"))
        return [Chapter(**{**one, "findings": list(map(_finding, one["findings"]))}) for one in said]
    except (ValueError, TypeError, KeyError) as error:
        raise RecordError(f"{path} has no chapters of the audit ({error}); delete it and run again") from None


def _finding(said: Mapping[str, Any]) -> Finding:
    return Finding(**{**said, "blocks": tuple(map(_block, said["blocks"]))})


def _block(said: Mapping[str, Any]) -> Block:
    return Block(**{**said, "lines": tuple(map(_line, said["lines"]))})


def _line(said: Mapping[str, Any]) -> Line:
    return Line(**{**said, **{name: Inference(**said[name]) for name in ("sample", "general")}})
