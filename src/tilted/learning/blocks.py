"""Learn hyperparameters of a chain of blocks: searches of dense problems, with as many neighbours as needed.

The blocks are fixed during a search, so that the evidence is a smooth function of the hyperparameters. They
are divided again, in inputs scaled by the new lengthscales, only between searches. Where a search does not
converge and marginal variances were not positive on its way, it is repeated with twice the neighbours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tilted.learning.dense import Problem, Slopes, Tuned, infer_at
from tilted.learning.starts import with_notes
from tilted.learning.warmstarts import Attempts
from tilted.posteriors.blocks import (
    NEIGHBOURS,
    SIZE,
    Blocks,
    BlockState,
    Region,
    TooFewNeighbours,
    nearest_rows,
    regions_of,
    scaled_inputs,
)

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.kernels.contract import Kernel

MOST_NEIGHBOURS = 960
RESHAPED = 0.2  # change of the logarithm of a ratio of lengthscales after which blocks are divided again
DIVISIONS = 3  # searches, each in blocks by the lengthscales of the one before
TIME_IS_UP = "marginal variances are not positive with {} neighbours, and the time for more is up"
TOO_LONG = (
    "marginal variances are not positive with {} neighbours, the limit: lengthscales are too long for blocks "
    "(approximation='pseudo-points' is for these)"
)


@dataclass(frozen=True)
class BlockProblem(Problem):
    """Data and model of a chain of blocks; without ``regions`` it has to be `divided` first.

    Attributes
    ----------
    size, neighbours : int
        Rows of a block and of its neighbourhood, at most.
    regions : tuple of Region
    refused : list of int
        As of `Blocks`, over all posteriors of the problem.
    """

    size: int = SIZE
    neighbours: int = NEIGHBOURS
    regions: tuple[Region, ...] = field(default=(), repr=False)
    refused: list[int] = field(default_factory=list, repr=False)

    def divided(self, kernel: Kernel) -> Self:
        """Return the problem with blocks by the lengthscales of ``kernel``."""
        regions = regions_of(scaled_inputs(kernel, self.X), self.size, self.neighbours)
        return replace(self, regions=regions, refused=[])

    def wider(self) -> Self:
        """Return the problem with twice the neighbours."""
        return replace(self, neighbours=min(2 * self.neighbours, MOST_NEIGHBOURS))

    @property
    def widest(self) -> bool:
        """Return whether more neighbours are not tried, or there are none."""
        return self.neighbours >= min(MOST_NEIGHBOURS, len(self.y))

    def prepared(self, kernel: Kernel) -> Self:
        """Return the problem, whose evaluations share nothing else."""
        return self

    def posterior(self, kernel: Kernel) -> Blocks:  # type: ignore[override] # its states are of the same use
        """The prior over the training points under ``kernel``."""
        mean = np.full(len(self.y), self.mean)
        return Blocks(kernel, self.X, mean, self.regions, self.neighbours, self.refused)

    def slopes(self, kernel: Kernel, posterior: Any, state: BlockState | Any) -> Slopes:
        """Return the slopes of the log evidence with the sites held fixed."""
        return Slopes(*posterior.evidence_gradient(state))


def with_enough_neighbours(
    problem: BlockProblem,
    kernel: Kernel,
    start: Sites | None,
    search: Callable[[BlockProblem, Kernel, Sites], Tuned] | None,
) -> tuple[BlockProblem, Tuned]:
    """Infer, and search, with more neighbours or in other blocks while that is needed.

    Parameters
    ----------
    problem : BlockProblem
    kernel : Kernel
        Where a search starts.
    start : Sites or None
        Of the first inference.
    search : callable, optional
        A divided problem, where to start, and converged sites there -> the result. By default only an
        inference.

    Returns
    -------
    problem : BlockProblem
        As divided for the result, with the mean and the likelihood found.
    tuned : Tuned
        Its status has a note on the number of blocks and neighbours, and on refusals.

    Raises
    ------
    ArithmeticError
        If `MOST_NEIGHBOURS` are too few at the start, or the first evaluation fails for another reason.
    """
    first, searches, starts = problem.neighbours, 0, [start]
    while True:
        problem, before = problem.divided(kernel), kernel
        last = problem.widest or time.monotonic() >= problem.options.deadline
        tuned = _inferred(problem, kernel, starts)
        if tuned is None or (problem.refused and not (tuned.status.converged or last)):
            if last:
                raise ArithmeticError((TOO_LONG if problem.widest else TIME_IS_UP).format(problem.neighbours))
            problem = problem.wider()
            continue
        if search is not None:
            tuned = search(problem, kernel, tuned.inference.sites)
            searches, kernel, starts = searches + 1, tuned.kernel, [tuned.inference.sites, start]
            problem = replace(problem, mean=tuned.mean, likelihood=tuned.problem.likelihood)
        if problem.refused and not tuned.status.converged and not last:
            problem = problem.wider()
        elif search is None or searches >= DIVISIONS or not _reshaped(before, kernel):
            return problem, replace(tuned, status=with_notes(tuned.status, _note(problem, first)))


def _inferred(problem: BlockProblem, kernel: Kernel, starts: list[Sites | None]) -> Tuned | None:
    """Return the inference at ``kernel`` from the first start that serves; None if neighbours are too few."""
    try:
        inference, _ = Attempts().converged_or_last(
            lambda sites: (infer_at(problem, kernel, sites), None), starts
        )
    except TooFewNeighbours:
        return None
    return Tuned(problem, kernel, inference, inference.status)


def neighbouring_rows(X: np.ndarray, number: int) -> np.ndarray:
    """Return the ``number`` rows of ``X`` [N, D] around the one that is nearest to the medians."""
    middle = np.median(X, axis=0)
    centre = int(np.argmin(np.sum((X - middle) ** 2, axis=1)))
    return nearest_rows(X, X[[centre]], number)


def _reshaped(before: Kernel, after: Kernel) -> bool:
    """Return whether ratios of lengthscales have changed, and with them which rows are near."""
    scales = [np.log(np.atleast_1d(getattr(kernel, "lengthscale", 1.0))) for kernel in (before, after)]
    change = scales[1] - scales[0]
    return float(np.ptp(change)) > RESHAPED


def _note(problem: BlockProblem, first: int) -> str:
    """Describe the chain, and what it took."""
    number = len(problem.regions)
    if number == 1:
        return "one block of all rows"
    notes = [f"{number} blocks with {problem.neighbours} neighbours"]
    if problem.neighbours > first:
        notes[0] += f", raised from {first}"
    if problem.neighbours == MOST_NEIGHBOURS:
        notes[0] += ", the limit"
    if problem.refused:
        notes.append(f"marginal variances that are not positive refused {len(problem.refused)} times")
    return "; ".join(notes)
