"""The rows of the Power-EP records that each claim or figure needs, and those that each job adds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.slices import Slice
from papers.pep import banana, dense, limits, regression, toy
from papers.pep.digits import results as digits_results
from papers.pep.figures import numbered as figures
from papers.pep.made_up import SYNTHETIC
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS, MAP, REGRESSION, TOY, power

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.evidence.jobs import Job
    from papers.evidence.records import Change

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


def made_by(job: Job) -> Slice:
    """Return the rows that a job adds."""
    p = job.parameters
    if job.kind == "pep_digits":
        return Slice(DIGITS, {name: [p[name]] for name in ("alpha", "m", "seed", "steps")})
    splits = range(p["first"], p["last"] + 1)
    if job.kind == "pep_exact":
        return Slice(TOY, {"split": splits, "n_train": p["sizes"]})
    grid = p["grid"]
    powers, m, *starts = zip(*import_module(p["experiment"]).cells(grid), strict=True)
    where = {"dataset": [p["dataset"]], "split": splits, "protocol": [grid["protocol"]]}
    where |= {"alpha": sorted(set(map(power, powers))), "m": sorted(set(m))}
    if job.kind == "pep_classification":
        return Slice(CLASSIFICATION, where)
    return Slice(REGRESSION, {**where, "start": sorted(set(starts[0]))})


def lacking(job: Job, frame: pd.DataFrame) -> Job:
    """Return a job without the powers and numbers of pseudo-points whose rows are all recorded.

    Parameters
    ----------
    job : Job
        A job of another kind is returned unchanged, and so is a grid with all or none of its rows recorded.
    frame : pandas.DataFrame
        The recorded rows that `made_by` selects.
    """
    if job.kind not in ("pep_regression", "pep_classification"):
        return job
    p, experiment = job.parameters, import_module(job.parameters["experiment"])
    splits = range(p["first"], p["last"] + 1)
    there = frame[made_by(job).mask(frame)]
    names = ["alpha", "m", *(["start"] if job.kind == "pep_regression" else [])]
    counted = there.groupby(names)["split"].nunique()
    missing = [
        cell
        for cell in experiment.cells(p["grid"])
        if counted.get((power(cell[0]), *cell[1:]), 0) < len(splits)
    ]
    powers = {cell[0] for cell in missing}
    # exact regressions are of no number of pseudo-points: one stands for all
    sizes = {cell[1] for cell in missing} - {0} or {p["grid"]["m"][0]}
    if not missing:
        return job
    needed = {"alphas": powers, "m": sizes}
    narrow = {name: [value for value in p["grid"][name] if value in those] for name, those in needed.items()}
    grid = {**p["grid"], **narrow}
    return replace(job, parameters={**p, "grid": grid}, fits=len(splits) * len(experiment.cells(grid)))


STUDIES: dict[str, Callable[[Path, str | None], dict[str, Change]]] = {
    LIMITS.file: lambda folder, mirror: limits.make(folder),
    DENSE.file: dense.make,
    BANANA.file: lambda folder, mirror: banana.make(folder),
}
"""Record without a job -> function that writes it into a folder of records, with a mirror of raw data."""
