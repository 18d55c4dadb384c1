"""Laplace's approximation at given hyperparameters, for comparison: the Gaussian at the posterior's mode.

Newton's method on the log posterior [Rasmussen and Williams 2006, algorithm 3.1], steps halved until they
ascend. The Gaussian at the mode is prior times sites of precision -d2 and shift d1 - d2 f, where d1 and d2
are the derivatives of log p(y|f); the log evidence is log of the integral of prior times sites, plus the sum
of log p(y|f) - log site at the mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import erfcx

from tilted.gaussian import Sites

if TYPE_CHECKING:
    from tilted import api
    from tilted.posteriors.dense import DenseState

STEPS, HALVINGS = 100, 40
TOLERANCE = 1e-7  # of a step, in standard deviations of the posterior
ROUNDING = 1e-9  # of the height, relatively: by less it may seem to fall near the mode


def _probit(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d1, d2 [N] of log Phi(y f)."""
    z = y * f
    with np.errstate(over="ignore"):  # far on the right side, where the ratio is 0
        ratio = np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0))
    return y * ratio, -ratio * (z + ratio)


def _poisson_square(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return d1, d2 [N] of y log f^2 - f^2."""
    return 2.0 * y / f - 2.0 * f, -2.0 * y / f**2 - 2.0


DERIVATIVES = {"probit": _probit, "poisson-square": _poisson_square}


def laplace(fit: api.Fit) -> tuple[DenseState, float]:
    """Return the posterior at the mode, and the log evidence in nats, for a fit's model and hyperparameters.

    Parameters
    ----------
    fit : tilted.api.Fit
        Fit of the probit, or of counts of the rate f^2; the search starts at its posterior mean.

    Raises
    ------
    ArithmeticError
        No mode after `STEPS` steps, or a step that cannot be made to ascend.
    KeyError
        Another likelihood.
    """
    problem = fit.problem
    y, prior, derivatives = problem.y, problem.posterior(fit.kernel), DERIVATIVES[problem.likelihood.name]

    def height(f: np.ndarray, weights: np.ndarray) -> float:
        return float(np.sum(problem.likelihood.log_likelihood(y, f)) - 0.5 * weights @ (f - problem.mean))

    state = fit.inference.state
    f, weights = state.marginals.mean, state.weights
    for _ in range(STEPS):
        d1, d2 = derivatives(y, f)
        sites = Sites(-d2, d1 - d2 * f)
        state = prior.condition(sites)
        aim = state.marginals.mean
        if np.max(np.abs(aim - f) / np.sqrt(state.marginals.variance)) <= TOLERANCE:
            log_site = sites.nu * f - 0.5 * sites.tau * f**2
            at_mode = problem.likelihood.log_likelihood(y, f) - log_site
            return state, float(state.log_normaliser + np.sum(at_mode))
        start = height(f, weights)
        start -= ROUNDING * (1.0 + abs(start))
        for halving in range(HALVINGS):
            step = 0.5**halving
            tried = f + step * (aim - f), weights + step * (state.weights - weights)
            if height(*tried) >= start:
                break
        else:
            raise ArithmeticError("no step towards the mode ascends")
        f, weights = tried
    raise ArithmeticError(f"no mode after {STEPS} of Newton's steps")
