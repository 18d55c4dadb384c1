"""The rows of the Power-EP records that each claim or figure needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.slices import Slice
from papers.pep import banana, dense, limits, regression, toy
from papers.pep.digits import results as digits_results
from papers.pep.figures import numbered as figures
from papers.pep.made_up import SYNTHETIC
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS, MAP, REGRESSION, TOY

if TYPE_CHECKING:
    from papers.core.records import Change
    from papers.core.study import Study

UCI = tuple(name for name in regression.datasets() if name != SYNTHETIC)
PLAIN = {"start": (regression.DEFAULT,)}
"""Fits from other starts decide nothing."""

_SYNTHETIC = (Slice(REGRESSION, {"dataset": (SYNTHETIC,), **PLAIN}),)
_UCI = (Slice(REGRESSION, {"dataset": UCI, **PLAIN}),)
CLAIMS: dict[str, tuple[Slice, ...]] = {
    **dict.fromkeys(("PEP1", "PEP2", "PEP3"), _SYNTHETIC),
    **dict.fromkeys(("PEP4", "PEP5", "PEP6"), _UCI),
    "PEP7": (Slice(CLASSIFICATION),),
    "PEP8": (Slice(LIMITS),),
    "PEP9": (Slice(DENSE),),
    "PEP10": (Slice(BANANA),),
    "PEP11": (Slice(DIGITS),),
}
"""Claim -> the rows that it needs."""

DRAWN: tuple[tuple[Callable[[str], bool], tuple[Study, ...]], ...] = (
    (lambda name: name in figures.REGRESSION, (REGRESSION,)),
    (lambda name: name in figures.CLASSIFICATION, (CLASSIFICATION,)),
    (lambda name: name in toy.CAPTIONS, (TOY,)),
    (lambda name: name in banana.CAPTIONS, (BANANA, MAP)),
    (lambda name: name in dense.CAPTIONS, (DENSE,)),
    (lambda name: name in digits_results.CAPTIONS, (DIGITS,)),
)
"""Pairs of a test of a figure's name and the studies that the figure needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure (`papers.pep.artifacts.CAPTIONS`) needs."""
    studies = next(studies for drawn, studies in DRAWN if drawn(name))
    return tuple(Slice(study, PLAIN if study is REGRESSION else {}) for study in studies)


STUDIES: dict[str, Callable[[Path, str | None], dict[str, Change]]] = {
    LIMITS.file: lambda folder, mirror: limits.make(folder),
    DENSE.file: dense.make,
    BANANA.file: lambda folder, mirror: banana.make(folder),
}
"""Record without a job -> function that writes it into a folder of records, with a mirror of raw data."""
