"""Dense fits from a stated start; ``tilted.fit``, which guesses a start, is in ``estimators.fit``.

Nothing is guessed from the data here, which is what protocols of experiments need. Input is checked first:
every bad value gets a ``ValueError`` that names it, never a silent NaN.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from tilted import corrections, likelihoods
from tilted.gaussian import Sites, require_positive
from tilted.inference import rule_of
from tilted.inference.options import Options
from tilted.inference.result import Inference, Status
from tilted.inference.rule import weighted
from tilted.kernels.converted import as_kernel
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning import dense as hyperparameters
from tilted.learning import likelihood as with_likelihood
from tilted.learning.dense import Problem
from tilted.learning.likelihood import coordinates_of
from tilted.learning.mean import EVEN, even
from tilted.learning.search import Search
from tilted.likelihoods.contract import as_floats, names_of, require_names
from tilted.numerics.chunks import in_chunks

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tilted.inference.rule import Projector, Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

UNCORRECTED = "corrections are of a likelihood without weights"
BOTH_SIGNS = (
    "every mean is 0: f and -f have the same likelihood and nothing tells them apart (give another mean, or "
    "sites to start from)"
)


@dataclass(frozen=True)
class Fit:
    """A fitted model.

    Attributes
    ----------
    kernel : Kernel
        With the hyperparameters used.
    inference : Inference
        Posterior and sites at these hyperparameters.
    log_evidence : float
    status : Status
    seconds : float
        Wall time of the fit.

    Examples
    --------
    >>> import numpy as np
    >>> import tilted
    >>> X = np.linspace(-2.0, 2.0, 9)[:, None]
    >>> fit = tilted.fit(X, np.sign(X[:, 0] + 0.1), likelihood="probit", inference="ep")
    >>> mean, variance = fit.predict_latent([[1.0]])
    >>> bool(mean[0] > 0)
    True
    """

    problem: Problem = field(repr=False)
    kernel: Kernel
    inference: Inference[DenseState] = field(repr=False)
    status: Status
    seconds: float

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the training data under the method."""
        return self.inference.log_evidence

    def predict_latent(self, X: ArrayLike, correction: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the latent function at the rows of ``X`` [N*, D].

        Parameters
        ----------
        X : array [N*, D]
        correction : "cheap", "nearly-exact" or "sampled", optional
            Of EP's answer at these hyperparameters, towards the exact posterior (`corrected` says more); a
            CorrectionWarning says where that is not to be trusted, and the answer is EP's.

        Raises
        ------
        ValueError
            For bad inputs, or another correction.
        ArithmeticError
            If a variance is lost to rounding.
        """
        if correction is not None:
            corrected = self.corrected_or_warned(X, correction)
            return corrected.mean, corrected.variance
        X = check_inputs(X, self.problem)
        state, kernel = self.inference.state, self.kernel
        chunks = [
            state.predict(kernel.matrix(rows, self.problem.X), kernel.diagonal(rows), self.problem.mean)
            for rows in in_chunks(X)
        ]
        means, variances = zip(*chunks, strict=True)
        return np.concatenate(means), require_positive(np.concatenate(variances))

    def log_predictive(self, X: ArrayLike, y: ArrayLike, correction: str | None = None) -> np.ndarray:
        """Log predictive density [N*] of labels or counts ``y`` [N*] at the rows of ``X``.

        ``correction`` as of `predict_latent`; of "sampled" as `Corrected.resolved`.

        Raises
        ------
        ValueError
            For bad inputs, labels outside the likelihood's domain, lengths that differ, or another
            correction.
        ArithmeticError
            If a variance is lost to rounding.
        """
        y = self.problem.likelihood.domain(y)
        if correction is not None and len(y) == len(check_inputs(X)):
            return self.corrected_or_warned(X, correction).resolved(y)
        mean, variance = self.predict_latent(X)
        if len(y) != len(mean):
            raise ValueError(f"X has {len(mean)} rows but y has {len(y)} values")
        return self.problem.likelihood.log_predictive(y, mean, variance)

    @cached_property
    def expansion(self) -> corrections.Expansion:
        """EP's fixed point at these hyperparameters, where corrections start, whatever the method."""
        problem = self.problem
        if problem.rule.weights is not None:
            raise ValueError(UNCORRECTED)
        prior = problem.posterior(self.kernel)
        return corrections.expand(
            prior, problem.likelihood, problem.y, self.inference.state.sites, problem.options
        )

    def corrected(
        self, X: ArrayLike, correction: str = "cheap", progress: Callable[[int], None] | None = None
    ) -> corrections.Corrected:
        """Corrected posterior of the latent function, row by row: moments, densities, and a figure of trust.

        Parameters
        ----------
        X : array [N*, D]
            Training inputs too.
        correction : "cheap", "nearly-exact" or "sampled"
            EP-FACT, or EP conditioned on each latent with the evidence's correction inside
            [Cseke & Heskes 2011; Opper, Paquet & Winther 2013], or the exact posterior's draws (probit only).
        progress : callable, optional
            Hears how many rows are done.

        Returns
        -------
        corrections.Corrected
            EP's Gaussians, marked, where a correction is not to be trusted.

        Raises
        ------
        ValueError
            For bad inputs, or another correction.
        ArithmeticError
            If EP's variance is lost to rounding, or EP has no proper posterior.
        """
        corrections.marginals.require_grade(correction)
        X = check_inputs(X, self.problem)
        cross, variance = self.kernel.matrix(X, self.problem.X), self.kernel.diagonal(X)
        queries = corrections.queries(self.expansion, cross, self.problem.mean, variance)
        require_positive(queries.variance)
        return corrections.correct_marginals(self.expansion, queries, correction, progress)

    def corrected_evidence(self, correction: str = "cheap") -> corrections.Evidence | corrections.Sampled:
        """EP's log evidence at these hyperparameters to second order, or "sampled"; and how far to trust it.

        ValueError for another correction, ArithmeticError if EP has no proper posterior.
        """
        corrections.marginals.require_grade(correction)
        sampled = correction == corrections.marginals.SAMPLED
        return self.expansion.sampled if sampled else corrections.correct_evidence(self.expansion)

    def corrected_or_warned(self, X: ArrayLike, correction: str) -> corrections.Corrected:
        """`corrected` at the rows of ``X`` [N*, D], with a CorrectionWarning where its answers are EP's."""
        corrected = self.corrected(X, correction)
        if not np.all(corrected.trusted):
            warnings.warn(corrected.message, corrections.CorrectionWarning, stacklevel=3)
        return corrected


def check_inputs(X: ArrayLike, problem: Problem | None = None) -> np.ndarray:
    """``X`` as a float matrix [N, D].

    Raises
    ------
    ValueError
        If it is not two-dimensional, empty, not numeric (or complex), not finite, masked, or has another
        number of columns than ``problem`` or, where both have names, other names or another order.
    """
    require_names(X, problem.names if problem else None)
    if hasattr(X, "toarray"):
        raise ValueError("X is a sparse matrix: dense inference takes arrays, such as X.toarray()")
    X = as_floats(X, "X")
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X must be a non-empty matrix [N, D], got shape {X.shape}")
    if problem is not None and X.shape[1] != (columns := problem.X.shape[1]):
        raise ValueError(f"X must have {columns} columns, as in training, got {X.shape[1]}")
    if not np.all(np.isfinite(X)):
        row, column = (int(i[0]) for i in np.nonzero(~np.isfinite(X)))
        raise ValueError(f"X has a missing or infinite value at row {row}, column {column}")
    return X


def make_problem(
    X: ArrayLike,
    y: ArrayLike,
    likelihood: str | Likelihood,
    method: str | Rule,
    mean: float = 0.0,
    options: Options | None = None,
    projection: Projector | None = None,
    weights: np.ndarray | None = None,
) -> Problem:
    """Checked data and model; ``ValueError`` for anything :func:`fit` documents.

    ``weights`` [N] are powers of the likelihood's factors (``inference.rule.weighted``).
    """
    X, names = check_inputs(X), names_of(X)
    likelihood = likelihoods.get(likelihood)
    require("likelihood", likelihood, hasattr(likelihood, "tilted") and not isinstance(likelihood, type))
    require("options", options, options is None or isinstance(options, Options))
    require("mean", mean, isinstance(mean, Real) and abs(mean) <= sys.float_info.max)
    y = likelihood.check(y)
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} rows but y has {len(y)} values")
    if len(y) < 2:
        raise ValueError(f"need at least 2 training points, got {len(y)}")
    rule = weighted(rule_of(method, projection), weights)
    return Problem(X, y, likelihood, rule, float(mean), options or Options(), names=names)


EXPECTED = {
    "likelihood": "a name or a likelihood",
    "options": "Options",
    "mean": "one finite number (the prior mean)",
    "search": "Search",
    "optimise": "True or False",
}


def require(name: str, value: object, sound: bool) -> None:
    """ValueError that names the argument unless it is ``sound``."""
    if not sound:
        raise ValueError(f"{name} must be {EXPECTED[name]}, got {value!r}")


def require_sites(start: object, n: int) -> None:
    """ValueError if ``start`` is not Sites of ``n`` finite precisions and shifts."""
    if not isinstance(start, Sites):
        raise ValueError(f"start must be Sites, got {start!r}")
    for name, values in (("tau", start.tau), ("nu", start.nu)):
        if np.shape(values) != (n,):
            raise ValueError(f"start.{name} has shape {np.shape(values)} for {n} training points")
        if not np.all(np.isfinite(values)):
            raise ValueError(f"start.{name} has a missing or infinite value")


def fit(
    X: ArrayLike,
    y: ArrayLike,
    likelihood: str | Likelihood = "probit",
    method: str | Rule = "ep",
    kernel: Kernel | None = None,
    mean: float = 0.0,
    optimise: bool = True,
    search: Search | None = None,
    options: Options | None = None,
    start: Sites | None = None,
    projection: Projector | None = None,
    learn_likelihood: bool = False,
) -> Fit:
    """Fit a Gaussian-process model from the start that is given, by the search that is given.

    Parameters are those of ``tilted.fit`` (``estimators.fit``), without what that guesses: the kernel is
    by default one of variance and lengthscale 1, the search over softplus coordinates, with no limit of time
    and without a prior.

    Parameters
    ----------
    X, y : arrays [N, D], [N]
    likelihood : str or Likelihood
    method : str or Rule
    kernel : Kernel, optional
        Any of ``tilted.kernels`` or its equivalent of scikit-learn's: start of the optimisation, or what to
        use; a squared exponential of variance and lengthscale 1 by default, ARD with a tuple of lengthscales.
    mean : float
    optimise : bool
    search : Search, optional
    options : Options, optional
    start : Sites, optional
    projection : Projector, optional
    learn_likelihood : bool
        Whether the search moves those of the likelihood too (noise, scale), to ``problem.likelihood``.

    Returns
    -------
    Fit

    Raises
    ------
    ValueError, NotPositiveDefinite
        As ``tilted.fit``.
    """
    began = time.perf_counter()
    problem = make_problem(X, y, likelihood, method, mean, options, projection)
    kernel = SquaredExponential() if kernel is None else as_kernel(kernel, problem.X.shape[1])
    require("search", search, search is None or isinstance(search, Search))
    require("optimise", optimise, isinstance(optimise, bool | np.bool_))
    if start is not None:
        require_sites(start, len(problem.y))
    result = fit_problem(problem, kernel, bool(optimise), search, start, None, learn_likelihood)
    return replace(result, seconds=time.perf_counter() - began)


def fit_problem(
    problem: Problem,
    kernel: Kernel,
    optimise: bool,
    search: Search | None = None,
    start: Sites | None = None,
    prior: LogNormal | None = None,
    learn_likelihood: bool = False,
) -> Fit:
    """`fit` of a problem that is checked; ``prior`` as of ``learning.dense.maximise``."""
    began = time.perf_counter()
    if optimise and start is None and problem.mean == 0.0 and even(problem.likelihood, problem.y):
        raise ValueError(EVEN)
    if optimise and learn_likelihood and len(coordinates_of(problem.likelihood)):
        tuned = with_likelihood.maximise(problem, kernel, search, start, prior=prior)
        problem, kernel, inference, status = tuned.problem, tuned.kernel, tuned.inference, tuned.status
    elif optimise and len(kernel.parameters()):
        tuned = hyperparameters.maximise(problem, kernel, search, start, prior)
        kernel, inference, status = tuned.kernel, tuned.inference, tuned.status
    else:
        inference = hyperparameters.infer_at(problem, kernel, start)
        status = inference.status
    if not np.any(inference.state.marginals.mean) and even(problem.likelihood, problem.y):
        status = replace(status, message=f"{status.message}; {BOTH_SIGNS}")
    return Fit(problem, kernel, inference, status, time.perf_counter() - began)
