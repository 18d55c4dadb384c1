"""Gaussian-process regressors: on counts, dense, and on real targets with pseudo-points."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from tilted.estimators import collapsed, dense, sparse
from tilted.estimators.base import Seed, generator, of_one_fit, parameters
from tilted.estimators.models import choice, finite
from tilted.estimators.pseudo import PseudoInputs, in_batches
from tilted.estimators.rows import weighed
from tilted.estimators.targets import DenseTargets
from tilted.inference.options import Options
from tilted.learning import averages
from tilted.learning.mean import EVEN
from tilted.learning.starts import SCALES, noted, require_moderate, start_kernel, start_variance
from tilted.likelihoods.exponential_link import Counts, NegativeBinomial, PoissonExponential
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.real_counts import RealCounts

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

REAL_COUNTS = (
    "y has values that are no whole numbers: the likelihood continues the factorial by the Gamma function, "
    "and the evidence is not that of a distribution"
)
BOTH_SIGNS = "at mean=0 f and -f have the same likelihood: nothing is learnt but the scale of f"


COUNTS = {
    "poisson-square": RealCounts(),
    "poisson-exp": PoissonExponential(),
    "negative-binomial": NegativeBinomial(0.5),
}
NO_COUNTS = "every count is 0: the evidence is highest at rate 0, where the learned mean goes (give one)"
CONSTANT = "targets are constant: kernel and noise stay where a search would start"


@parameters
class GPPoissonRegressor(DenseTargets):
    """Regression of counts, of rate f^2 or e^f, f a Gaussian process [Zhang 2020, appendix C.2]; O(N^3).

    Parameters
    ----------
    inference : {"ep", "qp", "vb", "power-ep", "rep"}
        As `GPClassifier`.
    likelihood : {"poisson-square", "poisson-exp", "negative-binomial"} or a negative binomial
        Poisson with rate f^2 or e^f, or counts of mean e^f that vary more: by e^f + dispersion e^2f. The
        dispersion is learned by evidence with the kernel, from 1/2 or that of the object given.
    kernel : Kernel, optional
        Any of ``tilted.kernels``, or one of scikit-learn's: where the search starts, or what is kept. By
        default a squared exponential with the variance of the roots of the counts, or of their logarithms for
        e^f (at least 1/4), and a lengthscale from the spread of the inputs.
    ard, optimise, n_restarts, cv, priors, max_time : see `GPClassifier`
    power, penalty, search, options, random_state : see `GPClassifier`
    correction : see `GPClassifier`
    mean : float or "constant", optional
        Prior mean of f; by default the root, or logarithm, of the mean count (half a count added to the sum),
        from where "constant" learns it as in `GPClassifier`. At 0 the signs of f are alike under
        "poisson-square", and nothing is learnt but its scale: a search of the evidence is refused, all else
        warns.

    Attributes
    ----------
    kernel_ : Kernel
    likelihood_ : Likelihood
        With the dispersion found.
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
    >>> from tilted.estimators import GPPoissonRegressor
    >>> X = np.linspace(0, 5, 20)[:, None]
    >>> y = np.floor(5 * (1 + np.sin(X[:, 0])))
    >>> model = GPPoissonRegressor().fit(X, y)
    >>> bool(model.predict([[1.5]]) > 3 * model.predict([[4.5]]))
    True
    """

    cv: int = 3
    penalty: float = 0.1
    correction: str | None = None
    options: Options | None = None
    likelihood: Likelihood | str = "poisson-square"

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the latent function.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
            Counts >= 0, for "poisson-square" at most 100,000. Others than whole numbers are taken with one
            warning (`RealCounts`).
        sample_weight : array-like [N], optional
            Powers of the rows' likelihood factors: a whole one is as good as that many rows, 0 as none.

        Returns
        -------
        self
            A ConvergenceWarning says where the search or its sites did not converge.

        Raises
        ------
        ValueError
            For negative, missing or infinite values, shapes that do not match, unknown settings, and a
            search of the evidence at mean 0.
        ArithmeticError
            If there is no proper posterior at the start; with a learned mean, also if the sites do not
            converge there.
        """
        inputs, targets = self._begin(X, y, y_numeric=True)
        inputs, targets, weights = self._merged(*weighed(inputs, targets, sample_weight))
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, tuple(COUNTS))
        likelihood: Any = COUNTS[self.likelihood] if isinstance(self.likelihood, str) else self.likelihood
        if not isinstance(likelihood, PoissonSquare | Counts):
            raise ValueError(f"likelihood must be one of counts, got {likelihood!r}")
        counts, square = likelihood.domain(targets), isinstance(likelihood, PoissonSquare)
        inverse = np.sqrt if square else np.log
        number = len(counts) if weights is None else np.sum(weights)
        level = float(inverse((np.sum(counts if weights is None else weights * counts) + 0.5) / number))
        settings = dense.DenseSettings.of(
            self, level, likelihood=likelihood, learn_likelihood=True, weights=weights
        )
        if np.any(counts != np.floor(counts)):
            warnings.warn(REAL_COUNTS, UserWarning, stacklevel=2)
        if square and settings.mean == 0 and settings.optimise in dense.EVIDENCES:
            raise ValueError(EVEN)
        if square and settings.mean == 0:
            warnings.warn(BOTH_SIGNS, UserWarning, stacklevel=2)
        variance = start_variance(settings.likelihood, counts, level, weights)
        kernel = start_kernel(self.kernel, inputs, self.ard, variance, weights)
        rng = generator(self.random_state)
        model = dense.fit_dense(inputs, counts, kernel, settings, rng, stratified=False)
        if settings.learn_mean and not np.any(counts):
            warnings.warn(NO_COUNTS, UserWarning, stacklevel=2)
            model = replace(model, status=noted(model.status, NO_COUNTS))
        self.likelihood_ = model.likelihood
        self._keep([model], ["the fit"], inputs)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@parameters
class SparseGPRegressor(RegressorMixin, PseudoInputs):
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
    optimise, n_restarts, priors, max_time, power, jitter, search, random_state : see `SparseGPClassifier`

    Attributes
    ----------
    kernel_ : Kernel
    noise_ : float
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
            A ConvergenceWarning says where the search did not converge; ``status_`` has the rest. Constant
            targets warn: nothing is searched.

        Raises
        ------
        ValueError
            For missing or infinite values, shapes that do not match, and unknown settings.
        ArithmeticError
            If the first evaluation fails: Kuu is singular (allow jitter).
        """
        inputs, targets = self._begin(X, y, y_numeric=True)
        inputs, reals, weights = self._merged(*weighed(inputs, targets.astype(float), sample_weight))
        settings = sparse.SparseSettings.of(self, averages.mean(reals, weights), weights=weights)
        require_moderate("y", reals)
        variance = averages.variance(reals, weights)
        spread = variance if np.ptp(reals) > 0 and variance > SCALES[0] else 1.0
        aimless = np.ptp(reals) == 0 and settings.optimise is not None
        kernel = start_kernel(self.kernel, inputs, self.ard, spread, weights)
        noise = collapsed.NOISE * spread if self.noise is None else self.noise
        finite("noise", noise)
        rng = generator(self.random_state)
        seen = self._how.some(len(inputs), rng) if self._batched else np.arange(len(inputs))
        Z = self._start(inputs[seen], rng)
        if aimless:
            warnings.warn(CONSTANT, UserWarning, stacklevel=2)
            settings = replace(settings, optimise=None)
        some = settings.of_rows(seen)
        model = collapsed.fit_collapsed(inputs[seen], reals[seen], kernel, Z, noise, some, rng)
        if aimless:
            model = replace(model, status=noted(model.status, CONSTANT))
        self.noise_ = model.state.noise
        batched = self._in_batches(inputs, reals, model, seen, settings) if self._batched else None
        self._keep([batched or model], ["the fit"], inputs)
        return self

    @available_if(in_batches)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the first rows as `fit` does, and add later ones by the kernel and pseudo-points found.

        There is no evidence then.

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
        require_moderate("y", targets)
        return self._add(inputs, [targets.astype(float)], weights, ["the fit"])

    @of_one_fit
    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Expected targets, and the standard deviations of new ones, noise included.

        Parameters
        ----------
        X : array-like [N*, D]
        return_std : bool

        Returns
        -------
        mean : array [N*]
        std : array [N*]
            If ``return_std``; `predict_latent` has those without noise.

        Raises
        ------
        ValueError
            For bad inputs.
        ArithmeticError
            If a variance is lost to rounding.
        NotFittedError
        """
        if not return_std:
            return cast(np.ndarray, self.predict_latent(X))
        ((mean, variance),) = self._moments(X)
        return mean, np.sqrt(variance + self.noise_)

    @of_one_fit
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws [N*, n_samples] of new targets at ``X`` [N*, D], noise included; as that of `GPRegressor`."""
        rng = generator(random_state)
        return GaussianNoise(self.noise_).draw(self.sample_latent(X, n_samples, rng), rng)
