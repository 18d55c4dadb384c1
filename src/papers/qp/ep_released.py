"""The released code's search of EP's hyperparameters, whose sweeps stop early (docs/differences.md).

Sites are swept in order [Rasmussen & Williams 2006, algorithm 3.5], from those of the evaluation before.
There are at least two sweeps. They end when the mean square of the last sweep's changes is below `ENOUGH`,
both for the precisions and for the shifts. The evidence uses the cavities and normalisers met during this
sweep, not those of its final sites. Where the evidence is flat, the search ends on this noise. A second
search may then go on from there; rounding decides its end.

Evaluations are counted as that code counts its inferences: two at the start, when the model is built and when
its parameters are set, and one at the end. One of its recorded searches is reproduced to the sweep.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.gaussian import Sites
from tilted.numerics.optimise import TRANSFORMS, in_words, lbfgs
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from tilted.inference.result import Status
    from tilted.kernels.squared_exponential import SquaredExponential
    from tilted.learning.search import Search
    from tilted.likelihoods.contract import Likelihood

ENOUGH = 1e-6
"""Mean square of the changes of a sweep below which no other follows."""

LEAST, MOST = 2, 1000
"""Sweeps of an inference; the code has no upper limit."""

BLOCK = 32
"""Rank-one steps that are folded into the covariance at once."""

SMALLEST = float(np.finfo(float).eps)
"""Least value of a parameter that is tried: a line search may ask for nearly 0."""


class Released(NamedTuple):
    """The end of a search.

    Attributes
    ----------
    kernel : SquaredExponential
    sites : Sites
        Sites of the last inference, from which another search goes on.
    evaluations, sweeps : int
    success : bool
        True if L-BFGS-B met one of its tolerances.
    message : str
    """

    kernel: SquaredExponential
    sites: Sites
    evaluations: int
    sweeps: int
    success: bool
    message: str

    def status(self, inference: Status) -> Status:
        """Return the status of a fit by this search, from that of the inference at its end."""
        return replace(
            inference,
            converged=self.success and inference.converged,
            sweeps=self.sweeps,
            evaluations=self.evaluations,
            message=f"{in_words(self.message)}; at its end {inference.message}",
        )


@dataclass
class _Model:
    """Points, and the sites that one evaluation hands to the next, of a single search."""

    X: np.ndarray
    y: np.ndarray
    likelihood: Likelihood
    floor: float
    sites: Sites
    evaluations: int = field(default=0, init=False)
    sweeps: int = field(default=0, init=False)

    def evaluate(self, kernel: SquaredExponential) -> tuple[float, np.ndarray]:
        """Return the log evidence, and its derivatives in the kernel's parameters at fixed sites."""
        posterior = Dense.build(kernel.matrix(self.X))
        self.evaluations += 1
        for swept in range(1, MOST + 1):
            before = self.sites
            self.sites, log_scale = _sweep(posterior, before, self.likelihood, self.y, self.floor)
            changes = np.array([self.sites.tau - before.tau, self.sites.nu - before.nu])
            if swept >= LEAST and (np.mean(changes**2, axis=1) < ENOUGH).all():
                break
        else:
            raise ArithmeticError(f"sites still change after {MOST} sweeps")
        self.sweeps += swept
        state = posterior.condition(self.sites)
        slope = kernel.contract_gradient(self.X, posterior.K, posterior.evidence_derivative(state))
        return state.log_normaliser + log_scale, slope


def search(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    kernel: SquaredExponential,
    sites: Sites | None,
    how: Search,
    floor: float,
) -> Released:
    """Climb EP's evidence as the released code does.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
    likelihood : Likelihood
    kernel : SquaredExponential
        Kernel at which the search starts.
    sites : Sites, optional
        Sites at which its first inference starts; flat ones by default.
    how : Search
        Its tolerances and its limit.
    floor : float
        Least precision of a site.

    Raises
    ------
    ArithmeticError
        An improper cavity or posterior, or sites that do not settle in `MOST` sweeps.
    """
    transform = TRANSFORMS["softplus"]
    model = _Model(X, y, likelihood, floor, sites or Sites.zeros(len(y)))

    def at(x: np.ndarray) -> SquaredExponential:
        return kernel.with_parameters(np.maximum(transform.forward(x), SMALLEST))

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, slope = model.evaluate(at(x))
        return -value, -slope * transform.slope(x)

    for _ in range(2):
        model.evaluate(kernel)
    tolerances = how.relative_tolerance, how.gradient_tolerance
    end = lbfgs(objective, transform.inverse(kernel.parameters()), how.max_iterations, *tolerances)
    model.evaluate(at(end.x))
    counted = model.evaluations, model.sweeps
    return Released(at(end.x), model.sites, *counted, end.success, end.message)


def _sweep(
    posterior: Dense, sites: Sites, likelihood: Likelihood, y: np.ndarray, floor: float
) -> tuple[Sites, float]:
    """Update each site in order; return the new sites and the sum of their log scales.

    A log scale gives the tilted distribution met on the way its normaliser.
    """
    state = posterior.condition(sites)
    covariance, mean = posterior.covariance(state), np.array(state.marginals.mean)
    tau, nu = np.array(sites.tau, dtype=float), np.array(sites.nu, dtype=float)
    log_z, precision, shift = np.empty((3, len(y)))
    for first in range(0, len(y), BLOCK):
        columns = np.empty((len(y), min(BLOCK, len(y) - first)), order="F")
        scales = np.zeros(columns.shape[1])
        for k, i in enumerate(range(first, first + columns.shape[1])):
            column = covariance[:, i] - columns[:, :k] @ (scales[:k] * columns[i, :k])
            variance, at = column[i], slice(i, i + 1)
            precision[i], shift[i] = 1.0 / variance - tau[i], mean[i] / variance - nu[i]
            if not precision[i] > 0:
                raise ArithmeticError(f"the cavity of point {i + 1} is improper")
            tilted = likelihood.tilted(y[at], shift[at] / precision[at], 1.0 / precision[at])
            log_z[i] = tilted.log_z[0]
            d_tau = max(tau[i] + 1.0 / tilted.variance[0] - 1.0 / variance, floor) - tau[i]
            d_nu = tilted.mean[0] / tilted.variance[0] - mean[i] / variance
            columns[:, k], scales[k] = column, d_tau / (1.0 + d_tau * variance)
            mean += column * (d_nu - scales[k] * (mean[i] + variance * d_nu))
            tau[i] += d_tau
            nu[i] += d_nu
        covariance -= (columns * scales) @ columns.T
    total = precision + tau
    log_gaussian = 0.5 * (np.log(precision / total) + (shift + nu) ** 2 / total - shift**2 / precision)
    return Sites(tau, nu), float(np.sum(log_z - log_gaussian))
