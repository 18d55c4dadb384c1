"""What the estimators have in common: data as scikit-learn checks them, seeds, warnings, latent predictions.

An estimator keeps one fitted model for each latent function in ``models_``; several mean one-vs-rest.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data


def generator(random_state) -> np.random.Generator:
    """A generator of its own from a seed, a Generator, a RandomState (which is advanced), or None.

    Nothing here reads the global state: None asks the operating system.
    """
    if hasattr(random_state, "randint"):
        random_state = int(random_state.randint(2**31 - 1))
    return np.random.default_rng(random_state)


def warn_unless_converged(status, what: str) -> None:
    """ConvergenceWarning with the status' message unless it says converged."""
    if not status.converged:
        warnings.warn(f"{what}: {status.message}", ConvergenceWarning, stacklevel=4)


class LatentFunctions:
    """Methods of the latent functions; mixed into every estimator, which sets ``models_`` in ``fit``."""

    def _inputs(self, X) -> np.ndarray:
        """``X`` [N*, D] as fitted on: ValueError for missing values, names and numbers of features."""
        check_is_fitted(self, "models_")
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _moments(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of the only latent function."""
        X = self._inputs(X)
        return self.models_[0].moments(X)

    def _keep(self, models: list, names: list[str]) -> None:
        """Fitted attributes of the models; a list where there are several, and warnings."""
        single = len(models) == 1
        self.models_ = models
        self.kernel_ = models[0].kernel if single else [model.kernel for model in models]
        self.status_ = models[0].status if single else [model.status for model in models]
        self.theta_ = models[0].theta if single else np.concatenate([model.theta for model in models])
        evidences = [model.log_evidence for model in models]
        self.log_evidence_ = None if None in evidences else float(np.mean(evidences))
        for model, name in zip(models, names, strict=True):
            warn_unless_converged(model.status, name)

    def predict_latent(self, X, return_std: bool = False, return_cov: bool = False):
        """Posterior of the latent function f, without noise.

        Parameters
        ----------
        X : array-like [N*, D]
        return_std, return_cov : bool
            Also return standard deviations, or covariances; not both.

        Returns
        -------
        mean : array [N*], or [N*, C] for C > 2 classes
        std : array [N*], or [N*, C]
            If ``return_std``.
        cov : array [N*, N*], or [N*, N*, C]
            If ``return_cov``; not chunked.

        Raises
        ------
        ValueError
            For bad inputs, or both flags.
        ArithmeticError
            If a variance is lost to rounding.
        NotFittedError
        """
        X = self._inputs(X)
        if return_std and return_cov:
            raise ValueError("return_std and return_cov exclude each other")
        moments = [model.covariance(X) if return_cov else model.moments(X) for model in self.models_]
        means, second = (np.stack(values, axis=-1) for values in zip(*moments, strict=True))
        if len(self.models_) == 1:
            means, second = means[..., 0], second[..., 0]
        if return_cov:
            return means, second
        return (means, np.sqrt(second)) if return_std else means

    def log_marginal_likelihood(self, theta=None, eval_gradient: bool = False):
        """Log evidence of the training data at given hyperparameters.

        Parameters
        ----------
        theta : array-like [P], optional
            Logarithms of the kernel's parameters: variance, lengthscale(s), and for ``SparseGPRegressor`` the
            noise variance; the fitted ones (``theta_``) by default. For C > 2 classes [C P], class after
            class, or [P] for all of them alike. Pseudo-inputs stay as fitted.
        eval_gradient : bool
            Also return the gradient in ``theta``, which must then be given.

        Returns
        -------
        value : float
            In nats. For C > 2 classes the mean over the one-vs-rest problems.
        gradient : array like ``theta``
            If ``eval_gradient``. Right where the sites converged; a ConvergenceWarning says where not.

        Raises
        ------
        ValueError
            For relaxed EP, which has no evidence; a ``theta`` of another size; a gradient without one.
        ArithmeticError
            If there is no proper posterior at ``theta``.
        NotFittedError
        """
        check_is_fitted(self, "models_")
        models = self.models_
        if theta is None and self.log_evidence_ is not None:
            if eval_gradient:
                raise ValueError("a gradient is evaluated at a theta that is given, such as theta_")
            return self.log_evidence_
        theta = self.theta_ if theta is None else np.asarray(theta, dtype=float)
        sizes = [len(model.theta) for model in models]
        shared = theta.shape == (sizes[0],)
        if not shared and theta.shape != (sum(sizes),):
            raise ValueError(f"theta must have {sizes[0]} or {sum(sizes)} entries, got shape {theta.shape}")
        parts = [theta] * len(models) if shared else np.split(theta, np.cumsum(sizes)[:-1])
        found = [model.evidence(part, eval_gradient) for model, part in zip(models, parts, strict=True)]
        for _, _, status in found:
            warn_unless_converged(status, "log_marginal_likelihood")
        value = float(np.mean([evidence for evidence, _, _ in found]))
        if not eval_gradient:
            return value
        slopes = [slope / len(models) for _, slope, _ in found]
        return value, np.sum(slopes, axis=0) if shared else np.concatenate(slopes)
