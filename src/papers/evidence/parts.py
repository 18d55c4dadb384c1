"""What a paper hands to the artifacts of all papers: its chapter of the audit, and what is loud."""

from __future__ import annotations

from typing import NamedTuple

from papers.evidence.audit import Chapter


class Written(NamedTuple):
    """What the common artifacts take up.

    Attributes
    ----------
    audit : list of audit.Chapter
        One, or none without a record.
    loud : list of str
        What nobody should overlook (`standing.loud`).
    """

    audit: list[Chapter]
    loud: list[str]
