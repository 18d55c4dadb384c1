"""The front door: ``tilted.fit``.

Input is checked first: every bad value gets a ``ValueError`` that names it, never a silent NaN.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from tilted import hyperparameters, likelihoods
from tilted.gaussian import Sites
from tilted.hyperparameters import Problem, Search
from tilted.inference.options import Options
from tilted.inference.result import Inference, Status
from tilted.kernels import SquaredExponential

CHUNK = 4096


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    kernel : SquaredExponential
        With the hyperparameters used.
    inference : Inference
        Posterior and sites at these hyperparameters.
    log_evidence : float
    status : Status
    seconds : float
        Wall time of the fit.
    """

    problem: Problem = field(repr=False)
    kernel: SquaredExponential
    inference: Inference = field(repr=False)
    status: Status
    seconds: float

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the training data under the method."""
        return self.inference.log_evidence

    def predict_latent(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function at the rows of ``X`` [N*, D]."""
        X = check_inputs(X, self.problem.X.shape[1])
        posterior = self.problem.posterior(self.kernel)
        parts = [
            posterior.predict(
                self.inference.state,
                self.kernel.matrix(chunk, self.problem.X),
                self.kernel.diagonal(chunk),
                self.problem.mean,
            )
            for chunk in np.array_split(X, max(1, -(-len(X) // CHUNK)))
        ]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def log_predictive(self, X, y) -> np.ndarray:
        """Log predictive density [N*] of labels or counts ``y`` [N*] at the rows of ``X``.

        Raises
        ------
        ValueError
            For bad inputs, labels outside the likelihood's domain, or lengths that differ.
        """
        y = self.problem.likelihood.domain(y)
        mean, variance = self.predict_latent(X)
        if len(y) != len(mean):
            raise ValueError(f"X has {len(mean)} rows but y has {len(y)} values")
        return self.problem.likelihood.log_predictive(y, mean, variance)


def check_inputs(X, columns: int | None = None) -> np.ndarray:
    """``X`` as a float matrix [N, D].

    Raises
    ------
    ValueError
        If it is not two-dimensional, empty, not numeric, not finite, or has another number of columns
        than ``columns``.
    """
    try:
        X = np.asarray(X, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be numeric: {error}") from None
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X must be a non-empty matrix [N, D], got shape {X.shape}")
    if columns is not None and X.shape[1] != columns:
        raise ValueError(f"X must have {columns} columns, as in training, got {X.shape[1]}")
    if not np.all(np.isfinite(X)):
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(X)))
        raise ValueError(f"X has a missing or infinite value at row {row}, column {column}")
    return X


def make_problem(X, y, likelihood, method, mean=0.0, options=None, projection=None) -> Problem:
    """Checked data and model; ``ValueError`` for anything :func:`fit` documents."""
    X = check_inputs(X)
    likelihood = likelihoods.get(likelihood)
    y = likelihood.check(y)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows but y has {len(y)} values")
    if len(y) < 2:
        raise ValueError(f"need at least 2 training points, got {len(y)}")
    if not np.isfinite(mean):
        raise ValueError(f"the prior mean must be finite, got {mean}")
    problem = Problem(X, y, likelihood, method, float(mean), options or Options(), projection)
    problem.rule()
    return problem


def fit(
    X,
    y,
    likelihood="probit",
    method: str = "ep",
    kernel: SquaredExponential | None = None,
    mean: float = 0.0,
    optimise: bool = True,
    search: Search | None = None,
    options: Options | None = None,
    start: Sites | None = None,
    projection=None,
) -> Fit:
    """Fit a Gaussian-process model.

    Parameters
    ----------
    X : array [N, D]
        Inputs; zero-variance columns and duplicate rows are allowed.
    y : array [N]
        Labels -1 and +1 (probit), counts (poisson-square) or reals (gaussian).
    likelihood : str or Likelihood
        A name from ``tilted.likelihoods.names()`` or a likelihood object.
    method : str
        "ep", "qp" or "vb".
    kernel : SquaredExponential, optional
        Start of the optimisation, or the hyperparameters to use; (1, 1) by default. A tuple of
        lengthscales makes it ARD.
    mean : float
        Constant prior mean.
    optimise : bool
        Maximise the log evidence over the kernel's parameters, or keep them.
    search : Search, optional
        How to optimise.
    options : Options, optional
        How to iterate the sites.
    start : Sites, optional
        Warm start.
    projection : object, optional
        How "qp" projects; by quadrature if not given. ``tilted.lookup.build()`` (probit) gives the same
        to 1e-10 and is faster; ``tilted.projections.TableGrid()`` is the QP paper's own table;
        ``tilted.lp.LpProjection(p)`` minimises the L_p distance instead (fixed hyperparameters, or
        ``search=Search(gradient="sites-fixed")``).

    Returns
    -------
    Fit
        Also when not converged: ``status`` says so, and why.

    Raises
    ------
    ValueError
        For NaN or infinite values, one class only, labels outside the likelihood's domain, fewer than
        two points, shapes that do not match, and unknown names.
    NotPositiveDefinite
        If the posterior is improper at the starting point.

    Examples
    --------
    >>> import numpy as np, tilted
    >>> X = np.linspace(-2, 2, 8)[:, None]
    >>> y = np.array([-1, -1, -1, 1, -1, 1, 1, 1])
    >>> result = tilted.fit(X, y, method="ep")
    >>> result.status.converged
    True
    """
    began = time.perf_counter()
    problem = make_problem(X, y, likelihood, method, mean, options, projection)
    kernel = kernel or SquaredExponential()
    if optimise:
        tuned = hyperparameters.maximise(problem, kernel, search, start)
        kernel, found, status = tuned.kernel, tuned.inference, tuned.status
    else:
        found = hyperparameters.infer_at(problem, kernel, start)
        status = found.status
    return Fit(problem, kernel, found, status, time.perf_counter() - began)
