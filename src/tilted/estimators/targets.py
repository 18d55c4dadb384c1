"""What regressions share: predictions of new targets from the moments of the latent function."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tilted.estimators.base import LatentFunctions, Seed, generator, of_one_fit, parameters
from tilted.estimators.given import require_flag
from tilted.estimators.rows import Scored
from tilted.learning.starts import require_moderate
from tilted.likelihoods.contract import has_additive_noise

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tilted.estimators import dense, sparse
    from tilted.likelihoods.contract import Likelihood

CONSTANT = "targets are constant: kernel and noise stay where a search would start"
LEVEL = "targets lie {:.0e} of their spreads from 0, where their digits end: subtract a level from them"
WILD = (
    "{} of {} targets are over a hundred times as far from the median as is usual among them: if these are "
    "wild values, they may rule the fit (GPRegressor takes likelihood='student-t')"
)
FAR, FAR_FROM_ZERO = 100.0, 1e6  # median distances from the median; spreads from 0
MOST = 2.0**53  # where whole numbers end among floats
ABSURD = (
    "expected counts or their standard deviations are beyond {:.0e} in {} of {} rows: the data say so little "
    "of f there (its standard deviation is up to {:.3g}) that its tail rules them (predict_latent has f)"
)


def wild(y: np.ndarray) -> list[str]:
    """A note where at most a hundredth of the targets ``y`` [N], or one, are `FAR` from the median of all.

    In units of the median distance of those that are not at it.
    """
    away = np.abs(y - np.median(y))
    far = int(np.sum(away > FAR * np.median(away[away > 0]))) if np.any(away) else 0
    return [WILD.format(far, len(y))] if 0 < far <= max(1, len(y) // 100) else []


@parameters
class Targets(Scored, RegressorMixin, LatentFunctions):
    """A regression: one latent function, and the likelihood of its targets."""

    @property
    def likelihood_(self) -> Likelihood:
        """With the parameters found: noise, scale, dispersion."""
        check_is_fitted(self, "models_")
        return self.models_[0].likelihood

    @property
    def _one(self) -> dense.DenseModel | sparse.SparseModel:
        """The model, of an estimator with a correction."""
        return cast("dense.DenseModel | sparse.SparseModel", self.models_[0])

    @staticmethod
    def _checked(likelihood: Likelihood, targets: np.ndarray) -> np.ndarray:
        """Targets [N] as floats; ValueError for those outside the domain of the likelihood, and too large."""
        require_moderate("y", targets)
        return likelihood.domain(targets)

    @staticmethod
    def _given(likelihood: Likelihood, targets: ArrayLike) -> np.ndarray:
        """Targets [N] to be judged, as floats; ValueError for those outside the domain of the likelihood."""
        return likelihood.domain(targets)

    @of_one_fit
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
            found = self._one.corrected(self._inputs(X))
            v, (mean, variance) = found.variance, found.target_moments()
        else:
            ((m, v),) = self._moments(X)
            mean, variance = likelihood.target_moments(m, v)
        wild = ~(np.maximum(mean, np.sqrt(variance) if return_std else 0.0) <= MOST)
        if np.any(wild) and not has_additive_noise(likelihood):
            spread = float(np.sqrt(np.max(v[wild])))
            note = ABSURD.format(MOST, np.count_nonzero(wild), len(wild), spread)
            warnings.warn(note, UserWarning, stacklevel=3)
        return (mean, np.sqrt(variance)) if return_std else mean

    @of_one_fit
    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws [N*, n_samples] of new targets at ``X`` [N*, D], noise included, of one function a column.

        Those of f are `sample_latent`'s, which has the errors too. Counts whose rate overflows, as where f is
        710 and the link exponential, are refused (ValueError).
        """
        rng = generator(random_state)
        return cast(Any, self.likelihood_).draw(self.sample_latent(X, n_samples, rng), rng)

    @of_one_fit
    def log_predictive(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Log densities, or probabilities of counts, [N*] of ``y`` [N*], f integrated out.

        Raises
        ------
        ValueError
            For bad inputs.
        """
        inputs = self._inputs(X)
        targets = self._given(self.likelihood_, y)
        if len(targets) != len(inputs):
            raise ValueError(f"X has {len(inputs)} rows but y has {len(targets)} values")
        if self._corrected:
            return self._one.log_predictive(inputs, [targets])[0]
        ((m, v),) = self._moments(X)
        return self.likelihood_.log_predictive(targets, m, v)
