"""Which lines of the PESC paper's records its claims and figures are made of, and which a job makes."""

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
"""Claim -> what it is judged by."""


def figure(name: str) -> tuple[Slice, ...]:
    """What a figure is made of: each is named after its study."""
    return (Slice({"accuracy": ACCURACY, "regret": REGRET}[name]),)


def made_by(job: Job) -> Slice:
    """What a job makes."""
    p = job.parameters
    if job.kind == "pesc_accuracy":
        return Slice(
            ACCURACY,
            {"family": [family(p["dimension"], p["constraints"])], "problem": range(p["problems"])},
        )
    looks = list(range(EVERY, p["evaluations"] + 1, EVERY))
    return Slice(REGRET, {"problem": [p["problem"]], "repeat": [p["repeat"]], "evaluations": looks})
