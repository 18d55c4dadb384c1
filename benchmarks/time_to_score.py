"""Test scores by processor seconds of training: ours beside GPyTorch's and GPflow's sparse models.

    pip install -e '.[bench-others]' -e src/papers  # in an environment of its own, or one for each of the two
    python benchmarks/time_to_score.py [--libraries tilted ...] [--tasks spam ...] [--inputs moved ...]

Three tasks, with pseudo-inputs fixed and moved. All libraries start at the same rows as pseudo-inputs, a
squared exponential with one lengthscale for all columns, the median distance of two rows over sqrt(2),
variance 1, noise variance 0.1, mean 0, columns and real targets scaled; SVGP's q(u) at the prior. Scores
along a fit are, of ours, those of the best model so far by its own evidence, of the others those of the
present one; scoring time is not counted, compiling is. One thread; a fit is made again for its first seconds,
and the least time of the same step stands. Lines of libraries that cannot be imported stay as they are in
time_to_score.csv; the figure and the table are of all.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import sparse_peers
from scipy.spatial.distance import pdist
from scipy.special import log_ndtr
from sklearn.base import clone
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).parent
TABLE = FOLDER / "time_to_score.csv"
COLUMNS = ("task", "pseudo_inputs", "library", "method", "version", "seconds", "steps", "nll", "error")
BUDGETS = (2, 5, 10, 30, 60)
LONGEST, FIXED, SHORT = 62.0, 31.0, 6.0  # seconds of a trace; with fixed pseudo-inputs; of what is repeated
APART = 1.25  # ratio of the times of two scores
SETTLED = 12.0, 2.0, 5e-4  # after so many seconds: the score moved by less while the time grew by the ratio
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


def ours(task: Task, moved: bool, trace: Trace, method: str) -> None:
    """The estimators as documented, watched: what `max_time` would leave after each evaluation of a search.

    After one of the first search, which looks at some of the rows, that costs an evaluation of all rows more.
    """
    from tilted import SparseGPClassifier, SparseGPRegressor
    from tilted.kernels import SquaredExponential
    from tilted.learning import regression, search, sparse

    kinds = {True: SparseGPClassifier, False: SparseGPRegressor}
    given = GIVEN[method] | {"pseudo_inputs": task.Z, "move_pseudo_inputs": moved, "max_time": 1e6}
    given |= {"search": search.Search(**QUICK)} if moved else {}
    given |= {} if task.labels else {"noise": NOISE}
    model = kinds[task.labels](kernel=SquaredExponential(1.0, task.lengthscale), mean=0.0, **given)
    learning, part = sparse if task.labels else regression, []
    objective, begun = search._Path.objective, learning.begun

    def watched(path, x):
        found = objective(path, x)
        result = path.best.at.result
        if any(part):  # the first search: as if the time were up, an evaluation of all rows is still to come
            trace.visit(*of_all(model, result, task))
        else:
            trace.visit(lambda: of_result(result, task))
        return found

    def first(*arguments):
        part.append(arguments[0].first_rows is not None)
        try:
            return begun(*arguments)
        finally:
            part.pop()

    search._Path.objective, learning.begun = watched, first
    try:
        model.fit(task.X, task.y)
    finally:
        search._Path.objective, learning.begun = objective, begun
    noise = 0.0 if task.labels else model.noise_

    def predict() -> Moments:
        mean, sd = model.predict_latent(task.Xs, return_std=True)
        return mean, sd**2 + noise

    trace.end(predict)
    print(f"{task.name}, {'moved' if moved else 'fixed'}: {model.status_}", file=sys.stderr)


def of_all(model, result: tuple, task: Task) -> tuple[Callable[[], Moments], Callable[[], object]]:
    """Of an evaluation on some rows: what predicts by all of them, and what is to be done for that before."""
    pseudo = result[1].pseudo if task.labels else result[0].pseudo
    given = {"kernel": pseudo.kernel, "pseudo_inputs": pseudo.Z, "optimise": None}
    noise = 0.0 if task.labels else result[0].noise
    kept = clone(model).set_params(**given | ({} if task.labels else {"noise": noise}))

    def predict() -> Moments:
        mean, sd = kept.predict_latent(task.Xs, return_std=True)
        return mean, sd**2 + noise

    return predict, lambda: kept.fit(task.X, task.y)


def of_result(result: tuple, task: Task) -> Moments:
    """Moments at the test inputs, by what an evaluation of a search brought."""
    if task.labels:
        problem, posterior, inference = result
        return posterior.predict(inference.state, task.Xs, problem.mean)
    mean, variance = result[0].predict(task.Xs)
    return mean, variance + result[0].noise


OURS = {  # by whether targets are labels: what the documentation recommends
    True: "EP",
    False: "power EP, 0.5",
}
QUICK = {"method": "bfgs", "first_rows": 1000, "max_iterations": 2000}
GIVEN = {"power EP, 0.5": {"inference": "power-ep"}, "EP": {"inference": "ep"}, "VB": {"inference": "vb"}}


def ways(library: str, labels: bool) -> dict[str, Callable[[Task, bool, Trace], None]]:
    """How a library is trained, by name of the method."""
    if library == "tilted":
        method = OURS[labels]
        return {method: partial(ours, method=method)}
    return {
        name: partial(train, rate=rate)
        for name, (train, rate) in sparse_peers.variants(library, labels).items()
    }


def traced(
    way: Callable[[Task, bool, Trace], None],
    task: Task,
    moved: bool,
    longest: float,
    early: Sequence[int] = (),
) -> Trace:
    """One fit, after a few steps of a small one: what is imported late is not counted."""
    small = replace(task, X=task.X[:300], y=task.y[:300], Xs=task.Xs[:5], ys=task.ys[:5], Z=task.Z[:10])
    for at, seconds in ((small, 0.0), (task, longest)):
        trace = Trace(at, seconds, early if at is task else ())
        try:
            way(at, moved, trace)
        except Enough:
            pass
        except Exception as error:  # whatever another library raises: what came before stands
            print(f"{task.name}: {type(error).__name__} after {trace.steps} steps", flush=True)
            trace.failed = True
    return trace


def measured(library: str, task: Task, moved: bool) -> list[dict]:
    """Lines of the best way by the score after `SHORT` seconds, and the last of each other."""
    how = ways(library, task.labels)
    found = {name: traced(way, task, moved, SHORT) for name, way in how.items()}
    found = {name: trace for name, trace in found.items() if trace.rows}
    ended = {name: trace for name, trace in found.items() if not trace.failed} or found
    chosen = sorted(ended, key=lambda name: found[name].rows[-1][task.judged])[:1]
    chosen += [name for name in found if name.startswith("SGPR") and name not in chosen]
    lines = []
    for name, trace in found.items():
        short = trace.rows
        rows = short[-1:]
        if name in chosen:
            longest = LONGEST if moved else FIXED
            long = traced(how[name], task, moved, longest, [row[1] for row in short]).rows
            least = {row[1]: row[0] for row in short}
            rows = [(min(row[0], least.get(row[1], np.inf)), *row[1:]) for row in long]
        for seconds, steps, nll, error in rows:
            line = task.name, "moved" if moved else "fixed", library, name, version(MODULES[library])
            numbers = f"{seconds:.3f}", steps, f"{nll:.4f}", f"{error:.4f}"
            lines.append(dict(zip(COLUMNS, line + numbers, strict=True)))
        print(f"{line[:4]}: {rows[-1]}", flush=True)
    return lines


def kept() -> list[dict]:
    """Lines of the committed file."""
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as file:
        return list(csv.DictReader(file))


def save(lines: list[dict]) -> None:
    """All lines, in one order."""
    names = list(MODULES)
    lines = sorted(
        lines,
        key=lambda line: (
            list(TASKS).index(line["task"]),
            line["pseudo_inputs"],
            names.index(line["library"]),
            line["method"],
            int(line["steps"]),
        ),
    )
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def score_of(line: dict) -> float:
    """The score that a task is judged by: log loss of labels, standardised squared error of reals."""
    return float(line["error" if line["task"] == "kin8nm" else "nll"])


def traces(lines: list[dict], name: str, inputs: str) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Seconds and scores by library and method."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {library: {} for library in MODULES}
    for line in lines:
        if (line["task"], line["pseudo_inputs"]) == (name, inputs):
            points = found[line["library"]].setdefault(line["method"], [])
            points.append((float(line["seconds"]), score_of(line)))
    return found


def table(lines: list[dict]) -> list[str]:
    """Scores within time budgets and at the end; of a library's methods, the best at each."""
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


def draw(lines: list[dict]) -> None:
    """Scores against processor seconds, a column a task."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    looks = {"tilted": ("#1f4e79", "-"), "GPyTorch": ("#c0504d", "--"), "GPflow": ("#6b8e23", "-.")}
    figure, grid = plt.subplots(2, 3, figsize=(7.2, 4.2), layout="constrained", sharex=True)
    for row, inputs in zip(grid, ("fixed", "moved"), strict=True):
        for axes, name in zip(row, TASKS, strict=True):
            lowest, late = np.inf, []
            for library, methods in traces(lines, name, inputs).items():
                whole = [points for points in methods.values() if len(points) > 1]
                for number, points in enumerate(whole):
                    t, s = np.array(points).T
                    t, s = np.append(t, LONGEST), np.append(s, s[-1])  # what ended stays
                    colour, style = looks[library]
                    axes.step(
                        t,
                        s,
                        where="post",
                        color=colour,
                        ls=style,
                        lw=1.6 - 0.7 * number,
                        label=None if number else library,
                    )
                    lowest = min(lowest, float(s.min()))
                    late += [float(np.interp(3.0, t, s)), float(s[-1])]
            if not late:
                continue
            highest = max(min(max(late), 1.6 * lowest), 1.03 * lowest)
            margin = 0.08 * (highest - lowest)
            axes.set(xscale="log", xlim=(0.3, LONGEST), ylim=(lowest - margin, highest + margin))
            axes.set_title(f"{name}, pseudo-inputs {inputs}", fontsize=8)
            axes.set_xticks([0.5, 1, 2, 5, 10, 30, 60], ["0.5", "1", "2", "5", "10", "30", "60"])
            axes.tick_params(labelsize=7, which="both")
            axes.minorticks_off()
            axes.spines[["top", "right"]].set_visible(False)
            axes.set_ylabel("SMSE" if name == "kin8nm" else "log loss (nats)", fontsize=8)
            if inputs == "moved":
                axes.set_xlabel("processor seconds of training", fontsize=8)
    named = grid[0, 0].get_legend_handles_labels()
    figure.legend(*named, frameon=False, fontsize=8, ncols=3, loc="outside lower center")
    figure.savefig(FOLDER / "time_to_score.png", dpi=150)
    plt.close(figure)


def main() -> None:
    """Measure what can be imported; then the figure and the table of all lines."""
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
    lines = kept()
    draw(lines)
    print("\n".join(table(lines)))


if __name__ == "__main__":
    main()
