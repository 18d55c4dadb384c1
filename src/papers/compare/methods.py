"""The methods a task has, each fitted and asked to predict."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import tilted
from papers.compare.table import CLASSIFICATION, COUNTS
from tilted import likelihoods
from tilted.inference import rep
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.relaxations import Relaxation
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.search import Search
from tilted.posteriors.dense import Dense
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

SEARCH = Search(max_iterations=100)
PENALTIES, SEARCHED = (0.03, 0.3), 3
"""Of relaxed EP: penalties in variances of the prior (the ends of those in its experiments; the best on a
fifth of the training rows is taken), and the sweeps in which relaxations are searched: they cost the most."""
SLOW = ("rep",)
"""Those that take longer than all others together: compared only where they are named."""
HELD_OUT = 5
COVERED = 0.9
STEPS = 400


class Part(NamedTuple):
    """Standardised rows to train on, and the model's constant prior mean."""

    task: str
    X: np.ndarray
    y: np.ndarray
    mean: float
    ard: bool

    @property
    def likelihood(self) -> Likelihood:
        """Probit; Poisson with an exponential link; Laplace noise, whose scale is learnt."""
        names = {CLASSIFICATION: "probit", COUNTS: "poisson-exp"}
        return likelihoods.get(names.get(self.task, "laplace"))

    @property
    def kernel(self) -> SquaredExponential:
        """Where searches start."""
        length = math.sqrt(self.X.shape[1])
        return SquaredExponential(1.0, (length,) * self.X.shape[1] if self.ard else length)


@dataclass(frozen=True)
class Fitted:
    """A method's answer on a part: a posterior and how it came about; ``penalty`` is of relaxed EP."""

    part: Part = field(repr=False)
    kernel: Kernel
    likelihood: Likelihood
    state: DenseState = field(repr=False)
    converged: bool
    message: str
    seconds: float
    penalty: float = math.nan

    def latent(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function."""
        cross = self.kernel.matrix(X, self.part.X)
        return self.state.predict(cross, self.kernel.diagonal(X), self.part.mean)


class Method(NamedTuple):
    """A name and what fits it: (part, EP's answer there) -> answer."""

    name: str
    title: str
    fit: Callable[[Part, Fitted], Fitted]
    at: Callable[[Part, Fitted, float], Fitted] | None
    """The method at EP's hyperparameters (and a penalty); None where it has another model."""


def every(task: str) -> list[Method]:
    """All methods that fit a task; EP first: others are compared with it."""
    rules: dict[str, tuple[str, Rule | str]] = {
        "ep": ("expectation propagation", "ep"),
        "qp": ("quantile propagation", "qp"),
        "vb": ("variational Bayes", "vb"),
        "pep": ("Power EP, power 0.5", power_rule(0.5)),
    }
    methods = [
        Method(name, said, partial(_own, rule=rule), partial(_at, rule=rule))
        for name, (said, rule) in rules.items()
    ]
    methods.append(Method("rep", "relaxed EP, at EP's kernel", _relaxed, _relaxed_at))
    if task not in (CLASSIFICATION, COUNTS):
        methods.append(Method("gp", "Gaussian noise, exact", _gaussian, None))
    return methods


def of(task: str, chosen: Collection[str] = ()) -> list[Method]:
    """Every method of a task but the slow, or EP and those chosen."""
    methods = every(task)
    unknown = set(chosen) - {method.name for method in methods}
    if unknown:
        known = ", ".join(method.name for method in methods)
        raise ValueError(f"no method {', '.join(sorted(unknown))} for {task}; there are {known}")
    chosen = chosen or [method.name for method in methods if method.name not in SLOW]
    return [method for method in methods if method.name in ("ep", *chosen)]


def ep(part: Part) -> Fitted:
    """EP's answer, at the hyperparameters that maximise its evidence."""
    return _tuned(part, part.likelihood, "ep")


def _own(part: Part, first: Fitted, rule: Rule | str) -> Fitted:
    return first if rule == "ep" else _tuned(part, part.likelihood, rule)


def _gaussian(part: Part, first: Fitted) -> Fitted:
    return _tuned(part, likelihoods.get("gaussian", noise=0.1), "ep")


def _tuned(part: Part, likelihood: Likelihood, rule: Rule | str) -> Fitted:
    learn = part.task not in (CLASSIFICATION, COUNTS)
    how = {"search": SEARCH, "learn_likelihood": learn, "kernel": part.kernel}
    return _fitted(part, likelihood, rule, **how)


def _at(part: Part, first: Fitted, penalty: float, rule: Rule | str) -> Fitted:
    return _fitted(part, first.likelihood, rule, kernel=first.kernel, optimise=False)


def _fitted(part: Part, likelihood: Likelihood, rule: Rule | str, **how: object) -> Fitted:
    # the certified table gives quadrature's projections to 1e-10, faster
    projection = _table() if rule == "qp" and likelihood.name == "probit" else None
    began = time.process_time()
    fit = tilted.fit(part.X, part.y, likelihood, rule, mean=part.mean, projection=projection, **how)
    state, status = fit.inference.state, fit.status
    seconds = time.process_time() - began
    return Fitted(part, fit.kernel, fit.problem.likelihood, state, status.converged, status.message, seconds)


@cache
def _table() -> Projector:
    return lookup.build()


def _relaxed(part: Part, first: Fitted) -> Fitted:
    """Its penalty chosen on every fifth row (which folds have put in random order), then all rows."""
    began, held = time.process_time(), np.arange(len(part.y)) % HELD_OUT == 0
    fewer = part._replace(X=part.X[~held], y=part.y[~held])
    losses = []
    for penalty in PENALTIES:
        mean, variance = _relaxed_at(fewer, first, penalty).latent(part.X[held])
        losses.append(-np.mean(first.likelihood.log_predictive(part.y[held], mean, variance)))
    found = _relaxed_at(part, first, PENALTIES[int(np.argmin(losses))])
    seconds = first.seconds + time.process_time() - began
    return Fitted(**{**vars(found), "seconds": seconds})


def _relaxed_at(part: Part, first: Fitted, penalty: float) -> Fitted:
    began, variance = time.process_time(), float(first.kernel.diagonal(part.X[:1])[0])
    prior, options = Dense.build(first.kernel.matrix(part.X), part.mean), Options(tolerance=1e-6)
    relaxation = Relaxation(penalty * variance)
    found = rep.infer(prior, first.likelihood, part.y, relaxation, options, searched_sweeps=SEARCHED)
    seconds, status = time.process_time() - began, found.status
    how = (found.state, status.converged, status.message, seconds, penalty)
    return Fitted(part, first.kernel, first.likelihood, *how)


def below(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Predictive probability [N*] of a target at most ``y``: summed over counts, else by trapezoids."""
    found = np.empty(len(y))
    for i in range(len(y)):
        if likelihood.name == "poisson-exp":
            nodes = np.arange(y[i] + 1.0)
        else:
            mean, variance = likelihood.target_moments(m[i : i + 1], v[i : i + 1])  # type: ignore[attr-defined]
            lowest = min(mean[0], y[i]) - 15.0 * math.sqrt(variance[0])
            nodes = np.linspace(lowest, y[i], STEPS)
        density = np.exp(likelihood.log_predictive(nodes, *(np.full(len(nodes), x[i]) for x in (m, v))))
        found[i] = density.sum() if likelihood.name == "poisson-exp" else np.trapezoid(density, nodes)
    return np.clip(found, 0.0, 1.0)


def covered(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Whether each target [N*] is in the central predictive interval of probability `COVERED`."""
    tail, to = 0.5 * (1.0 - COVERED), below(likelihood, y, m, v)
    if likelihood.name != "poisson-exp":
        return (to >= tail) & (to <= 1.0 - tail)
    before = to - np.exp(likelihood.log_predictive(y, m, v))
    return (to >= tail) & (before <= 1.0 - tail)
