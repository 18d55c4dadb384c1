"""What dense regressions share: predictions of new targets from the moments of the latent function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.base import RegressorMixin

from tilted.estimators import dense
from tilted.estimators.base import LatentFunctions, of_one_fit, parameters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@parameters
class DenseTargets(RegressorMixin, LatentFunctions):
    """A regression with one latent function and the likelihood ``likelihood_`` of its targets."""

    @of_one_fit
    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Expected targets under the posterior of f, and standard deviations of new ones, noise included.

        Of counts: E[f^2] or E[e^f], and the root of mean + Var[f^2], or of mean + Var[e^f] + dispersion
        E[e^2f].

        Parameters
        ----------
        X : array-like [N*, D]
        return_std : bool

        Returns
        -------
        mean : array [N*]
        std : array [N*]
            If ``return_std``; `predict_latent` has those of f.

        Raises
        ------
        ValueError
            For bad inputs.
        ArithmeticError
            If a variance is lost to rounding.
        NotFittedError
        """
        ((m, v),) = self._moments(X)
        mean, variance = cast(Any, self).likelihood_.target_moments(m, v)
        return (mean, np.sqrt(variance)) if return_std else mean

    @of_one_fit
    def log_predictive(self, X: ArrayLike, y: ArrayLike) -> np.ndarray:
        """Log densities, or probabilities of counts, [N*] of ``y`` [N*], f integrated out.

        Raises
        ------
        ValueError
            For bad inputs.
        """
        X, model = self._inputs(X), cast(dense.DenseModel, self.models_[0])
        return model.fit.log_predictive(X, y, model.correction)
