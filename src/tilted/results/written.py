"""What the artifacts of a further paper hand to the common ones."""

from __future__ import annotations

from typing import NamedTuple

from tilted.results import report
from tilted.results.audit.text import Chapter


class Written(NamedTuple):
    """What the common artifacts take up.

    Attributes
    ----------
    audit : list of audit.text.Chapter
        One, or none without a record.
    report : list of report.Part
    loud : list of str
        What was not made by today's source.
    """

    audit: list[Chapter]
    report: list[report.Part]
    loud: list[str]
