"""The rows of the relaxed-EP records that each claim or figure needs."""

from __future__ import annotations

from papers.core.slices import Slice
from papers.rep import figures
from papers.rep.claims import SPAM, UCI
from papers.rep.fits import BLOBS
from papers.rep.records import FITS, POINTS

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
