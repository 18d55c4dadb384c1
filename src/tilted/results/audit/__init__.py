"""The audit: which claims of the papers hold, under each protocol, and what says so.

Here are the claims of the QP paper; other papers hand in a `text.Chapter` of their own (`pep.claims`).
``statistics`` and ``paired`` (one room up) estimate; here

``verdicts``    lines, blocks, findings, and the rule from rows to a verdict
``rows``        paired scores tested as one family
``scores``      QP1 to QP4
``variances``   QP5, QP6
``projection``  QP7
``lookup``      QP8, QP9
``text``        audit.csv, audit_rows.csv, audit.md

``docs/audit-method.md`` explains the choices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilted import protocols
from tilted.results import stamps, studies
from tilted.results.audit import lookup, projection, scores, text, variances
from tilted.results.audit.text import Chapter
from tilted.results.audit.verdicts import Block, Finding
from tilted.results.audit.wording import HEADING, LEGEND, MEANINGS, TITLES

if TYPE_CHECKING:
    import pandas as pd


class Studies(NamedTuple):
    """The small studies beside the records; None where one was not made (`studies.read`)."""

    timing: pd.DataFrame | None = None
    lookup_effect: pd.DataFrame | None = None


Judge = Callable[["pd.DataFrame", Studies, str], "list[Block]"]

CLAIMS: dict[str, Judge] = {
    "QP1": lambda fits, made, protocol: scores.similar_errors(fits, protocol),
    "QP2": lambda fits, made, protocol: scores.no_higher_ntll(fits, protocol),
    "QP3": lambda fits, made, protocol: scores.asterisks(fits, protocol),
    "QP4": lambda fits, made, protocol: scores.worse_vb(fits, protocol),
    "QP5": lambda fits, made, protocol: variances.never_above(fits, protocol),
    "QP6": lambda fits, made, protocol: variances.poisson(fits, protocol),
    "QP7": lambda fits, made, protocol: projection.one_tilted(protocol),
    "QP8": lambda fits, made, protocol: lookup.same_time(made.timing, protocol),
    "QP9": lambda fits, made, protocol: lookup.unstable(made.lookup_effect, protocol),
}

STUDIED = {"QP8": studies.TIMING, "QP9": studies.EFFECT}
"""Claim -> the study behind it, whose source is named beside its numbers."""


def judge(frame: pd.DataFrame, made: Studies | None = None) -> list[Finding]:
    """Every claim under every protocol.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records with their column ``protocol``, in any order; protocols that are absent
        leave the claims about fits not testable.
    made : Studies, optional

    Returns
    -------
    findings : list of Finding
        By claim, then by protocol.
    """
    parts = {name: frame[frame["protocol"] == name] for name in protocols.names()}
    return [
        Finding(claim, name, tuple(judged(fits, made or Studies(), name)))
        for claim, judged in CLAIMS.items()
        for name, fits in parts.items()
    ]


def write_audit(
    frame: pd.DataFrame,
    folder: str | Path,
    claims: str | Path,
    folder_of_studies: str | Path | None = None,
    appendix: str = "",
    others: Sequence[Chapter] = (),
) -> list[Path]:
    """Write ``audit.csv``, ``audit_rows.csv`` and ``audit.md``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records of all protocols.
    folder : str or Path
        Where the tables go.
    claims : str or Path
        The published claims, a CSV with columns id, paper, where, claim.
    folder_of_studies : str or Path, optional
        Folder in which `studies.TIMING` and `studies.EFFECT` are looked for.
    appendix : str
        Markdown after the claims of this paper.
    others : sequence of Chapter
        Other papers.

    Returns
    -------
    paths : list of Path

    Raises
    ------
    ValueError
        A claim is not in the list, or a study is damaged (`studies.read`).
    """
    found = {name: studies.read(folder_of_studies, name) for name in (studies.TIMING, studies.EFFECT)}
    notes = {claim: stamps.note(studies.made(name, found[name])) for claim, name in STUDIED.items()}
    ours = Chapter(HEADING, judge(frame, Studies(*found.values())), TITLES, MEANINGS, LEGEND, notes, appendix)
    needed = [*CLAIMS, *(finding.id for other in others for finding in other.findings)]
    return text.write([ours, *others], text.read_claims(claims, needed), Path(folder))


__all__: Sequence[str] = ("CLAIMS", "Studies", "judge", "write_audit")
