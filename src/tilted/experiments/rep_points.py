"""Five points in the plane: errors of approximate posteriors of the weights [Qi & Guo 2012, figure 1].

The paper does not list its points: `five_points` has a set of its kind and any number of variations. All
methods have the linear kernel, by sequential sweeps to convergence; the exact posterior is known in closed
form. Errors are the paper's: mean squared differences of the entries of mean and covariance.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted.exact import weights as exact
from tilted.experiments import five_points
from tilted.gaussian import Sites
from tilted.inference import rep
from tilted.inference.ep import tilted_rule
from tilted.inference.pep import power_rule
from tilted.inference.rep import READINGS, Relaxation
from tilted.inference.rule import Rule, Update
from tilted.inference.textbook import sweep_on
from tilted.likelihoods.step import NoisyStep
from tilted.linear import Linear, weights
from tilted.posteriors.dense import Dense
from tilted.projections import kl

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tilted.gaussian import Marginals
    from tilted.inference.textbook import Sweeps
    from tilted.likelihoods.contract import Likelihood

MAX_SWEEPS, TOLERANCE = 200, 1e-6
POWERS = tuple(round(0.1 * step, 1) for step in range(1, 11))
PENALTIES = tuple(float(f"{10.0 ** (step / 4):.3g}") for step in range(-12, 9))
"""From 0.001 to 100, four a decade."""

EXACT, PRINTED_PEP = "exact", "pep-as-described"
COLUMNS = (
    "set", "method", "value", "outcome", "sweeps", "mean_error", "covariance_error",
    "mean_0", "mean_1", "seconds",
)  # fmt: skip
"""``set`` is -1 for the base set; ``mean_0``, ``mean_1``: posterior means of the weights."""


def modules_of() -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def printed_power_rule(u: float) -> Rule:
    """Power EP with the two changes of appendix C alone, so that a whole site makes the cavity.

    Consistent Power EP removes the share ``u`` of it (``inference.pep``).
    """
    whole = tilted_rule(lambda likelihood, y, m, v: kl(likelihood, y, m, v, u))

    def update(marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray) -> Update:
        found = whole.update(marginals, sites, likelihood, y)
        moved = Sites(found.sites.tau / u, found.sites.nu / u)
        return Update(moved, np.zeros(len(y)), np.zeros(len(y)), found.skipped)

    return Rule(update)


def candidates() -> Iterator[tuple[str, float]]:
    """Every method with every value of its parameter: power, or penalty."""
    yield "ep", 1.0
    for method in ("pep", PRINTED_PEP):
        yield from ((method, power) for power in POWERS)
    for method in (*(f"rep-{reading}" for reading in READINGS), "rep-as-described"):
        yield from ((method, penalty) for penalty in PENALTIES)


def study(sets: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS` for each set (-1: the base set): the exact posterior, then all `candidates`."""
    for number in sets:
        yield from _of_set(number)


def _of_set(number: int) -> Iterator[dict[str, Any]]:
    X, y = five_points.points(None if number < 0 else number)
    likelihood, posterior = NoisyStep(five_points.EPS), Dense.build(Linear().matrix(X))
    truth = exact.sectors(X, y, likelihood)
    yield _line(number, EXACT, 1.0, "converged", 0, truth, truth.mean, truth.covariance, 0.0)
    for method, value in candidates():
        began = time.process_time()
        found = _run(method, value, posterior, likelihood, y)
        mean, covariance = weights(X, found.sites)
        seconds = time.process_time() - began
        yield _line(
            number, method, value, found.outcome, len(found.changes), truth, mean, covariance, seconds
        )


def _run(method: str, value: float, posterior: Dense, likelihood: Likelihood, y: np.ndarray) -> Sweeps:
    """Sweeps of one method."""
    if method == "rep-as-described":
        relaxation = Relaxation(value, rep.PRINTED, printed_step=True)
        return rep.sweeps(posterior, likelihood, y, relaxation, MAX_SWEEPS, TOLERANCE, MAX_SWEEPS)
    if method.startswith("rep-"):
        relaxation = Relaxation(value, method.removeprefix("rep-"))
        return rep.sweeps(posterior, likelihood, y, relaxation, MAX_SWEEPS, TOLERANCE)
    rules: dict[str, Callable[[float], Rule]] = {
        "ep": lambda _: rep.EP,
        "pep": power_rule,
        PRINTED_PEP: printed_power_rule,
    }
    return sweep_on(posterior, likelihood, y, rules[method](value), MAX_SWEEPS, TOLERANCE)


def _line(
    number: int,
    method: str,
    value: float,
    outcome: str,
    sweeps: int,
    truth: exact.Weights,
    mean: np.ndarray,
    covariance: np.ndarray,
    seconds: float,
) -> dict[str, Any]:
    errors = (float(np.mean((found - true) ** 2)) for found, true in
              ((mean, truth.mean), (covariance, truth.covariance)))  # fmt: skip
    values = (int(number), method, value, outcome, sweeps, *errors, *map(float, mean), seconds)
    return dict(zip(COLUMNS, values, strict=True))
