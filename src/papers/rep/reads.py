"""The rows of the relaxed-EP records that each claim or figure needs, and those that each job adds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.evidence.slices import Slice
from papers.rep import figures
from papers.rep.boundary import axis, written
from papers.rep.claims import SPAM, UCI
from papers.rep.fits import BLOBS
from papers.rep.records import BOUNDARY, CHOICES, EPSILONS, EXACT, FITS, POINTS

if TYPE_CHECKING:
    from papers.evidence.jobs import Job

ONCE = {"chosen_on": (0,)}
"""Fits with parameters chosen once for a data set; others decide nothing."""

_POINTS = (Slice(POINTS),)
_BLOBS = (Slice(FITS, {"dataset": (BLOBS,), **ONCE}),)
CLAIMS: dict[str, tuple[Slice, ...]] = {
    "REP1": _POINTS,
    "REP2": _POINTS,
    "REP3": _BLOBS,
    "REP4": _BLOBS,
    "REP5": (Slice(FITS, {"dataset": UCI, **ONCE}),),
    "REP6": (Slice(FITS, {"dataset": (SPAM,), **ONCE}),),
}
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs."""
    return tuple(Slice(study) for study in figures.DRAWINGS[name].studies)


def made_by(job: Job) -> Slice | None:
    """Return the rows that a job adds; curves come with the fits."""
    p = job.parameters
    if job.kind == "rep_points":
        if "epsilon" in p:
            return Slice(EPSILONS, {"epsilon": [p["epsilon"]]})
        return Slice(POINTS, {"set": range(p["first"] if p["first"] else -1, p["last"] + 1)})
    if job.kind == "rep_picture":
        effort, where = p["effort"], {"flips": [p["flips"]], "split": [p["effort"]["split"]]}
        if p["kind"] == "boundary":
            return Slice(BOUNDARY, {**where, "x": [written(x) for x in axis(effort["steps"])]})
        return Slice(EXACT, {**where, **{name: [effort[name]] for name in ("chains", "iterations")}})
    where = {"dataset": [p["dataset"]], "flips": [p["flips"]]}
    if job.kind == "rep_choice":
        return Slice(CHOICES, {**where, "split": [p["split"]]})
    chosen_on = p["first"] if job.kind == "rep_own" else 0
    return Slice(FITS, {**where, "split": range(p["first"], p["last"] + 1), "chosen_on": [chosen_on]})
