"""Test scores by processor seconds of training: ours against GPyTorch's and GPflow's sparse models.

    pip install -e '.[bench-others]' -e src/papers  # in an environment of its own, or one for each of the two
    python benchmarks/time_to_score.py [--libraries tilted ...] [--tasks spam ...] [--inputs moved ...]

Three tasks, with pseudo-inputs fixed and moved. All libraries start at the same rows as pseudo-inputs, a
squared exponential with one lengthscale for all columns, the median distance of two rows over sqrt(2),
variance 1, noise variance 0.1, mean 0, columns and real targets scaled; SVGP's q(u) at the prior. Our model
is fitted once for each budget, with that `max_time`; the others are scored along one fit. Scoring time is not
counted, compiling is. One thread. Lines of libraries that cannot be imported stay as they are in
time_to_score.csv; the table is of all.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import sparse_peers
from scipy.spatial.distance import pdist
from scipy.special import log_ndtr
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parent
TABLE = FOLDER / "time_to_score.csv"
COLUMNS = ("task", "pseudo_inputs", "library", "method", "version", "seconds", "steps", "nll", "error")
BUDGETS = (2, 5, 10, 30, 60)
LONGEST = 62.0  # seconds of a trace
APART = 1.25  # ratio of the times of two scores
Moments = tuple[np.ndarray, np.ndarray]
NOISE = 0.1
MODULES = {"tilted": "tilted", "GPyTorch": "gpytorch", "GPflow": "gpflow"}


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
        """Return whether targets are -1 and 1."""
        return self.name != "kin8nm"

    @property
    def zero_or_one(self) -> np.ndarray:
        """Return labels as 0 and 1, and real targets as they are."""
        return (self.y + 1.0) / 2.0 if self.labels else self.y

    def scores(self, mean: np.ndarray, variance: np.ndarray) -> tuple[float, float]:
        """Return the mean log loss in nats, and the share of errors or standardised mean squared error.

        The moments are those of f; of reals the variance is that of new targets, noise included.
        """
        if self.labels:
            log_p = log_ndtr(self.ys * mean / np.sqrt(1.0 + variance))
            return -float(np.mean(log_p)), float(np.mean(self.ys * mean <= 0))
        squares = (self.ys - mean) ** 2
        nll = 0.5 * np.mean(np.log(2.0 * np.pi * variance) + squares / variance)
        return float(nll), float(np.mean(squares) / np.var(self.ys))


def task(name: str) -> Task:
    """Return one of `TASKS`, split and started by seed."""
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
    """Ends a fit that has taken its time."""


class Trace:
    """Scores along one fit, by processor seconds spent in training, until `longest` seconds have passed."""

    def __init__(self, task: Task, longest: float) -> None:
        self.task, self.longest = task, longest
        self.apart, self.steps, self.due = 0.0, 0, 0.0
        self.rows: list[tuple[float, int, float, float]] = []
        self.began = time.process_time()

    def visit(self, predict: Callable[[], Moments]) -> None:
        """Score after a step; ``predict`` gives the moments at the test inputs by the model as it is."""
        now = time.process_time()
        spent, self.steps = now - self.began - self.apart, self.steps + 1
        if spent >= self.due:
            self.add(spent, self.steps, predict)
            self.apart += time.process_time() - now
            self.due = max(APART * spent, spent + 0.05)
        if spent > self.longest:
            raise Enough

    def end(self, predict: Callable[[], Moments]) -> None:
        """Score after a fit that ended by itself."""
        self.add(time.process_time() - self.began - self.apart, self.steps, predict)

    def add(self, spent: float, steps: int, predict: Callable[[], Moments]) -> None:
        """Append one line."""
        self.rows.append((spent, steps, *self.task.scores(*predict())))


def ours(task: Task, moved: bool, trace: Trace) -> None:
    """Fit the estimators as documented, once for each budget, until a fit converges before its `max_time`."""
    from tilted import SparseGPClassifier, SparseGPRegressor
    from tilted.kernels import SquaredExponential
    from tilted.learning.search import Search

    settings = {"kernel": SquaredExponential(1.0, task.lengthscale), "mean": 0.0, "pseudo_inputs": task.Z}
    settings |= {"search": Search(method="bfgs", first_rows=1000, max_iterations=2000)} if moved else {}
    settings |= {"inference": "ep"} if task.labels else {"inference": "power-ep", "noise": NOISE}
    estimator = SparseGPClassifier if task.labels else SparseGPRegressor
    for budget in (budget for budget in BUDGETS if budget < trace.longest):
        began = time.process_time()
        model = estimator(move_pseudo_inputs=moved, max_time=budget, **settings).fit(task.X, task.y)
        spent = time.process_time() - began
        mean, sd = model.predict_latent(task.Xs, return_std=True)
        variance = sd**2 + (0.0 if task.labels else model.noise_)
        trace.add(spent, model.status_.evaluations, partial(lambda *moments: moments, mean, variance))
        if model.status_.converged and spent < 0.9 * budget:
            return


def ways(library: str, labels: bool) -> dict[str, Callable[[Task, bool, Trace], None]]:
    """Return how a library is trained, by name of the method."""
    if library == "tilted":
        return {"EP" if labels else "power EP, 0.5": ours}
    return {
        name: partial(train, rate=rate)
        for name, (train, rate) in sparse_peers.variants(library, labels).items()
    }


def measured(library: str, task: Task, moved: bool) -> list[dict]:
    """Return the lines of all ways to train a library, each after a few steps of a small fit."""
    small = replace(task, X=task.X[:300], y=task.y[:300], Xs=task.Xs[:5], ys=task.ys[:5], Z=task.Z[:10])
    lines = []
    for name, way in ways(library, task.labels).items():
        for rows, longest in ((small, 0.0), (task, LONGEST)):  # the first imports what is imported late
            trace = Trace(rows, longest)
            try:
                way(rows, moved, trace)
            except Enough:
                pass
            except Exception as error:  # the lines before another library's error stay
                print(f"{task.name}: {type(error).__name__} after {trace.steps} steps", flush=True)
        for seconds, steps, nll, error in trace.rows:
            line = task.name, "moved" if moved else "fixed", library, name, version(MODULES[library])
            numbers = f"{seconds:.3f}", steps, f"{nll:.4f}", f"{error:.4f}"
            lines.append(dict(zip(COLUMNS, line + numbers, strict=True)))
        print(f"{task.name}, {library}, {name}: {trace.rows[-1:]}", flush=True)
    return lines


def kept() -> list[dict]:
    """Return the lines of the committed file."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def save(lines: list[dict]) -> None:
    """Write all lines, in one order."""

    def place(line: dict) -> tuple:
        task, library = list(TASKS).index(line["task"]), list(MODULES).index(line["library"])
        return task, line["pseudo_inputs"], library, line["method"], int(line["steps"])

    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(lines, key=place))


def score_of(line: dict) -> float:
    """Return the score that a task is judged by: log loss of labels, standardised squared error of reals."""
    return float(line["error" if line["task"] == "kin8nm" else "nll"])


def traces(lines: list[dict], name: str, inputs: str) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Return seconds and scores by library and method."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {library: {} for library in MODULES}
    for line in lines:
        if (line["task"], line["pseudo_inputs"]) == (name, inputs):
            points = found[line["library"]].setdefault(line["method"], [])
            points.append((float(line["seconds"]), score_of(line)))
    return found


def table(lines: list[dict]) -> list[str]:
    """Return a table of the scores within time budgets and at the end, by the best of a library's methods."""
    rows = ["| task | pseudo-inputs | library | " + " | ".join(f"{b} s" for b in BUDGETS) + " | end (s) |"]
    rows.append("|---" * (4 + len(BUDGETS)) + "|")
    for name in TASKS:
        for inputs in ("fixed", "moved"):
            for library, methods in traces(lines, name, inputs).items():
                whole = [points for points in methods.values() if len(points) > 1]
                if not whole:
                    continue
                cells = []
                for budget in BUDGETS:
                    within = [[s for t, s in points if t <= budget] for points in whole]
                    best = min((scores[-1] for scores in within if scores), default=None)
                    cells.append("-" if best is None else f"{best:.4f}")
                t, s = min((points[-1] for points in whole), key=lambda point: point[1])
                rows.append(f"| {name} | {inputs} | {library} | {' | '.join(cells)} | {s:.4f} ({t:.0f}) |")
    return rows


def main() -> None:
    """Measure the libraries that can be imported, and print the table of all lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--libraries", nargs="*", default=list(MODULES), choices=list(MODULES))
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--inputs", nargs="*", default=["fixed", "moved"], choices=["fixed", "moved"])
    asked = parser.parse_args()
    here = [name for name in asked.libraries if find_spec(MODULES[name])]
    missing = [name for name in asked.libraries if name not in here]
    print("Not installed, their lines stay as they were:", ", ".join(missing) or "none", flush=True)
    for library in here:
        sparse_peers.alone(library)
    threadpool_limits(1)
    for name in asked.tasks:
        at = task(name) if here else None
        for inputs in asked.inputs:
            for library in here:
                lines = measured(library, at, inputs == "moved")
                old = (name, inputs, library)
                # read again: other environments may have added to it
                others = [x for x in kept() if (x["task"], x["pseudo_inputs"], x["library"]) != old]
                save(others + lines)
    print("\n".join(table(kept())))


if __name__ == "__main__":
    main()
