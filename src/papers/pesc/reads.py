"""The rows of the PESC records that each claim or figure needs, and those that each job adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.evidence.slices import Slice
from papers.pesc.accuracy import family
from papers.pesc.claims import CLAIMS as OF_PAPER
from papers.pesc.records import ACCURACY, REGRET
from papers.pesc.regret import EVERY

if TYPE_CHECKING:
    from papers.evidence.jobs import Job

CLAIMS: dict[str, tuple[Slice, ...]] = dict.fromkeys(OF_PAPER, (Slice(ACCURACY),))
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs; each figure has the name of its study."""
    return (Slice({"accuracy": ACCURACY, "regret": REGRET}[name]),)


def made_by(job: Job) -> Slice:
    """Return the rows that a job adds."""
    p = job.parameters
    if job.kind == "pesc_accuracy":
        return Slice(
            ACCURACY,
            {"family": [family(p["dimension"], p["constraints"])], "problem": range(p["problems"])},
        )
    looks = list(range(EVERY, p["evaluations"] + 1, EVERY))
    return Slice(REGRET, {"problem": [p["problem"]], "repeat": [p["repeat"]], "evaluations": looks})
