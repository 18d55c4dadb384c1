"""New counts drawn at given rates, however large these are."""

from __future__ import annotations

import numpy as np

NORMAL = 1e13  # rate from which a Poisson variable is drawn as a normal one, whose skewness is 3e-7 at most
OVERFLOW = (
    "a new count cannot be drawn: its rate is no finite number where f is {:g}, at {} of {} places; "
    "sample_latent draws f itself"
)


def draw_counts(rate: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Poisson counts, as floats of the shape of ``rate``.

    From a rate of `NORMAL` on they are rate + sqrt(rate) z, z standard normal, rounded to whole numbers:
    NumPy's generator takes none above 9.2e18, and its acceptance loses digits before.

    Parameters
    ----------
    rate : array
        Expected counts.
    f : array of the same shape
        What they are of, for the error.
    rng : numpy.random.Generator
        Below `NORMAL` used as ``rng.poisson(rate)`` uses it.

    Raises
    ------
    ValueError
        If a rate overflows or is NaN.
    """
    rate = np.asarray(rate)
    wrong = ~np.isfinite(rate)
    if np.any(wrong):
        raise ValueError(OVERFLOW.format(np.asarray(f)[wrong][0], np.count_nonzero(wrong), wrong.size))
    large = rate >= NORMAL
    counts = np.asarray(rng.poisson(np.where(large, 0.0, rate)), dtype=float)
    counts[large] = np.rint(rate[large] + np.sqrt(rate[large]) * rng.standard_normal(np.count_nonzero(large)))
    return counts
