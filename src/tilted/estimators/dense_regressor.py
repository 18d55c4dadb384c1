"""Regression of real targets by a dense Gaussian process, under Gaussian noise or noise of heavy tails."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike

from tilted import likelihoods
from tilted.estimators import dense
from tilted.estimators.base import generator, parameters
from tilted.estimators.models import choice
from tilted.estimators.rows import weighed
from tilted.estimators.targets import CONSTANT, FAR_FROM_ZERO, LEVEL, Targets, wild
from tilted.inference.options import Options
from tilted.learning import averages
from tilted.learning.starts import SMALLEST, noted, require_moderate, start_kernel
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.student_t import StudentT

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

NOISE = 0.1  # that a search starts from, in units of the squared spread of the targets
ROBUST = 1.4826  # standard deviation of a normal, in units of its median absolute deviation
SEVERAL = (
    "this noise is not log-concave: EP may have several fixed points or none (inference='vb' always has one, "
    "'laplace' noise is log-concave)"
)
STARTS: dict[str, Callable[[float], Likelihood]] = {  # spread of the targets -> likelihood
    "gaussian": lambda spread: GaussianNoise(NOISE * spread**2),
    "laplace": lambda spread: LaplaceNoise(float(np.sqrt(0.5 * NOISE)) * spread),
    "student-t": lambda spread: StudentT(float(np.sqrt(0.5 * NOISE)) * spread),
}


@parameters
class GPRegressor(Targets):
    """Regression of real targets, N^3 in the number of rows; robust with a likelihood of heavy tails.

    Parameters
    ----------
    inference : {"ep", "qp", "vb", "power-ep", "rep"}
        As `GPClassifier`. All the same for Gaussian noise.
    likelihood : {"gaussian", "student-t", "laplace"} or Likelihood
        Of the noise. Its scale is learned by evidence with the kernel, starting from the targets' spread, or
        from that of the object given. "student-t" has 4 degrees of freedom, which are not learned.
    kernel : Kernel, optional
        Any of ``tilted.kernels``, or one of scikit-learn's: where the search starts, or what is kept. By
        default a squared exponential with the variance of the targets (from their median absolute deviation)
        and a lengthscale from the spread of the inputs.
    mean : float or "constant", optional
        Prior mean; by default the mean of the targets, under other noises than Gaussian their median.
    ard, optimise, n_restarts, cv, priors, max_time : see `GPClassifier`
    power, penalty, search, options, random_state : see `GPClassifier`
        Without ``optimise="evidence"`` the likelihood stays where a search would start.

    Attributes
    ----------
    kernel_ : Kernel
    likelihood_ : Likelihood
        With the scale found.
    mean_ : float
    log_evidence_ : float or None
        In nats; None for relaxed EP.
    status_ : Status
    theta_ : array [P]
        Logarithms of the kernel's parameters.
    models_ : list of one
        What predicts: ``models_[0].fit`` is a ``tilted.Fit``.
    n_features_in_ : int
    feature_names_in_ : array [D]
        Of a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted import GPRegressor
    >>> X = np.linspace(0, 5, 25)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[12] = 30.0
    >>> model = GPRegressor(likelihood="laplace").fit(X, y)
    >>> bool(abs(model.predict(X[[12]])[0] - np.sin(X[12, 0])) < 0.1)
    True
    """

    likelihood: Likelihood | str = "gaussian"
    cv: int = 3
    penalty: float = 0.1
    options: Options | None = None
    correction: None = field(default=None, init=False)

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the latent function and the noise.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
        sample_weight : array-like [N], optional
            Powers of the rows' likelihood factors: a whole one is as good as that many rows, 0 as none.

        Returns
        -------
        self
            A ConvergenceWarning says where the search or its sites did not converge. Constant targets warn:
            nothing is searched.

        Raises
        ------
        ValueError
            For missing or infinite values, shapes that do not match, and unknown settings.
        ArithmeticError
            If there is no proper posterior at the start.
        """
        inputs, targets = self._begin(X, y, y_numeric=True)
        inputs, reals, weights = self._merged(*weighed(inputs, targets.astype(float), sample_weight))
        require_moderate("y", reals, SMALLEST)
        likelihood, spread = self._start(reals, weights)
        gaussian = isinstance(likelihood, GaussianNoise)
        centre = (averages.mean if gaussian else averages.median)(reals, weights)
        settings = dense.DenseSettings.of(
            self, centre, likelihood=likelihood, learn_likelihood=True, weights=weights
        )
        aimless = np.ptp(reals) == 0 and settings.optimise is not None
        if aimless:
            warnings.warn(CONSTANT, UserWarning, stacklevel=2)
            settings = replace(settings, optimise=None, learn_mean=False)
        kernel = start_kernel(self.kernel, inputs, self.ard, spread**2, weights)
        rng = generator(self.random_state)
        model = dense.fit_dense(inputs, reals, kernel, settings, rng, stratified=False)
        notes = [CONSTANT] if aimless else []
        for note in wild(reals) if gaussian else []:
            warnings.warn(note, UserWarning, stacklevel=2)
            notes.append(note)
        if gaussian and not model.status.converged and np.max(np.abs(reals)) > FAR_FROM_ZERO * spread:
            notes.append(LEVEL.format(np.max(np.abs(reals)) / spread))
        if not (likelihood.log_concave or model.status.converged):
            notes.append(SEVERAL)
        for note in notes:
            model = replace(model, status=noted(model.status, note))
        self._keep([model], ["the fit"], inputs)
        return self

    def _start(self, y: np.ndarray, weights: np.ndarray | None) -> tuple[Likelihood, float]:
        """The likelihood that a search starts from, and the spread of the targets ``y`` [N]."""
        apart = np.abs(y - averages.median(y, weights))
        spread = (
            ROBUST * averages.median(apart, weights) or float(np.sqrt(averages.variance(y, weights))) or 1.0
        )
        if not isinstance(self.likelihood, str):
            return likelihoods.get(self.likelihood), spread
        choice("likelihood", self.likelihood, tuple(STARTS))
        return STARTS[self.likelihood](spread), spread
