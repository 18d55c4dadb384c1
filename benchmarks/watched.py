"""Tasks of sparse fits, and their scores as they are trained (`time_to_score`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist
from scipy.special import log_ndtr

APART = 1.25  # ratio of the times of two scores
SETTLED = 12.0, 2.0, 5e-4  # after so many seconds: the score moved by less while the time grew by the ratio
Moments = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Task:
    """Rows to learn from and to score, and where every fit starts."""

    name: str
    X: np.ndarray
    y: np.ndarray
    Xs: np.ndarray
    ys: np.ndarray
    Z: np.ndarray
    lengthscale: float

    @property
    def labels(self) -> bool:
        """Whether targets are -1 and 1."""
        return self.name != "kin8nm"

    @property
    def judged(self) -> int:
        """Place of the score that counts, in a line of a trace."""
        return 2 if self.labels else 3

    def scores(self, mean: np.ndarray, variance: np.ndarray) -> tuple[float, float]:
        """Mean log loss in nats, and share of errors or standardised mean squared error, from moments of f.

        Of reals the variance is that of new targets, noise included.
        """
        if self.labels:
            log_p = log_ndtr(self.ys * mean / np.sqrt(1.0 + variance))
            return -float(np.mean(log_p)), float(np.mean(self.ys * mean <= 0))
        squares = (self.ys - mean) ** 2
        nll = 0.5 * np.mean(np.log(2.0 * np.pi * variance) + squares / variance)
        return float(nll), float(np.mean(squares) / np.var(self.ys))


def task(name: str) -> Task:
    """One of `TASKS`, split and started by seed."""
    from sklearn.datasets import make_moons

    from papers.data import regression, relaxed

    train, test, pseudo, noise = TASKS[name]
    if name == "moons":
        X, y = make_moons(train + test, noise=noise, random_state=0)
        y = 2.0 * y - 1.0
    else:
        found = (relaxed if name == "spam" else regression).load(name)
        X, y = found.X, found.y
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))
    train, test = rows[:train], rows[train : train + test]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    y = (y - y[train].mean()) / y[train].std() if name == "kin8nm" else y
    Z = np.unique(X[train], axis=0)
    Z = Z[np.sort(rng.permutation(len(Z))[:pseudo])]
    lengthscale = float(np.sqrt(0.5) * np.median(pdist(X[train][:500])))
    return Task(name, X[train], y[train], X[test], y[test], Z, lengthscale)


TASKS = {  # rows to learn from, rows to score, pseudo-points, noise of the moons
    "spam": (3680, 921, 100, 0.0),
    "moons": (20_000, 10_000, 100, 0.35),
    "kin8nm": (7373, 819, 200, 0.0),
}


class Enough(Exception):
    """The trace is as long as it has to be."""


class Trace:
    """Scores along one fit, by processor seconds spent in training.

    Parameters
    ----------
    task : Task
    longest : float
        Seconds after which the fit is ended; before, where the score has settled (`SETTLED`).
    early : list of int
        Steps at which to score; after the last of them, whenever the time has grown by `APART`.
    """

    def __init__(self, task: Task, longest: float, early: Sequence[int] = ()) -> None:
        self.task, self.longest, self.early = task, longest, set(early)
        self.last_early = max(early, default=0)
        self.apart, self.steps, self.due = 0.0, 0, 0.0
        self.rows: list[tuple[float, int, float, float]] = []
        self.failed = False
        self.began = time.process_time()

    def visit(self, predict: Callable[[], Moments], before: Callable[[], object] | None = None) -> None:
        """After a step; ``predict`` gives the moments at the test inputs by the model as it is.

        What has to be done ``before``, if the fit were to end here, counts for this line alone.
        """
        now = time.process_time()
        spent, self.steps = now - self.began - self.apart, self.steps + 1
        if self.steps in self.early if self.steps <= self.last_early else spent >= self.due:
            if before is not None:
                before()
            more = 0.0 if before is None else time.process_time() - now
            self.add(spent + more, predict)
            self.apart += time.process_time() - now
            self.due = max(APART * spent, spent + 0.05)
            if self._settled(spent):
                raise Enough
        if spent > self.longest:
            raise Enough

    def end(self, predict: Callable[[], Moments]) -> None:
        """After the fit ended by itself."""
        self.add(time.process_time() - self.began - self.apart, predict)

    def add(self, spent: float, predict: Callable[[], Moments]) -> None:
        """One line."""
        self.rows.append((spent, self.steps, *self.task.scores(*predict())))

    def _settled(self, spent: float) -> bool:
        after, ratio, same = SETTLED
        late = [row[self.task.judged] for row in self.rows if row[0] >= spent / ratio]
        return spent > after and max(late) - min(late) <= same
