"""Five points in the plane, the last mislabelled: errors of approximate posteriors [Qi & Guo 2012, figure 1].

The paper does not list its points. ``points(None)`` is a set of that kind (`BASE`): two points of class +1 on
the left, two of class -1 on the right, and far on the right a fifth that is labelled +1. ``points(seed)`` is
a random variation, with each coordinate uniform on a range that contains the base set's:

    two points of class +1   first coordinate on [-2, -1], second on [-1, 1]
    two points of class -1   first coordinate on [1, 2],   second on [-1, 1]
    the mislabelled one      first coordinate on [3, 6],   second on [-2, 2]

The line on which the first coordinate is 0 separates the first four points, and the fifth is on its wrong
side. All methods use the linear kernel and run sequential sweeps to convergence. The exact posterior of the
weights has a closed form. Errors are the paper's: mean squared differences of the entries of mean and
covariance.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from papers.rep.methods import METHODS, READINGS, Problem, swept
from tilted.exact import weights as exact
from tilted.gaussian import Sites
from tilted.inference.ep import tilted_rule
from tilted.inference.rule import Rule, Update
from tilted.inference.textbook import CONVERGED
from tilted.kernels.linear import Linear
from tilted.likelihoods.step import NoisyStep
from tilted.posteriors.dense import Dense
from tilted.posteriors.linear import weights
from tilted.projections.moments import kl

if TYPE_CHECKING:
    from typing import Any

    from tilted.gaussian import Marginals
    from tilted.likelihoods.contract import Likelihood

EPS = 0.2
"""Error rate of labels in the likelihood, which is the share of wrong labels."""
LABELS = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
BASE = np.array([[-2.0, 1.0], [-1.5, -1.0], [1.0, -1.0], [1.5, 0.5], [4.0, 1.0]])
LOW = np.array([[-2.0, -1.0], [-2.0, -1.0], [1.0, -1.0], [1.0, -1.0], [3.0, -2.0]])
HIGH = np.array([[-1.0, 1.0], [-1.0, 1.0], [2.0, 1.0], [2.0, 1.0], [6.0, 2.0]])

MAX_SWEEPS, TOLERANCE = 200, 1e-6
POWERS = tuple(round(0.1 * step, 1) for step in range(1, 11))
PENALTIES = tuple(float(f"{10.0 ** (step / 4):.3g}") for step in range(-12, 9))
"""From 0.001 to 100, four a decade."""

EXACT, PRINTED_PEP = "exact", "pep-as-described"
BASE_SET = -1
"""Number of the base set."""


def points(seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [5, 2] and labels -1, +1 [5], the last one wrong: the base set, or a seed's variation."""
    X = BASE.copy() if seed is None else np.random.default_rng(seed).uniform(LOW, HIGH)
    return X, LABELS.copy()


def printed_power_rule(u: float) -> Rule:
    """Return Power EP with only the two changes of appendix C: the cavity removes an entire site.

    Consistent Power EP removes the share ``u`` of it (``inference.pep``).
    """
    full_site_rule = tilted_rule(lambda likelihood, y, m, v: kl(likelihood, y, m, v, u))

    def update(marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray) -> Update:
        result = full_site_rule.update(marginals, sites, likelihood, y)
        moved = Sites(result.sites.tau / u, result.sites.nu / u)
        return Update(moved, np.zeros(len(y)), np.zeros(len(y)), result.skipped)

    return Rule(update)


def candidates() -> list[tuple[str, float]]:
    """Return every method with every value of its parameter: power, or penalty."""
    relaxed = (*(f"rep-{reading}" for reading in READINGS), "rep-as-described")
    return [("ep", 1.0), *product(("pep", PRINTED_PEP), POWERS), *product(relaxed, PENALTIES)]


def study(numbers: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield rows of `records.POINTS` for each set: the exact posterior, then all `candidates`."""
    for number in numbers:
        for method, value in ((EXACT, 1.0), *candidates()):
            yield line_of(number, method, value)


def at_epsilon(epsilon: float) -> Iterator[dict[str, Any]]:
    """Yield the rows of the base set under a likelihood of another error rate, with ``epsilon``."""
    for method, value in ((EXACT, 1.0), *candidates()):
        yield {"epsilon": epsilon, **line_of(BASE_SET, method, value, epsilon)}


def line_of(number: int, method: str, value: float, epsilon: float = EPS) -> dict[str, Any]:
    """Return the row of one method, or of the exact posterior, on one set."""
    X, y = points(None if number < 0 else number)
    likelihood, truth = NoisyStep(epsilon), _exact(number, epsilon)
    outcome, sweeps, seconds = CONVERGED, 0, 0.0
    mean, covariance = truth.mean, truth.covariance
    if method != EXACT:
        posterior, began = Dense.build(Linear().matrix(X)), time.process_time()
        problem = Problem(posterior, likelihood, y, MAX_SWEEPS, TOLERANCE)
        if method == PRINTED_PEP:
            end = swept(problem, printed_power_rule(value))
        else:
            end = METHODS[method].run(problem, value)
        mean, covariance = weights(X, end.state.sites)
        outcome, sweeps, seconds = end.outcome, end.sweeps, time.process_time() - began
    line = {"set": int(number), "method": method, "value": value, "outcome": outcome, "sweeps": sweeps}
    errors = {
        "mean_error": float(np.mean((mean - truth.mean) ** 2)),
        "covariance_error": float(np.mean((covariance - truth.covariance) ** 2)),
    }
    return {**line, **errors, "mean_0": float(mean[0]), "mean_1": float(mean[1]), "seconds": seconds}


@lru_cache(maxsize=4)
def _exact(number: int, epsilon: float) -> exact.Weights:
    X, y = points(None if number < 0 else number)
    return exact.sectors(X, y, NoisyStep(epsilon))
