"""Hyperparameters that maximise leave-one-out predictive densities, on small rows of Table 1.

    python benchmarks/objectives.py [--mirror FOLDER] [--seeds 5] [--rows wine12 crabs] [--folds 1]

Splits, standardisation, likelihoods, start and search of protocol `as-released`. Objectives: EP's and QP's
log evidences, and the sum of leave-one-out log predictive densities of EP's and of QP's cavities, by Nelder
and Mead's simplex from EP's optimum. A line is "learned by: predicted by"; docs/paper-qp.md has the result.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import warnings
from collections import defaultdict

import numpy as np
from scipy.optimize import minimize

import tilted
from papers.data import folds, load, registry, split
from papers.qp import protocols
from tilted.gaussian import Sites, cavity
from tilted.learning.dense import Problem, infer_at
from tilted.learning.search import Search
from tilted.projections import table

PROTOCOL = "as-released"
ROWS = ("wine12", "wine13", "wine23", "crabs", "coal")
START = tilted.SquaredExponential(1.0, 1.0)
LARGEST = np.log(1e9)  # of a parameter that a simplex may reach, either way
WALL = 1e6


def by_leaving_out(problem: Problem, kernel, start: Sites):
    """The kernel of the largest sum of leave-one-out log predictive densities, each by its own cavity.

    A simplex from ``kernel``; whether it ended, too. What has no converged posterior is a wall.
    """

    def loss(theta: np.ndarray) -> float:
        if np.any(np.abs(theta) > LARGEST):
            return WALL
        try:
            found = infer_at(problem, kernel.with_parameters(np.exp(theta)), start)
        except ArithmeticError:
            return WALL
        marginals, sites = found.state.marginals, found.sites
        m, v = cavity(marginals.mean, marginals.variance, sites.tau, sites.nu)
        if not (found.status.converged and np.all(v > 0)):
            return WALL
        return -float(np.sum(problem.likelihood.log_predictive(problem.y, m, v)))

    options = {"xatol": 0.03, "fatol": 1e-3, "maxfev": 80}
    found = minimize(loss, np.log(kernel.parameters()), method="Nelder-Mead", options=options)
    return kernel.with_parameters(np.exp(found.x)), bool(found.success)


class Fold:
    """A fold: fits, what they lose on its test half, and what is counted."""

    def __init__(self, row: str, seed: int, fold: int, mirror: str | None, sigma) -> None:
        block = protocols.block(PROTOCOL, registry.task_of(row))
        dataset = load(row, block["variant"], mirror=mirror)
        self.part = split(dataset, block["split"], seed, fold, standardise=block["standardise"])
        self.sigma = sigma if block["likelihood"] == "probit" else None
        self.likelihood = block["likelihood"]
        self.how = {"mean": block["mean"], "search": Search(**block["search"])}
        self.losses: dict[str, float] = {}
        self.counts: dict[str, float] = {}
        self.ep = self.fit("ep", optimise=True, note="EP's search")
        self.score("EP: EP", self.ep)

    def fit(self, inference, kernel=START, optimise=False, note=""):
        """A fit of the training half; its processor seconds are noted."""
        projection, began = self.sigma if inference == "qp" else None, time.process_time()
        data = self.part.X_train, self.part.y_train, self.likelihood, inference, kernel
        found = tilted.fit(*data, optimise=optimise, projection=projection, **self.how)
        if note:
            self.counts[f"s {note}"] = time.process_time() - began
        return found

    def score(self, name: str, fit: tilted.Fit) -> None:
        """Note the mean negative log density of the test half, times 1000."""
        self.losses[name] = -1e3 * float(np.mean(fit.log_predictive(self.part.X_test, self.part.y_test)))

    def leaving_out(self) -> None:
        """By leave-one-out densities, of EP and of QP, and by QP's evidence."""
        at_ep = self.fit("qp", self.ep.kernel)
        self.score("EP: QP", at_ep)
        for method, fit in (("ep", self.ep), ("qp", at_ep)):
            began = time.process_time()
            kernel, ended = by_leaving_out(fit.problem, fit.kernel, fit.inference.sites)
            self.counts[f"s {method} left out"] = time.process_time() - began
            self.counts[f"{method} left out, not ended"] = not ended
            self.counts[f"{method} left out, log variance"] = np.log(kernel.variance / fit.kernel.variance)
            self.score(f"{method.upper()} left out: {method.upper()}", self.fit(method, kernel))
        self.score("QP: QP", self.fit("qp", self.ep.kernel, optimise=True, note="QP's search"))


def main() -> None:
    """Print a line a fold as JSON, and of each row means, differences from EP and their standard errors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mirror")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--folds", type=int, default=1)
    parser.add_argument("--rows", nargs="*", default=list(ROWS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    sigma, losses = table.build(), defaultdict(lambda: defaultdict(list))
    for seed, row in itertools.product(range(arguments.seeds), arguments.rows):
        scheme = protocols.block(PROTOCOL, registry.task_of(row))["split"]
        for k in range(min(arguments.folds, folds(scheme))):
            fold = Fold(row, seed, k, arguments.mirror, sigma)
            fold.leaving_out()
            counts = {name: float(value) for name, value in fold.counts.items()}
            print(json.dumps([row, seed, k, fold.losses, counts]), flush=True)
            for name, value in fold.losses.items():
                losses[row][name].append(value)
    for row, found in losses.items():
        print(f"\n{row}: {len(found['EP: EP'])} folds")
        for name, values in found.items():
            gap = np.array(values) - found["EP: EP"]
            error = np.std(gap, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            print(f"  {name:24s} {np.mean(values):9.2f} {np.mean(gap):+8.2f} +- {error:.2f}")


if __name__ == "__main__":
    main()
