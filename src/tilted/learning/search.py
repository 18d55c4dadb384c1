"""Searches of hyperparameters: their settings, and the climber that every search uses."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from tilted.inference.options import require_whole
from tilted.numerics.bfgs import bfgs
from tilted.numerics.line_search import Objective
from tilted.numerics.optimise import TRANSFORMS, Outcome, lbfgs, wall

METHODS = ("lbfgs", "bfgs")
GRADIENTS = ("exact", "sites-fixed")
GAIN = 1e-6  # of the log evidence, relatively, that makes another round worth while
SAME = 1e-9  # relative difference of two values that are taken for one

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Search:
    """Settings of a search.

    Parameters
    ----------
    transform : "softplus" or "log", optional
        From the coordinates of the search to positive parameters. By default softplus for dense posteriors,
        as the QP paper's code has it, and logarithms through pseudo-points. Softplus is for variances of
        about 1: far above it is the parameter itself, and a search in large units of y hardly moves it.
    gradient : "exact" or "sites-fixed"
        Exact is by implicit differentiation where the rule needs it (with sites clipped at their smallest
        precision it is approximate). With the sites fixed it is EP's formula whatever the rule, as in the QP
        paper's code, and inconsistent for QP.
    method : "lbfgs" or "bfgs"
        L-BFGS-B with ten pairs, whose memory is 20 n numbers for n parameters; or BFGS with a full matrix and
        a stop by expected gain (``numerics.bfgs``), for searches that have to converge. That needs n^2
        numbers up to n = 3000 (72 MB), 400 n above.
    max_iterations : int
        Limit on the iterations of a search, and on its evaluations.
    relative_tolerance, gradient_tolerance : float
        L-BFGS-B stops when an iteration gains less than this, relatively; when no entry of the projected
        gradient is larger.
    expected_gain : float
        BFGS stops when its next step is expected to gain less than this, in nats.
    first_rows : int, optional
        Where pseudo-inputs move and there are at least three times as many rows: so many, taken by chance,
        are searched alone first, for the cost of six evaluations of all rows and half of the time at most.
        The search of all rows starts where that ends if they are better off there, which two evaluations of
        them tell (``learning.stages``). By default all are searched from the start.
    warm : bool
        Whether an inference starts from the sites of earlier ones.
    rounds : int
        A search is repeated from its end while that gains, at most so many times in all.
    move_pseudo_inputs : bool
        Whether the search moves them, where there are any.

    Raises
    ------
    ValueError
        For unknown names, limits that are no whole numbers of at least 1, and tolerances that are not finite
        or negative.
    """

    transform: str | None = None
    gradient: str = "exact"
    max_iterations: int = 2000
    relative_tolerance: float = 1e-9
    gradient_tolerance: float = 1e-5
    warm: bool = True
    rounds: int = 1
    move_pseudo_inputs: bool = True
    method: str = "lbfgs"
    expected_gain: float = 1e-5
    first_rows: int | None = None

    def __post_init__(self) -> None:
        require_whole("max_iterations", self.max_iterations, 1)
        require_whole("rounds", self.rounds, 1)
        if self.first_rows is not None:
            require_whole("first_rows", self.first_rows, 1)
        for name in ("relative_tolerance", "gradient_tolerance", "expected_gain"):
            value = getattr(self, name)
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {value}")
        if self.transform is not None and self.transform not in TRANSFORMS:
            raise ValueError(f"transform must be one of {', '.join(TRANSFORMS)}")
        if self.gradient not in GRADIENTS:
            raise ValueError(f"gradient must be one of {', '.join(GRADIENTS)}")
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}")


class Ended(Exception):
    """A search ends before its optimiser says so; its best evaluation stands."""


class Evaluation(NamedTuple, Generic[ResultT]):
    """An evaluation at a point of a search: the value to maximise, its gradient [n], anything else.

    One that is not ``sound`` shows the way, and is the best only as long as no sound one was found.
    """

    value: float
    gradient: np.ndarray
    result: ResultT
    sound: bool = True


class Best(NamedTuple, Generic[ResultT]):
    """The best evaluation of a search, and where."""

    x: np.ndarray
    at: Evaluation[ResultT]


@dataclass(frozen=True)
class Climb(Generic[ResultT]):
    """The result of a climb.

    Attributes
    ----------
    best : Best
    converged : bool
        Whether the tolerance was met, and there, and the evaluation is sound.
    evaluations : int
    ending : str
        What the optimiser said.
    failures : sequence of str
        Why evaluations failed.
    """

    best: Best[ResultT]
    converged: bool
    evaluations: int
    ending: str
    failures: Sequence[str]

    @property
    def result(self) -> ResultT:
        """The result of the best evaluation."""
        return self.best.at.result

    @property
    def slope(self) -> float:
        """Largest entry of the gradient there."""
        return float(np.max(np.abs(self.best.at.gradient)))

    @property
    def message(self) -> str:
        """Describe the end of the search, and evaluations that failed."""
        if not self.failures:
            return self.ending
        return f"{self.ending}; {len(self.failures)} evaluations without an energy ({self.failures[0]})"


@dataclass
class _Path(Generic[ResultT]):
    """The memory of the evaluations of one search."""

    evaluate: Callable[[np.ndarray], Evaluation[ResultT]]
    wall: Callable[[float], float]
    deadline: float
    patience: float
    evaluations: int = 0
    lost: int = 0
    best: Best[ResultT] | None = None
    worst: float = 0.0
    failures: list[str] = field(default_factory=list)

    @property
    def top(self) -> Best[ResultT]:
        """``best`` after the first evaluation, which raises if it fails."""
        assert self.best is not None
        return self.best

    def objective(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Evaluate the objective to minimise; Ended after the deadline or out of patience, with a best."""
        if self.best is not None and time.monotonic() >= self.deadline:
            raise Ended(f"stopped after {self.evaluations} evaluations: the time was up")
        if self.best is not None and self.lost >= self.patience:
            raise Ended(
                f"stopped after {self.evaluations} evaluations, {self.lost} of them without sound sites"
            )
        self.evaluations += 1
        try:
            at = self.evaluate(x)
            if not (np.isfinite(at.value) and np.all(np.isfinite(at.gradient))):
                raise ValueError("the energy or its gradient is not finite")
        except (ArithmeticError, ValueError) as error:
            if self.best is None:
                raise
            self.failures.append(str(error))
            self.lost += 1
            return self.wall(self.worst), np.zeros_like(x)
        self.lost += not at.sound
        self.worst = max(self.worst, -at.value)
        if self.best is None or _better(at, self.best.at):
            self.best = Best(x.copy(), at)
        return -at.value, -at.gradient


AWAY = "stopped away from the best evaluation"
"""What is said of a search that met its tolerance where it is not at its best."""

UNSOUND = "stopped without a sound evaluation"
"""And of one that met it where nothing was sound."""


def _better(first: Evaluation[ResultT], second: Evaluation[ResultT]) -> bool:
    return first.sound and not (second.sound and second.value >= first.value)


def climb(
    evaluate: Callable[[np.ndarray], Evaluation[ResultT]],
    x0: np.ndarray,
    search: Search,
    lowest: float | np.ndarray | None = None,
    restart: Callable[[Best[ResultT]], np.ndarray] = lambda best: best.x,
    same: float = SAME,
    deadline: float = np.inf,
    patience: float = np.inf,
) -> Climb[ResultT]:
    """Maximise, keeping the best evaluation wherever the search ends.

    Parameters
    ----------
    evaluate : callable
        Of points [n]. ArithmeticError, ValueError and numbers that are not finite are a wall from which a
        line search steps back.
    x0 : array [n]
    search : Search
        Its method, limits and rounds.
    lowest : float or array [n], optional
        Lower bound of every coordinate, -inf for none; an upper one would change L-BFGS-B's first step. To
        BFGS, which has no bounds, it is a wall.
    restart : callable
        The best evaluation -> where another round starts.
    same : float
        Relative difference of two values up to which the search counts as ended at its best.
    deadline : float
        Instant of ``time.monotonic()`` after which no evaluation but the first begins.
    patience : float
        Evaluations that fail, or are not sound, after which the search ends: its line searches grope among
        such, one after the other.

    Raises
    ------
    ArithmeticError, ValueError
        If the first evaluation fails.
    """
    path = _Path(evaluate, wall if search.method == "lbfgs" else lambda worst: np.inf, deadline, patience)
    evaluations, ended, ending = 0, False, ""
    for _ in range(search.rounds):
        before = path.best
        try:
            outcome = _minimised(path.objective, x0 if before is None else restart(before), search, lowest)
        except Ended as end:
            evaluations = path.evaluations
            ended, ending = False, str(end)
            break
        evaluations += outcome.evaluations
        if path.top is before:
            break
        value = path.top.at.value
        sound = path.top.at.sound
        ended = outcome.success and sound and _nearly_equal(value, -outcome.value, same)
        ending = outcome.message if ended or not outcome.success else AWAY if sound else UNSOUND
        if ending == UNSOUND and time.monotonic() >= deadline:
            ending = f"{UNSOUND}: the time was up"
        if before is not None and _nearly_equal(before.at.value, value, GAIN):
            break
    return Climb(path.top, ended, evaluations, ending, path.failures)


def _minimised(
    objective: Objective, x0: np.ndarray, search: Search, lowest: float | np.ndarray | None
) -> Outcome:
    """One round of a search, by its method."""
    limit = search.max_iterations
    if search.method == "lbfgs":
        bounds = (
            None if lowest is None else [(least, None) for least in np.broadcast_to(lowest, len(x0)).tolist()]
        )
        return lbfgs(objective, x0, limit, search.relative_tolerance, search.gradient_tolerance, bounds)

    def walled(x: np.ndarray) -> tuple[float, np.ndarray]:
        return (np.inf, np.zeros_like(x)) if lowest is not None and np.any(x < lowest) else objective(x)

    return bfgs(walled, x0, limit, search.expected_gain)


def _nearly_equal(first: float, second: float, relative: float) -> bool:
    return abs(first - second) <= relative * (1.0 + abs(first))
