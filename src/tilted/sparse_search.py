"""Fit a sparse posterior under any likelihood: maximise Power EP's energy by L-BFGS-B.

Kernel parameters are searched by their logarithms, pseudo-inputs as they are. The gradient holds the sites
fixed, which is right at their fixed point only: an evaluation whose sites have not converged is a failed one,
a wall. Sites start at the last converged ones of the same search, and flat where that leads nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from tilted.gaussian import Sites
from tilted.inference import get_rule
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.result import Inference, Status
from tilted.linalg import NotPositiveDefinite
from tilted.optimise import climb
from tilted.posteriors.sparse import Sparse
from tilted.regression import Search


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
    """

    X: np.ndarray
    y: np.ndarray
    likelihood: object
    alpha: float | np.ndarray = 1.0
    mean: float = 0.0
    jitter: float = 0.0
    options: Options = Options()

    def rule(self):
        """The local rule of the power."""
        return get_rule("vb") if np.all(np.equal(self.alpha, 0.0)) else power_rule(self.alpha)

    def infer(self, kernel, Z: np.ndarray, start: Sites | None = None) -> tuple[Sparse, Inference]:
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
    """

    posterior: Sparse = field(repr=False)
    inference: Inference
    status: Status

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D]; ArithmeticError if one is lost to rounding."""
        return self.posterior.predict(self.inference.state, Xs, self.posterior.mean[0])


def maximise(problem: Problem, kernel, Z: np.ndarray, search: Search | None = None) -> Fitted:
    """Maximise the energy from given parameters.

    Parameters
    ----------
    problem : Problem
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    Z : array [M, D]
        Pseudo-inputs to start from.
    search : Search, optional

    Returns
    -------
    Fitted

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, sites that do not converge).
    """
    search, P = search or Search(), len(kernel.parameters())
    counts = {"sweeps": 0, "restarted": 0}
    last: list[Sites] = []

    def evaluate(x):
        with np.errstate(over="ignore"):
            at = kernel.with_parameters(np.exp(x[:P]))
        points = x[P:].reshape(Z.shape) if search.move_pseudo_inputs else Z
        posterior, found = _converged(problem, at, points, last, counts)
        last[:] = [found.sites]
        by_parameters, by_Z = posterior.evidence_gradient(found.state, found.by_extra)
        slope = by_parameters * at.parameters()
        if search.move_pseudo_inputs:
            slope = np.concatenate([slope, by_Z.ravel()])
        return found.log_evidence, slope, (posterior, found)

    x0 = np.log(kernel.parameters())
    if search.move_pseudo_inputs:
        x0 = np.concatenate([x0, Z.ravel()])
    end = climb(evaluate, x0, search.max_evaluations, search.relative_tolerance, search.gradient_tolerance)
    posterior, found = end.best
    notes = [end.message]
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
    return Fitted(posterior, found, status)


def _converged(problem: Problem, kernel, Z, last: list[Sites], counts: dict) -> tuple[Sparse, Inference]:
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
