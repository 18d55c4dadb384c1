"""Gaussian-process regressors of counts, dense and with pseudo-points."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from tilted.estimators import dense
from tilted.estimators.base import DenseEstimator, parameters
from tilted.estimators.models import choice
from tilted.estimators.regressors import Regressor, SparseRegressor, Start
from tilted.inference.options import Options
from tilted.learning.mean import EVEN
from tilted.learning.starts import start_variance
from tilted.likelihoods.exponential_link import Counts, NegativeBinomial, PoissonRates
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.real_counts import RealCounts

if TYPE_CHECKING:
    from tilted.estimators.models import LatentModel, Settings
    from tilted.likelihoods.contract import Likelihood

REAL_COUNTS = (
    "y has values that are no whole numbers: the likelihood continues the factorial by the Gamma function, "
    "and the evidence is not that of a distribution"
)
BOTH_SIGNS = "at mean=0 f and -f have the same likelihood: nothing is learnt but the scale of f"


COUNTS = {
    "poisson-square": RealCounts(),
    "poisson-exp": PoissonRates(),
    "negative-binomial": NegativeBinomial(0.5),
}
NO_DISPERSION = (
    "every count is 0, the likelier the larger the dispersion: that stays where a search would start"
)
NO_COUNTS = "every count is 0: the evidence is highest at rate 0, where the learned mean goes (give one)"


@parameters
class CountRegressor(Regressor):
    """A regression of counts."""

    correction: str | None = None
    options: Options | None = None
    likelihood: Likelihood | str = "poisson-square"

    def _start_values(self, targets: np.ndarray, weights: np.ndarray | None) -> Start:
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, tuple(COUNTS))
        likelihood: Any = COUNTS[self.likelihood] if isinstance(self.likelihood, str) else self.likelihood
        square = isinstance(likelihood, PoissonSquare)
        if not (square or isinstance(likelihood, Counts)):
            raise ValueError(
                f"likelihood must be one of counts, a name or an object such as NegativeBinomial(0.5), "
                f"got {likelihood!r}"
            )
        counts = self._checked(likelihood, targets)
        inverse = np.sqrt if square else np.log
        number = len(counts) if weights is None else np.sum(weights)
        total = np.sum(counts if weights is None else weights * counts)
        level = float(inverse((total + 0.5 * min(1.0, number)) / number))
        variance = start_variance(likelihood, counts, level, weights)
        return Start(counts, likelihood, level, variance, learn_likelihood=bool(np.any(counts)))

    def _resolved(self, settings: Settings, start: Start) -> Settings:
        """Return the settings; ValueError for a search where f and -f have the same likelihood."""
        if isinstance(start.likelihood, PoissonSquare) and settings.mean == 0:
            if settings.optimise in dense.EVIDENCES:
                raise ValueError(EVEN)
            warnings.warn(BOTH_SIGNS, UserWarning, stacklevel=3)
        return settings

    def _notes(self, model: LatentModel, start: Start, settings: Settings) -> tuple[list[str], list[str]]:
        dispersed = isinstance(start.likelihood, NegativeBinomial) and settings.optimise in dense.EVIDENCES
        notes = [NO_COUNTS] * settings.learn_mean + [NO_DISPERSION] * dispersed
        return ([] if start.learn_likelihood else notes), []

    @staticmethod
    def _checked(likelihood: Any, targets: ArrayLike) -> np.ndarray:
        """Counts [N] as floats, with a warning of those that are no whole numbers."""
        counts = likelihood.domain(targets)
        if np.any(counts != np.floor(counts)):
            warnings.warn(REAL_COUNTS, UserWarning, stacklevel=4)
        return counts

    _scored_targets = _checked

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@parameters
class GPPoissonRegressor(CountRegressor, DenseEstimator):
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


@parameters
class SparseGPPoissonRegressor(SparseRegressor, CountRegressor):
    """Regression of counts through M pseudo-points [Bui et al. 2017], as many as there may be; O(N M^2).

    Parameters
    ----------
    inference : {"power-ep", "ep", "vb"}
        Power EP of the given ``power``, of power 1, or its limit 0. With an exponential link "vb" takes about
        a tenth of the time; it predicts as well with few columns, slightly worse with eight.
    likelihood, kernel, mean : see `GPPoissonRegressor`
        The dispersion of a negative binomial is learned with the kernel, in batches from those rows.
    ard, n_pseudo, pseudo_inputs, move_pseudo_inputs, batch_size, n_jobs, verbose : see `SparseGPClassifier`
    approximation, neighbours : see `SparseGPClassifier`
    optimise, n_restarts, priors, max_time, power, jitter : see `SparseGPClassifier`
    correction, search, options, random_state : see `SparseGPClassifier`

    Attributes
    ----------
    kernel_, likelihood_, mean_, log_evidence_, status_, theta_ : see `GPPoissonRegressor`
    n_features_in_, feature_names_in_ : see `GPPoissonRegressor`
    pseudo_inputs_ : array [M, D]
    models_ : list of one
        What predicts: ``models_[0].fitted`` is a ``sparse_search.Fitted``.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.estimators import SparseGPPoissonRegressor
    >>> X = np.linspace(0, 5, 40)[:, None]
    >>> y = np.floor(5 * (1 + np.sin(X[:, 0])))
    >>> model = SparseGPPoissonRegressor(n_pseudo=8).fit(X, y)
    >>> bool(model.predict([[1.5]]) > 3 * model.predict([[4.5]]))
    True
    """

    move_pseudo_inputs: bool = False
