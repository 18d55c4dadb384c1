"""Gaussian-process regressors of reals, dense and with pseudo-points, and the base of all regressors."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tilted import likelihoods
from tilted.estimators.base import (
    DenseEstimator,
    LatentFunctions,
    ScoreMixin,
    Seed,
    generator,
    parameters,
)
from tilted.estimators.diagnostics import outlier_notes
from tilted.estimators.models import choice, finite
from tilted.estimators.pseudo import PseudoInputs, in_batches
from tilted.estimators.validation import require_flag, weighted_rows
from tilted.inference.options import Options
from tilted.learning import averages
from tilted.learning.starts import SCALES, SMALLEST, require_moderate, start_kernel, with_notes
from tilted.likelihoods.contract import has_additive_noise
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.laplace import LaplaceNoise
from tilted.likelihoods.student_t import StudentT

if TYPE_CHECKING:
    from tilted.estimators.models import LatentModel, Settings
    from tilted.likelihoods.contract import Likelihood

CONSTANT = "targets are constant: kernel and noise stay where a search would start"
LEVEL = "targets lie {:.0e} of their spreads from 0, where their digits end: subtract a level from them"
MOST = 2.0**53  # where whole numbers end among floats
ABSURD = (
    "expected counts or their standard deviations are beyond {:.0e} in {} of {} rows: the data say so little "
    "of f there (its standard deviation is up to {:.3g}) that its tail rules them (predict_latent has f)"
)
FAR_FROM_ZERO = 1e6  # spreads
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


@dataclass(frozen=True)
class Start:
    """Checked targets [N], and the values that a fit to them starts from.

    Attributes
    ----------
    targets : array [N]
    likelihood : Likelihood
    mean : float
        The prior mean where none is given.
    variance : float
        Of the kernel.
    learn_likelihood, varied : bool
        As of `Settings` and `start_kernel`.
    """

    targets: np.ndarray
    likelihood: Likelihood
    mean: float
    variance: float
    learn_likelihood: bool = True
    varied: bool = True


@parameters
class Regressor(ScoreMixin, RegressorMixin, LatentFunctions):
    """A regression of reals or counts by one latent function."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the latent function and the likelihood's parameters.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
            Reals, or counts >= 0 (for "poisson-square" at most 100,000). Counts that are not integers, as
            counts by their exposure with that as ``sample_weight``, are taken with one warning by
            "poisson-square" and "poisson-exp" (`RealCounts`, `PoissonRates`).
        sample_weight : array-like [N], optional
            Powers of the rows' likelihood factors: an integer counts as that many rows, 0 as none.

        Returns
        -------
        self
            A ConvergenceWarning says where the search or its sites did not converge; ``status_`` has the
            rest. Constant reals warn: nothing is searched.

        Raises
        ------
        ValueError
            For missing or infinite values, negative counts, shapes that do not match, unknown settings, and a
            search of the evidence at mean 0 where f and -f have the same likelihood.
        ArithmeticError
            If there is no proper posterior at the start; with a learned mean or pseudo-points, also if the
            sites do not converge there.
        """
        inputs, targets = self._begin(X, y, y_numeric=True)
        inputs, targets, weights = self._merge_rows(
            *weighted_rows(inputs, targets.astype(float), sample_weight)
        )
        start = self._start_values(targets, weights)
        settings = self._settings.of(
            self,
            start.mean,
            likelihood=start.likelihood,
            learn_likelihood=start.learn_likelihood,
            weights=weights,
        )
        settings = self._resolved(settings, start)
        kernel = start_kernel(self.kernel, inputs, self.ard, start.variance, weights, start.varied)
        model: Any = self._fitter(inputs, kernel, settings, generator(self.random_state))(start.targets)
        warned, notes = self._notes(model, start, settings)
        for note in warned:
            warnings.warn(note, UserWarning, stacklevel=2)
        for note in [*warned, *notes]:
            model = replace(model, status=with_notes(model.status, note))
        self._keep([model], ["the fit"], inputs)
        return self

    @abstractmethod
    def _start_values(self, targets: np.ndarray, weights: np.ndarray | None) -> Start:
        """Return checked targets [N] and the values that a fit starts from; each subclass has its own."""

    def _is_aimless(self, start: Start) -> bool:
        """Return whether a search was requested of constant targets."""
        return np.ptp(start.targets) == 0 and self.optimise not in (None, False)

    def _resolved(self, settings: Settings, start: Start) -> Settings:
        """Return the settings, without a search for constant targets."""
        return replace(settings, optimise=None, learn_mean=False) if self._is_aimless(start) else settings

    def _notes(self, model: LatentModel, start: Start, settings: Settings) -> tuple[list[str], list[str]]:
        """Return the notes for warnings and for the status, and those for the status alone."""
        gaussian = isinstance(start.likelihood, GaussianNoise)
        warned = ([CONSTANT] if self._is_aimless(start) else []) + (
            outlier_notes(start.targets) if gaussian else []
        )
        notes, spread, largest = [], np.sqrt(start.variance), np.max(np.abs(start.targets))
        if gaussian and not model.status.converged and largest > FAR_FROM_ZERO * spread:
            notes.append(LEVEL.format(largest / spread))
        if not (start.likelihood.log_concave or model.status.converged):
            notes.append(SEVERAL)
        return warned, notes

    @property
    def likelihood_(self) -> Likelihood:
        """With the parameters found: noise, scale, dispersion."""
        check_is_fitted(self, "models_")
        return self.models_[0].likelihood

    @staticmethod
    def _checked(likelihood: Likelihood, targets: np.ndarray) -> np.ndarray:
        """Targets [N] as floats; ValueError for those outside the domain of the likelihood, and too large."""
        require_moderate("y", targets)
        return likelihood.domain(targets)

    @staticmethod
    def _scored_targets(likelihood: Likelihood, targets: ArrayLike) -> np.ndarray:
        """Targets [N] to be judged, as floats; ValueError for those outside the domain of the likelihood."""
        return likelihood.domain(targets)

    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Expected targets under the posterior of f, and standard deviations of new ones, noise included.

        Of counts: E[f^2] or E[e^f], and the root of mean + Var[f^2], or of mean + Var[e^f] + dispersion
        E[e^2f]; with a correction, under the corrected density of f.

        Parameters
        ----------
        X : array-like [N*, D]
        return_std : bool

        Returns
        -------
        mean : array [N*]
        std : array [N*]
            If ``return_std``; `predict_latent` has those of f. A UserWarning says where counts or theirs are
            beyond 2^53, or infinite.

        Raises
        ------
        ValueError
            For bad inputs.
        ArithmeticError
            If a variance that is needed is lost to rounding.
        NotFittedError
        """
        likelihood = cast(Any, self.likelihood_)
        require_flag(return_std=return_std)
        # the mean of f and noise is that of f, whatever its variance
        if has_additive_noise(likelihood) and not return_std:
            return cast("np.ndarray", self.predict_latent(X))
        if self._corrected:
            corrected = self.models_[0].corrected(self._inputs(X))
            v, (mean, variance) = corrected.variance, corrected.target_moments()
        else:
            ((m, v),) = self._moments(X)
            mean, variance = likelihood.target_moments(m, v)
        beyond = ~(np.maximum(mean, np.sqrt(variance) if return_std else 0.0) <= MOST)
        if np.any(beyond) and not has_additive_noise(likelihood):
            spread = float(np.sqrt(np.max(v[beyond])))
            note = ABSURD.format(MOST, np.count_nonzero(beyond), len(beyond), spread)
            warnings.warn(note, UserWarning, stacklevel=2)
        return (mean, np.sqrt(variance)) if return_std else mean

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws [N*, n_samples] of new targets at ``X`` [N*, D], noise included, of one function a column.

        Those of f are `sample_latent`'s, which has the errors too. Counts whose rate overflows, as where f is
        710 and the link exponential, are refused (ValueError).
        """
        rng = generator(random_state)
        return cast(Any, self.likelihood_).draw(self.sample_latent(X, n_samples, rng), rng)

    def log_predictive(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Log densities, or probabilities of counts, [N*] of ``y`` [N*], f integrated out.

        Raises
        ------
        ValueError
            For bad inputs.
        """
        inputs = self._inputs(X)
        targets = self._scored_targets(self.likelihood_, y)
        if len(targets) != len(inputs):
            raise ValueError(f"X has {len(inputs)} rows but y has {len(targets)} values")
        if self._corrected:
            return self.models_[0].log_predictive(inputs, [targets])[0]
        ((m, v),) = self._moments(X)
        return self.likelihood_.log_predictive(targets, m, v)


@parameters
class GPRegressor(Regressor, DenseEstimator):
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
    options: Options | None = None
    correction: None = field(default=None, init=False)

    def _start_values(self, targets: np.ndarray, weights: np.ndarray | None) -> Start:
        require_moderate("y", targets, SMALLEST)
        distances = np.abs(targets - averages.median(targets, weights))
        spread = (
            ROBUST * averages.median(distances, weights)
            or float(np.sqrt(averages.variance(targets, weights)))
            or 1.0
        )
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, tuple(STARTS))
            likelihood = STARTS[self.likelihood](spread)
        else:
            likelihood = likelihoods.get(self.likelihood)
        centre = averages.mean if isinstance(likelihood, GaussianNoise) else averages.median
        return Start(targets, likelihood, centre(targets, weights), spread**2)


@parameters
class SparseRegressor(PseudoInputs, Regressor):
    """A regression through pseudo-points."""

    @available_if(in_batches)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the first rows as `fit` does, and add later ones by the kernel and pseudo-points found.

        The likelihood stays too. Of counts, sites of earlier rows stay as they were when these came. There is
        no evidence then.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
        sample_weight : array-like [N], optional

        Raises
        ------
        ValueError, ArithmeticError
            As `fit`.
        AttributeError
            Without ``batch_size``.
        """
        if not hasattr(self, "models_"):
            return self.fit(X, y, sample_weight)
        inputs, targets, weights = self._further(X, y, sample_weight, y_numeric=True)
        return self._add(inputs, weights, [self._checked(self.likelihood_, targets)], ["the fit"])


@parameters
class SparseGPRegressor(SparseRegressor):
    """Regression with Gaussian noise through M pseudo-points, Power EP in closed form; O(N M^2).

    [Bui et al. 2017, sections 3.5-3.7]: power 1 is FITC, 0 is the variational bound (VFE).

    Parameters
    ----------
    inference : {"power-ep", "ep", "vb"}
        Power EP of the given ``power``, of power 1, or its limit 0.
    kernel : Kernel, optional
        Any of ``tilted.kernels``: where the search starts, or what is kept. By default a squared exponential
        with the variance of the targets and a lengthscale
        from the spread of the inputs.
    noise : float, optional
        Noise variance that the search starts from, and moves; only ``optimise=None`` keeps it. By default a
        tenth of the variance of the targets.
    mean : float or "constant", optional
        Prior mean; that of the targets by default. "constant": at any hyperparameters the one with the
        highest evidence, that of generalised least squares.
    ard, n_pseudo, pseudo_inputs, move_pseudo_inputs, batch_size, n_jobs, verbose : see `SparseGPClassifier`
    approximation, neighbours : see `SparseGPClassifier`
    optimise, n_restarts, priors, max_time, power, jitter, search, random_state : see `SparseGPClassifier`

    Attributes
    ----------
    kernel_ : Kernel
    noise_, likelihood_ : float, GaussianNoise
        Noise variance.
    mean_ : float
    pseudo_inputs_ : array [M, D]
    log_evidence_ : float
        Power EP's energy, in nats.
    status_ : Status
    theta_ : array [P + 1]
        Logarithms of the kernel's parameters and of the noise variance.
    models_ : list of one
        What predicts: ``models_[0].state``.
    n_features_in_ : int
    feature_names_in_ : array [D]
        Of a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.estimators import SparseGPRegressor
    >>> X = np.linspace(0, 5, 30)[:, None]
    >>> model = SparseGPRegressor(n_pseudo=8).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(2).tolist()
    [1.0]
    """

    noise: float | None = None

    def _start_values(self, targets: np.ndarray, weights: np.ndarray | None) -> Start:
        require_moderate("y", targets, SMALLEST)
        variance = averages.variance(targets, weights)
        if not (np.ptp(targets) > 0 and variance > SCALES[0]):
            variance = 1.0
        noise = NOISE * variance if self.noise is None else self.noise
        finite("noise", noise)
        mean = averages.mean(targets, weights)
        return Start(targets, GaussianNoise(noise), mean, variance, varied=False)

    @property
    def noise_(self) -> float:
        """Noise variance as fitted."""
        return cast(GaussianNoise, self.likelihood_).noise
