"""The methods beside the exact posterior of 400 points, by long-run elliptical slice sampling.

On a training set of the made-up problem, all at the lengthscale that cross-validation chose for EP, with the
parameters it chose for each. Reference of the sampler: EP's sites by the engine, to a power (`tilted.exact`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted.exact.chains import Length, sample
from tilted.exact.target import Reference, Target
from tilted.experiments import rep
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.rep import EP
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.step import NoisyStep
from tilted.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from typing import Any

    from tilted.exact.chains import Moments, Sample
    from tilted.gaussian import Marginals
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import Dense

FRACTION = 0.5
COLUMNS = (
    "flips", "split", "lengthscale", "n_train", "method", "value", "outcome", "mean_error", "variance_error",
    "wrong_sign", "chains", "iterations", "r_hat_max", "bulk_size_min", "monte_carlo_error", "seconds",
)  # fmt: skip
"""``mean_error``: root mean square difference of latent means, in exact sds; ``variance_error``: the same of
log variances; ``wrong_sign``: share of training points whose means differ in sign; ``monte_carlo_error``:
what ``mean_error`` would be of an exact method."""


def modules_of() -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(
    flips: float, split: int, chosen: dict[str, tuple[float, float]], effort: dict[str, int]
) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS`, one a method.

    Parameters
    ----------
    flips : float
    split : int
        Of the made-up set; starts the sampler too.
    chosen : dict
        Method -> (value, lengthscale), as ``rep_choice.chosen`` has it; the lengthscale is EP's.
    effort : dict
        ``chains`` and ``iterations`` of the sampler, after an eighth of these to warm up.
    """
    X, _, y, _ = rep.parts_of(rep.BLOBS, split, flips)
    lengthscale, likelihood = chosen["ep"][1], NoisyStep(flips)
    length = Length(effort["chains"], effort["iterations"] // 8, effort["iterations"])
    posterior = rep.posterior_of(X, lengthscale)
    truth = _sampled(X, y, lengthscale, likelihood, posterior, split, length)
    for method, (value, _) in chosen.items():
        began = time.process_time()
        about = {"flips": flips, "split": split, "lengthscale": lengthscale, "n_train": len(y),
                 "method": method, "value": value}  # fmt: skip
        errors = dict.fromkeys(("mean_error", "variance_error", "wrong_sign"))
        try:
            found = rep.METHODS[method].run(posterior, likelihood, y, value, rep.MAX_SWEEPS)
            outcome, errors = found.outcome, _errors(found.state.marginals, truth.latents)
        except NotPositiveDefinite:
            outcome = rep.FAILED
        yield {**about, "outcome": outcome, **errors, **_quality(truth, length),
               "seconds": time.process_time() - began}  # fmt: skip


def _sampled(
    X: np.ndarray,
    y: np.ndarray,
    lengthscale: float,
    likelihood: Likelihood,
    posterior: Dense,
    seed: int,
    length: Length,
) -> Sample:
    target = Target.build(SquaredExponential(1.0, lengthscale), X, y, likelihood)
    sites = infer(posterior, likelihood, y, EP, Options(tolerance=rep.TOLERANCE)).sites
    reference = Reference.build(target, target.merge(sites), FRACTION)
    return sample(reference, np.random.default_rng([seed, 3]), length)


def _errors(marginals: Marginals, exact: Moments) -> dict[str, Any]:
    spread = np.sqrt(exact.variance)
    ratio = np.log(marginals.variance / exact.variance)
    return {
        "mean_error": float(np.sqrt(np.mean(((marginals.mean - exact.mean) / spread) ** 2))),
        "variance_error": float(np.sqrt(np.mean(ratio**2))),
        "wrong_sign": float(np.mean(np.sign(marginals.mean) != np.sign(exact.mean))),
    }


def _quality(truth: Sample, length: Length) -> dict[str, Any]:
    latents = truth.latents
    return {
        "chains": length.chains,
        "iterations": length.iterations,
        "r_hat_max": float(latents.r_hat.max()),
        "bulk_size_min": float(latents.bulk_size.min()),
        "monte_carlo_error": float(np.sqrt(np.mean(latents.se_mean**2 / latents.variance))),
    }
