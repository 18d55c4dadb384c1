"""A made-up binary set in the plane, of the shape of the relaxed-EP paper's [Qi and Guo 2012, section 6.2].

The paper draws 200 points of each class, one from a Gaussian and the other from a mixture of two, and flips
labels of training points only; it gives no centres or covariances. Ours, with equal shares of the classes:

    label +1:  N((0, 0), I)
    label -1:  N((-3, -1), S) or N((3, -1), S), each with probability 1/2, S = diag(1/2, 2)

The components of -1 lie on either side of +1; the best classifier errs on 5.1 % (`bayes_error`).
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from papers.data.relaxed import flipped

CENTRE = np.zeros(2)
"""Mean of class +1, whose variances are 1."""
CENTRES = np.array([[-3.0, -1.0], [3.0, -1.0]])
VARIANCES = np.array([0.5, 2.0])
"""Variances of both components of class -1."""
N_TRAIN_PER_CLASS, N_TEST = 200, 39600
TRAIN, NOISE, TEST = 1, 2, 3
REACH = 12.0  # half-width of the square that holds all but 1e-14 of the mass


def draw(
    seed: int, n_train_per_class: int = N_TRAIN_PER_CLASS, flips: float = 0.1, n_test: int = N_TEST
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw training and test points of one set, half of each class, in random order.

    Parameters
    ----------
    seed : int
        Seed of three independent generators: training points, flips, and test points.
    n_train_per_class : int
    flips : float in [0, 1]
        Share of training labels flipped: exactly ``round(2 flips n_train_per_class)``.
    n_test : int

    Returns
    -------
    X [2 n_train_per_class, 2], y : training inputs and labels -1, +1, flips included
    Xs [n_test, 2], ys : test inputs and true labels
    """
    X, y = _sample(np.random.default_rng([seed, TRAIN]), 2 * n_train_per_class)
    Xs, ys = _sample(np.random.default_rng([seed, TEST]), n_test)
    return X, flipped(y, flips, np.random.default_rng([seed, NOISE])), Xs, ys


def _sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    y = rng.permutation(np.where(np.arange(n) < n // 2, 1.0, -1.0))
    positive = (y > 0)[:, None]
    centre = np.where(positive, CENTRE, CENTRES[rng.integers(2, size=n)])
    spread = np.where(positive, 1.0, np.sqrt(VARIANCES))
    return centre + spread * rng.standard_normal((n, 2)), y


def log_densities(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log density [...] of class +1 and of class -1 at points [..., 2]."""
    components = [multivariate_normal(centre, np.diag(VARIANCES)).logpdf(X) for centre in CENTRES]
    return multivariate_normal(CENTRE).logpdf(X), logsumexp(components, axis=0) - np.log(2.0)


def bayes_error(step: float = 0.02) -> float:
    """Return the smallest possible error of a classifier: half the integral of the smaller density."""
    axis = np.arange(-REACH + step / 2, REACH, step)
    both = log_densities(np.stack(np.meshgrid(axis, axis), axis=-1))
    return float(0.5 * step**2 * np.exp(np.minimum(*both)).sum())
