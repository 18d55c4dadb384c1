"""Sites near the fixed point, from where an inference starts whose flat ones would be far from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.learning.mean import even
from tilted.likelihoods.exponential_link import PoissonExponential

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

MOST = 1e12


def first_sites(
    likelihood: Likelihood, y: np.ndarray, mean: float, weights: np.ndarray | None = None
) -> Sites | None:
    """Sites [N] near the fixed point, where flat ones are far from it; else None.

    Of counts log p(y | f) to second order at its maximum, with rate f^2 that on the side of ``mean``. With
    rate e^f rows of less than a count, by weights, have theirs at ``mean``, and beyond `MOST` counts there
    are none: sites so strong would leave no digits of the variances.
    """
    if isinstance(likelihood, PoissonExponential):
        w = np.ones(len(y)) if weights is None else weights
        counts, at = w * y, np.full(len(y), float(mean))
        np.log(y, out=at, where=counts >= 1.0)
        with np.errstate(over="ignore"):
            tau = w * np.exp(at)
        return Sites(tau, counts - tau + tau * at) if np.max(tau) <= MOST else None
    if mean == 0.0 or not even(likelihood, y):
        return None
    tau = np.where(y > 0, 4.0, 2.0) * (1.0 if weights is None else weights)
    return Sites(tau, np.sign(mean) * tau * np.sqrt(y))
