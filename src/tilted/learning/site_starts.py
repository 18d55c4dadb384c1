"""Sites near the fixed point, from where an inference starts whose flat ones would be far from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.learning.mean import even
from tilted.likelihoods.exponential_link import PoissonExponential

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood


def first_sites(
    likelihood: Likelihood, y: np.ndarray, mean: float, weights: np.ndarray | None = None
) -> Sites | None:
    """Sites [N] near the fixed point, where flat ones are far from it; else None.

    Of counts log p(y | f) to second order at its maximum: with rate f^2 that on the side of ``mean``; with
    rate e^f, and half a count more, as of none it has no maximum.
    """
    if isinstance(likelihood, PoissonExponential):
        w = np.ones(len(y)) if weights is None else weights
        tau = w * y + 0.5
        return Sites(tau, tau * np.log(tau / w))
    if mean == 0.0 or not even(likelihood, y):
        return None
    tau = np.where(y > 0, 4.0, 2.0) * (1.0 if weights is None else weights)
    return Sites(tau, np.sign(mean) * tau * np.sqrt(y))
