"""Fit each inference method to standardised training rows, and score it on test rows."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Collection
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import stats

import tilted
from papers.data.table import CLASSIFICATION, COUNTS, REGRESSION
from tilted import likelihoods
from tilted.inference import rep
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.search import Search
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.likelihoods.contract import Likelihood

TITLES = {
    "ep": "expectation propagation",
    "qp": "quantile propagation",
    "vb": "variational Bayes",
    "pep": "Power EP, power 0.5",
    "rep": "relaxed EP at EP's kernel, penalty 0.1",
    "gp": "Gaussian noise, exact",
}
"""Method -> description. The first is the reference."""
RULES: dict[str, Rule | str] = {"ep": "ep", "qp": "qp", "vb": "vb", "pep": power_rule(0.5), "gp": "ep"}
LIKELIHOODS = {CLASSIFICATION: "probit", COUNTS: "poisson-exp", REGRESSION: "laplace"}
SLOW = "rep"
"""Method that takes longer than all others together: it is fitted only if it is named."""
BASELINE = "no-features"
"""Name of the guess that ignores the features."""
PENALTY, COVERAGE = 0.1, 0.9
lookup_table = cache(lookup.build)
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(100)


class Fold(NamedTuple):
    """Standardised training rows, and test rows in the same units; ``scale`` is one unit of the target."""

    number: int
    task: str
    ard: bool
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    scale: float


def names(task: str, chosen: Collection[str] = ()) -> list[str]:
    """List EP and the chosen methods, or all methods of a task except the slow one."""
    available = [name for name in TITLES if name != "gp" or task == REGRESSION]
    if unknown := sorted(set(chosen) - set(available)):
        raise ValueError(f"no method {', '.join(unknown)} for {task}; there are {', '.join(available)}")
    return [name for name in available if name == "ep" or (name in chosen if chosen else name != SLOW)]


def fit(method: str, fold: Fold, ep: tilted.Fit | None, at_ep: bool = False) -> tilted.Fit:
    """Fit a method at the hyperparameters that maximise its own evidence, or at those of EP."""
    X, y, task = fold.X, fold.y, fold.task
    # the certified table gives the projections of quadrature to 1e-10, faster
    projection = lookup_table() if method == "qp" and task == CLASSIFICATION else None
    if method == "rep":
        if ep is None:
            raise ValueError("relaxed EP takes the kernel of EP, which failed")
        relaxation = Relaxation(PENALTY * float(ep.kernel.diagonal(X[:1])[0]))
        prior, options = ep.problem.posterior(ep.kernel), Options(tolerance=1e-6)
        result = rep.infer(prior, ep.problem.likelihood, y, relaxation, options, searched_sweeps=3)
        return replace(ep, inference=result, status=result.status)
    if ep and at_ep:
        model = (ep.problem.likelihood, RULES[method], ep.kernel, ep.problem.mean)
        return tilted.fit(X, y, *model, optimise=False, projection=projection)
    mean = log_rate(y) if task == COUNTS else 0.0
    length = math.sqrt(X.shape[1])
    kernel = SquaredExponential(1.0, (length,) * X.shape[1] if fold.ard else length)
    likelihood = likelihoods.get("gaussian", noise=0.1) if method == "gp" else LIKELIHOODS[task]
    search, learn = Search(max_iterations=100), task == REGRESSION
    model = (likelihood, RULES[method], kernel, mean)
    return tilted.fit(X, y, *model, search=search, projection=projection, learn_likelihood=learn)


def evaluate(method: str, fold: Fold, ep: tilted.Fit | None) -> tuple[tilted.Fit | None, dict[str, Any]]:
    """Fit a method, or the guess, and return the fit and its scores on the test rows.

    ``loss``: mean negative log predictive density in nats, in the target's own unit. ``error``: share of
    wrong labels, or mean absolute error. ``predicted``: probabilities of class +1, or whether the targets
    ``y`` lie in their 90 % intervals. ``seconds``: of processor time.
    """
    y, result, began = fold.y_test, None, time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if method == BASELINE:
            likelihood, level = _guess(fold)
            m, v = np.full(len(y), level), np.full(len(y), 1e-12)
        else:
            result = fit(method, fold, ep)
            likelihood, (m, v) = result.problem.likelihood, result.predict_latent(fold.X_test)
    seconds, log_density = time.process_time() - began, likelihood.log_predictive(y, m, v)
    if not np.all(np.isfinite(log_density)):
        raise ArithmeticError("the predictive density of a test row is 0 or not a number")
    if fold.task == CLASSIFICATION:
        predicted = np.exp(likelihood.log_predictive(np.ones(len(y)), m, v))
    else:
        predicted = covered(likelihood, y, m, v)
    unconverged = [result.status.message] if result and not result.status.converged else []
    return result, {
        "method": method,
        "fold": fold.number,
        "loss": math.log(fold.scale) - float(np.mean(log_density)),
        "error": fold.scale * float(np.mean(likelihood.errors(y, m, v))),
        "seconds": seconds,
        "converged": not unconverged,
        "message": "; ".join(dict.fromkeys([*unconverged, *(str(x.message) for x in caught)])),
        "n_train": len(fold.y),
        "n_test": len(y),
        "predicted": predicted,
        "y": y,
    }


def _guess(fold: Fold) -> tuple[Likelihood, float]:
    """Return the likelihood and the constant f that fit the training targets best."""
    y = fold.y
    if fold.task == CLASSIFICATION:
        return likelihoods.get("probit"), float(stats.norm.ppf(np.mean(y > 0)))
    if fold.task == COUNTS:
        return likelihoods.get("poisson-exp"), log_rate(y)
    level, scale = stats.laplace.fit(y)
    return likelihoods.get("laplace", scale=float(scale)), float(level)


def log_rate(counts: np.ndarray) -> float:
    """Return the logarithm of the mean count, or of half a count in all."""
    return math.log(max(float(counts.mean()), 0.5 / len(counts)))


def covered(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return whether each target [N*] is in the central predictive interval of probability `COVERAGE`."""
    latent = m[:, None] + np.sqrt(v)[:, None] * NODES
    if likelihood.name == "poisson-exp":
        law: Any = stats.poisson(np.exp(np.minimum(latent, 700.0)))
    elif likelihood.name == "laplace":
        law = stats.laplace(latent, getattr(likelihood, "scale", 1.0))
    else:
        law = stats.norm(latent, math.sqrt(getattr(likelihood, "noise", 1.0)))
    below = y - 1.0 if likelihood.name == "poisson-exp" else y
    upper, lower = (law.cdf(end[:, None]) @ WEIGHTS / WEIGHTS.sum() for end in (y, below))
    tail = 0.5 * (1.0 - COVERAGE)
    return (upper >= tail) & (lower <= 1.0 - tail)
