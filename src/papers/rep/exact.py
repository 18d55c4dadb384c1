"""The methods against the exact posterior of 400 points, by long-run elliptical slice sampling.

All methods run on a training set of the made-up problem, at the lengthscale that cross-validation chose for
EP and with the parameter that it chose for each. The sampler's reference is EP's sites by the engine, raised
to a power (`tilted.exact`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from papers.rep import fits
from papers.rep.methods import ENGINE, METHODS, Problem
from tilted.exact.chains import Length, sample
from tilted.exact.target import Reference, Target
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.step import NoisyStep
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from typing import Any

    from tilted.exact.chains import Moments
    from tilted.gaussian import Marginals

FRACTION = 0.5
ERRORS = ("mean_error", "variance_error", "wrong_sign")
"""``mean_error``: root mean square difference of latent means, in exact sds; ``variance_error``: the same of
log variances; ``wrong_sign``: share of training points whose means differ in sign. ``monte_carlo_error`` of a
row is the expected ``mean_error`` of an exact method."""


def study(
    flips: float, split: int, chosen: dict[str, tuple[float, float]], effort: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Yield rows of `records.EXACT`, one for each method.

    Parameters
    ----------
    flips : float
    split : int
        Split of the made-up set; also the seed of the sampler.
    chosen : dict
        Method -> (value, lengthscale), as `cross_validation.chosen` has it; the lengthscale is EP's.
    effort : dict
        ``chains`` and ``iterations`` of the sampler, after an eighth of these to warm up.
    """
    lengthscale = chosen["ep"][1]
    for method, (value, _) in chosen.items():
        yield line_of(flips, split, lengthscale, method, value, effort["chains"], effort["iterations"])


def line_of(
    flips: float, split: int, lengthscale: float, method: str, value: float, chains: int, iterations: int
) -> dict[str, Any]:
    """Compare one method with draws of the exact posterior."""
    truth = sampled(flips, split, lengthscale, chains, iterations)
    X, _, y, _ = fits.parts_of(fits.BLOBS, split, flips)
    problem, began = Problem(fits.prior_of(X, lengthscale), NoisyStep(flips), y), time.process_time()
    errors: dict[str, float | None] = dict.fromkeys(ERRORS)
    try:
        end = METHODS[method].run(problem, value)
        outcome, errors = end.outcome, _errors(end.state.marginals, truth)
    except NotPositiveDefinite:
        outcome = fits.FAILED
    line: dict[str, Any] = {"flips": flips, "split": split, "lengthscale": lengthscale, "n_train": len(y)}
    line |= {"method": method, "value": value, "outcome": outcome, "chains": chains, "iterations": iterations}
    return {**line, **errors, **_quality(truth), "seconds": time.process_time() - began}


@lru_cache(maxsize=2)
def sampled(flips: float, split: int, lengthscale: float, chains: int, iterations: int) -> Moments:
    """Draw from the exact posterior; the draws depend only on the arguments."""
    X, _, y, _ = fits.parts_of(fits.BLOBS, split, flips)
    likelihood = NoisyStep(flips)
    target = Target.build(SquaredExponential(1.0, lengthscale), X, y, likelihood)
    sites = infer(fits.prior_of(X, lengthscale), likelihood, y, EP, ENGINE).sites
    reference = Reference.build(target, target.merge(sites), FRACTION)
    length = Length(chains, iterations // 8, iterations)
    return sample(reference, np.random.default_rng([split, 3]), length).latents


def _errors(marginals: Marginals, exact: Moments) -> dict[str, float | None]:
    spread = np.sqrt(exact.variance)
    ratio = np.log(marginals.variance / exact.variance)
    return {
        "mean_error": float(np.sqrt(np.mean(((marginals.mean - exact.mean) / spread) ** 2))),
        "variance_error": float(np.sqrt(np.mean(ratio**2))),
        "wrong_sign": float(np.mean(np.sign(marginals.mean) != np.sign(exact.mean))),
    }


def _quality(exact: Moments) -> dict[str, float]:
    return {
        "r_hat_max": float(exact.r_hat.max()),
        "bulk_size_min": float(exact.bulk_size.min()),
        "monte_carlo_error": float(np.sqrt(np.mean(exact.se_mean**2 / exact.variance))),
    }
