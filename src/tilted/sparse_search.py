"""Fit a sparse posterior under any likelihood: maximise Power EP's energy by L-BFGS-B.

Kernel parameters are searched by their logarithms, pseudo-inputs as they are. The gradient holds the sites
fixed, which is right at their fixed point only: where they do not converge the evaluation has failed, a wall.
Sites of a log-concave likelihood start at the last converged ones of the same search, and flat where that
leads nowhere. Those of another, which may have several fixed points, always start flat, so that the energy is
a function of the parameters.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites
from tilted.inference import get_rule
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import SMALLEST, power_rule
from tilted.inference.result import Inference, Status
from tilted.kernels.compound import variance_of
from tilted.linalg import NotPositiveDefinite
from tilted.means import EVEN, Level, even
from tilted.optimise import climb
from tilted.posteriors.collapsed import check_data
from tilted.posteriors.pseudo import check_jitter
from tilted.posteriors.sparse import Sparse
from tilted.regression import Search

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.sparse import SparseState


@dataclass(frozen=True)
class Problem:
    """Data and model of a sparse fit.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
    likelihood : Likelihood
    alpha : float or array [N]
        Power; 0 is VB, whose energy is the bound of [Hensman et al. 2015] at its best q(u).
    mean : float
        Prior mean.
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    options : Options

    Raises
    ------
    ValueError
        For data that are not finite or do not fit, labels outside the likelihood's domain, powers that are
        neither 0 for all nor in [1e-6, 1], a mean that is no finite number, and negative jitter.
    """

    X: np.ndarray
    y: np.ndarray
    likelihood: Likelihood
    alpha: float | np.ndarray = 1.0
    mean: float = 0.0
    jitter: float = 0.0
    options: Options = Options()

    def __post_init__(self) -> None:
        check_data(self.X, self.y)
        object.__setattr__(self, "y", self.likelihood.domain(self.y))
        powers = np.asarray(self.alpha, dtype=float)
        if powers.ndim > 1 or (powers.ndim == 1 and len(powers) != len(self.y)):
            raise ValueError(f"alpha is one power or one for each of {len(self.y)} data, not {powers.shape}")
        if not (np.all(powers == 0) or np.all((powers >= SMALLEST) & (powers <= 1))):
            raise ValueError(f"powers are 0 for all data (VB), or lie in [{SMALLEST:g}, 1]")
        if np.ndim(self.mean) or not np.isfinite(self.mean):
            raise ValueError(f"the prior mean is one finite number, got {self.mean}")
        check_jitter(self.jitter)

    def rule(self) -> Rule:
        """The local rule of the power."""
        return get_rule("vb") if np.all(np.equal(self.alpha, 0.0)) else power_rule(self.alpha)

    def infer(
        self, kernel: Kernel, Z: np.ndarray, start: Sites | None = None
    ) -> tuple[Sparse, Inference[SparseState]]:
        """The prior through pseudo-inputs ``Z`` [M, D], and the inference, from a warm start or flat sites.

        Raises
        ------
        NotPositiveDefinite
            As `Sparse.build`; or if the posterior is improper at the starting sites.
        """
        posterior = Sparse.build(kernel, self.X, Z, self.mean, self.jitter)
        return posterior, infer(posterior, self.likelihood, self.y, self.rule(), self.options, start)


@dataclass(frozen=True)
class Fitted:
    """The best evaluation of a search.

    Attributes
    ----------
    posterior : Sparse
        With kernel and pseudo-inputs (``posterior.pseudo``).
    inference : Inference
    status : Status
        Converged if the search met its tolerance, and there; ``residual`` is the largest entry of the
        gradient in the coordinates of the search.
    mean : float
        Prior mean.
    """

    posterior: Sparse = field(repr=False)
    inference: Inference[SparseState]
    status: Status
    mean: float

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D]; ArithmeticError if one is lost to rounding."""
        return self.posterior.predict(self.inference.state, Xs, self.mean)


def maximise(
    problem: Problem, kernel: Kernel, Z: np.ndarray, search: Search | None = None, move_mean: bool = False
) -> Fitted:
    """Maximise the energy from given parameters.

    Parameters
    ----------
    problem : Problem
        With ``move_mean`` its mean is the starting point; 0 is refused for "poisson-square".
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    Z : array [M, D]
        Pseudo-inputs to start from.
    search : Search, optional
    move_mean : bool
        Whether the prior mean is searched too (``means.Level``).

    Returns
    -------
    Fitted

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, sites that do not converge), or nothing tells
        f from -f at the start.
    """
    if move_mean and problem.mean == 0.0 and even(problem.likelihood, problem.y):
        raise ValueError(EVEN)
    search, P = search or Search(), len(kernel.parameters())
    counts = {"sweeps": 0, "restarted": 0}
    last: list[Sites] = []  # the sites to start from, if any
    level = Level(problem.mean, variance_of(kernel))

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray, tuple[Sparse, Inference[SparseState], float]]:
        with np.errstate(over="ignore"):
            at = kernel.with_parameters(np.exp(x[:P]))
        here = replace(problem, mean=level.mean(at, float(x[-1]))) if move_mean else problem
        points = x[P : P + Z.size].reshape(Z.shape) if search.move_pseudo_inputs else Z
        posterior, found = _converged(here, at, points, last, counts)
        last[:] = [found.sites] if problem.likelihood.log_concave else []
        by_parameters, by_Z = posterior.evidence_gradient(found.state, found.by_extra)
        slope = by_parameters * at.parameters()
        if search.move_pseudo_inputs:
            slope = np.concatenate([slope, by_Z.ravel()])
        if move_mean:
            by_mean = float(np.sum(found.sites.nu - found.sites.tau * found.state.marginals.mean))
            through_unit, by_c = level.pull_back(at, float(x[-1]), by_mean)
            slope[:P] += through_unit * at.parameters()
            slope = np.append(slope, by_c)
        return found.log_evidence, slope, (posterior, found, here.mean)

    x0 = np.log(kernel.parameters())
    if search.move_pseudo_inputs:
        x0 = np.concatenate([x0, Z.ravel()])
    if move_mean:
        x0 = np.append(x0, 0.0)
    end = climb(evaluate, x0, search.max_evaluations, search.relative_tolerance, search.gradient_tolerance)
    posterior, found, mean = end.best
    notes = [end.message, found.status.message]
    if posterior.floored:
        notes.append(f"{posterior.floored} conditional variances below zero by rounding")
    if counts["restarted"]:
        notes.append(f"{counts['restarted']} evaluations started again from flat sites")
    if posterior.jitter:
        notes.append(f"jitter {posterior.jitter:.1e} on Kuu")
    status = replace(
        found.status,
        converged=end.converged,
        sweeps=counts["sweeps"],
        evaluations=end.evaluations,
        residual=end.slope,
        message="; ".join(notes),
    )
    return Fitted(posterior, found, status, mean)


def _converged(
    problem: Problem, kernel: Kernel, Z: np.ndarray, last: list[Sites], counts: dict[str, int]
) -> tuple[Sparse, Inference[SparseState]]:
    """Posterior and inference from the last sites, or from flat ones where these lead nowhere.

    Raises
    ------
    ArithmeticError
        If the sites do not converge from either.
    """
    for start in (*last, None):
        try:
            posterior, found = problem.infer(kernel, Z, start)
        except NotPositiveDefinite:
            if start is None:
                raise
        else:
            counts["sweeps"] += found.status.sweeps
            if found.status.converged:
                return posterior, found
        counts["restarted"] += start is not None
    raise ArithmeticError(f"the sites did not converge ({found.status.message})")
