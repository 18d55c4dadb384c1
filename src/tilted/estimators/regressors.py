"""Regression of real targets through pseudo-points, in closed form."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from tilted.estimators import collapsed, sparse
from tilted.estimators.base import generator, parameters
from tilted.estimators.models import finite
from tilted.estimators.pseudo import SparseTargets
from tilted.estimators.rows import weighed
from tilted.estimators.targets import CONSTANT, wild
from tilted.learning import averages
from tilted.learning.starts import SCALES, SMALLEST, noted, require_moderate, start_kernel


@parameters
class SparseGPRegressor(SparseTargets):
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
        require_moderate("y", reals, SMALLEST)
        variance = averages.variance(reals, weights)
        spread = variance if np.ptp(reals) > 0 and variance > SCALES[0] else 1.0
        aimless = np.ptp(reals) == 0 and settings.optimise is not None
        kernel = start_kernel(self.kernel, inputs, self.ard, spread, weights, varied=False)
        noise = collapsed.NOISE * spread if self.noise is None else self.noise
        finite("noise", noise)
        rng = generator(self.random_state)
        seen, Z = self._start(inputs, rng)
        if aimless:
            warnings.warn(CONSTANT, UserWarning, stacklevel=2)
            settings = replace(settings, optimise=None)
        some = settings.of_rows(seen)
        model = collapsed.fit_collapsed(inputs[seen], reals[seen], kernel, Z, noise, some, rng)
        notes = wild(reals)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=2)
        model = replace(model, status=noted(model.status, *notes, *([CONSTANT] if aimless else [])))
        whole = self._of_all(inputs, reals, model, seen, settings)
        self._keep([whole], ["the fit"], inputs, noise_=model.state.noise)
        return self
