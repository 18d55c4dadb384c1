"""Gaussian-process classifiers: dense, and with pseudo-points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from tilted import likelihoods
from tilted.estimators import dense, sparse
from tilted.estimators.base import LatentFunctions, PseudoInputs, generator, of_one_fit, parameters
from tilted.estimators.models import Model, choice
from tilted.estimators.rows import unless_alike, weighed
from tilted.inference.options import Options
from tilted.learning.starts import start_kernel

if TYPE_CHECKING:
    from tilted.inference.rule import Projector
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

LIKELIHOODS = ("probit", "logit", "noisy-step")
NO_LABEL = np.zeros(1)  # what likelihoods of counts and reals accept


@parameters
class Classifier(ClassifierMixin, LatentFunctions):
    """Fitting and predicting classes from models of labels -1 and +1, which a classifier knows how to fit."""

    likelihood: Likelihood | str = "probit"
    mean: float | str = 0.0
    options: Options | None = None
    class_weight: dict[Any, float] | str | None = None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit one latent function, or for C > 2 classes one a class against the rest.

        Parameters
        ----------
        X : array-like [N, D]
        y : array-like [N]
            Labels of any kind, of at least two classes.
        sample_weight : array-like [N], optional
            Powers of the rows' likelihood factors: a whole one is as good as that many rows, 0 as none.

        Returns
        -------
        self
            A ConvergenceWarning says where a search or its sites did not converge; ``status_`` has the rest.

        Raises
        ------
        ValueError
            For missing or infinite values, one class only, shapes that do not match, and unknown settings.
        ArithmeticError
            If there is no proper posterior at the start; with a learned mean or pseudo-points, also if the
            sites do not converge there.
        """
        if isinstance(y, list | tuple | np.ndarray) and len({isinstance(label, str) for label in y}) == 2:
            raise ValueError("labels mix strings and other kinds: give labels of one kind")
        inputs, targets = self._begin(X, y)
        check_classification_targets(targets)
        inputs, targets, weights = weighed(inputs, targets, sample_weight)
        classes, labels = np.unique(targets, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, got only one class, {classes[0]!s}")
        inputs, labels, weights = self._merged(inputs, labels, weights)
        weights = self._with_class_weights(classes, labels, weights)
        kernel = start_kernel(self.kernel, inputs, self.ard, weights=weights)
        positive = [1] if len(classes) == 2 else list(range(len(classes)))
        fit_one = self._fitter(inputs, kernel, self._likelihood(), generator(self.random_state), weights)
        models = [fit_one(np.where(labels == c, 1.0, -1.0)) for c in positive]
        self.classes_ = classes
        self._keep(models, [f"class {classes[c]!s} against the rest" for c in positive], inputs)
        return self

    @of_one_fit
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms [N*, C] of the probabilities of ``classes_``; see `predict_proba`."""
        if getattr(self, "correction", None) is not None:
            return self._corrected_log_proba(self._inputs(X))
        parts = self._moments(X)
        likelihood, one = self.models_[0].likelihood, np.ones(len(parts[0][0]))
        if len(parts) == 1:
            return np.stack(
                [likelihood.log_predictive(sign * one, *parts[0]) for sign in (-1.0, 1.0)], axis=1
            )
        each = np.stack([likelihood.log_predictive(one, *part) for part in parts], axis=1)
        return each - logsumexp(each, axis=1, keepdims=True)

    def _corrected_log_proba(self, X: np.ndarray) -> np.ndarray:
        """The same [N*, C] from the corrected densities, whose quadrature leaves sums of 1 to normalise."""
        signs, one = ((-1.0, 1.0) if len(self.models_) == 1 else (1.0,)), np.ones(len(X))
        models = cast("list[dense.DenseModel | sparse.SparseModel]", self.models_)
        found = [model.log_predictive(X, [sign * one for sign in signs]) for model in models]
        each = np.stack([log_p for of_model in found for log_p in of_model], axis=1)
        return each - logsumexp(each, axis=1, keepdims=True)

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities [N*, C] of ``classes_``, latent functions integrated out.

        For C > 2 classes the one-vs-rest probabilities divided by their sum.

        Raises
        ------
        ValueError
            For bad inputs.
        ArithmeticError
            If a variance is lost to rounding.
        NotFittedError
        """
        return np.exp(self.predict_log_proba(X))

    @of_one_fit
    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable of ``classes_`` [N*]; errors as `predict_proba`."""
        best = np.argmax(self.predict_log_proba(X), axis=1)
        return self.classes_[best]

    def _with_class_weights(
        self, classes: np.ndarray, labels: np.ndarray, weights: np.ndarray | None
    ) -> np.ndarray | None:
        """Weights [N] of rows times those of their classes, ``classes[labels]``.

        "balanced" gives every class the same weight in all, and the rows 1 in the mean.
        """
        if self.class_weight is None:
            return weights
        rows = np.ones(len(labels)) if weights is None else weights
        if self.class_weight == "balanced":
            each = np.sum(rows) / (len(classes) * np.bincount(labels, rows))
        else:
            each = compute_class_weight(self.class_weight, classes=classes, y=classes[labels])
        return unless_alike(rows * each[labels])

    def _likelihood(self) -> Likelihood:
        """The likelihood; ValueError unless it is one of labels."""
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, LIKELIHOODS)
        likelihood = likelihoods.get(self.likelihood)
        if isinstance(likelihood, type) or not hasattr(likelihood, "tilted") or _takes(likelihood, NO_LABEL):
            raise ValueError(f"the likelihood of a classifier is one of labels -1 and +1, got {likelihood!r}")
        return likelihood


def _takes(likelihood: Likelihood, y: np.ndarray) -> bool:
    """Whether targets are in the domain of a likelihood."""
    try:
        likelihood.domain(y)
    except ValueError:
        return False
    return True


@parameters
class GPClassifier(Classifier):
    """Gaussian-process classification by EP, QP, VB, Power EP or relaxed EP; O(N^3) a class.

    Two classes have one latent function. C > 2 have C, each fitted by itself to its class against the rest.

    Parameters
    ----------
    inference : {"ep", "qp", "vb", "power-ep", "rep"}
        Expectation propagation [Rasmussen & Williams 2006, section 3.6], quantile propagation [Zhang 2020],
        variational Bayes [Opper & Archambeau 2009], Power EP [Bui et al. 2017], relaxed EP [Qi & Guo 2012].
    likelihood : {"probit", "logit", "noisy-step"} or Likelihood
        The noisy step takes labels to be flipped with probability 0.1.
    kernel : Kernel, optional
        Any of ``tilted.kernels``: where the search starts, or what is kept. By default a squared exponential
        with variance 1 and a lengthscale from the median distance between inputs; the search then starts at
        the most promising places of a coarse grid about it.
    ard : bool
        One lengthscale a dimension.
    optimise : {"evidence", "ep-evidence", "corrected-evidence", "cv", None}
        How the kernel is chosen: by the log evidence, by cross-validation over ten kernels (1 and 10 times
        the variance with 1/4, 1/2, 1, 2 and 4 times the lengthscales), not at all (False likewise). Relaxed
        EP has no evidence. "ep-evidence" is EP's whatever the inference, with "vb" the hybrid of [Li, John &
        Solin 2023]; "corrected-evidence" climbs EP's to second order from there
        (``tilted.corrections.learning``), where that is to be trusted; else a CorrectionWarning says that
        EP's kernel was kept.
    n_restarts : int
        Further searches of the evidence, from up to ten times smaller or larger parameters.
    priors : {None, "weak"} or tilted.learning.priors.LogNormal
        On the kernel's parameters, maximised with the evidence. The weak ones are log-normal about the guess
        from the data, and act where there is no ``kernel``.
    max_time : float
        Seconds after which the fit of a latent function ends, not converged, with the best it has.
    cv : int
        Folds of the cross-validation.
    mean : float or "constant"
        Prior mean of the latent functions. "constant": each learns its own by the log evidence, from 0, with
        the kernel where that is learned so, else alone.
    power : float in [1e-6, 1]
        Of Power EP; 1 is EP. Other inferences check it and warn that it has no effect, like the next.
    penalty : float >= 0
        Of relaxed EP's relaxations; 0.03 to 0.3 matter at a kernel variance of 1, large ones are EP.
    projection : object, optional
        How QP projects; ``tilted.projections.table.build()`` is much faster than quadrature (probit only).
    correction : {None, "cheap", "nearly-exact"}
        Corrects predictions, latents and `log_marginal_likelihood` towards the exact posterior at the kernel
        found, from EP's fixed point there whatever the inference (``tilted.corrections``). The search has its
        own word for it (``optimise``). A CorrectionWarning says where EP's answer stands because a correction
        is not to be trusted.
    class_weight : {None, "balanced"} or dict
        Weights by class, times the sample weights of `fit`; "balanced" makes all classes weigh the same.
    search : tilted.learning.search.Search, optional
        By default over logarithms of the parameters.
    options : inference.options.Options, optional
    random_state : int, Generator, RandomState or None
        For restarts and folds; the default repeats itself.

    Attributes
    ----------
    classes_ : array [C]
    kernel_ : Kernel, or a list of C for C > 2
    mean_ : float, or array [C]
        Prior mean.
    log_evidence_ : float or None
        In nats; for C > 2 the mean over classes; None for relaxed EP.
    status_ : Status, or a list of C
    theta_ : array [P] or [C P]
        Logarithms of the kernels' parameters.
    models_ : list
        What predicts: ``models_[0].fit`` is a ``tilted.Fit``.
    n_features_in_ : int
    feature_names_in_ : array [D]
        Of a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.estimators import GPClassifier
    >>> X = np.linspace(-2, 2, 8)[:, None]
    >>> y = ["no", "no", "no", "yes", "no", "yes", "yes", "yes"]
    >>> model = GPClassifier(inference="ep").fit(X, y)
    >>> model.predict([[-1.8], [1.8]]).tolist()
    ['no', 'yes']
    >>> model.status_.converged
    True
    """

    cv: int = 3
    penalty: float = 0.1
    projection: Projector | None = None
    correction: str | None = None

    def _fitter(
        self,
        X: np.ndarray,
        kernel: Kernel,
        likelihood: Likelihood,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> Callable[[np.ndarray], Model]:
        settings = dense.DenseSettings.of(self, 0.0, likelihood=likelihood, weights=weights)
        return lambda y: dense.fit_dense(X, y, kernel, settings, rng, stratified=True)


@parameters
class SparseGPClassifier(Classifier, PseudoInputs):
    """Gaussian-process classification through M pseudo-points [Bui et al. 2017]; O(N M^2) a class.

    Two classes have one latent function. C > 2 have C, each fitted by itself to its class against the rest,
    from the same pseudo-inputs.

    Parameters
    ----------
    inference : {"power-ep", "ep", "vb"}
        Power EP of the given ``power``, of power 1, or its limit 0.
    likelihood : {"probit", "logit", "noisy-step"} or Likelihood
    kernel, ard : see `GPClassifier`
    n_pseudo : int
        M; fewer where there are fewer distinct inputs. They start at a random part of the inputs.
    pseudo_inputs : array-like [M, D], optional
        To start from instead.
    move_pseudo_inputs : bool
        Whether the search moves them. Not by default: every move iterates the sites again, and with fifty
        among 2000 points that took 15 to 25 times as long, for log losses the same or a tenth lower.
    optimise : {"evidence", None}
        Maximise Power EP's energy, or keep kernel and pseudo-inputs.
    n_restarts : int
        Further searches from up to ten times smaller or larger kernel parameters.
    mean : float or "constant"
        Prior mean of the latent functions. "constant": each learns its own with the kernel.
    class_weight, priors, max_time : see `GPClassifier`
    power : float in [1e-6, 1]
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    correction : {None, "cheap", "nearly-exact"}
        As of `GPClassifier`, towards the exact posterior of the model with these pseudo-points (whose power
        is 1 then, whatever the fit's); what the pseudo-points themselves leave out stays out. "nearly-exact"
        for at most 1000 rows.
    search : tilted.learning.search.Search, optional
        By default at most 500 evaluations, to a relative tolerance of 1e-7.
    options : inference.options.Options, optional
    random_state : int, Generator, RandomState or None
        For pseudo-inputs and restarts; the default repeats itself.

    Attributes
    ----------
    classes_, kernel_, mean_, log_evidence_, status_, theta_ : see `GPClassifier`
    n_features_in_, feature_names_in_ : see `GPClassifier`
    pseudo_inputs_ : array [M, D], or a list of C for C > 2
    models_ : list
        What predicts: ``models_[0].fitted`` is a ``sparse_search.Fitted``.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.estimators import SparseGPClassifier
    >>> X = np.linspace(-2, 2, 40)[:, None]
    >>> y = np.sign(np.sin(3 * X[:, 0]))
    >>> model = SparseGPClassifier(n_pseudo=6).fit(X, y)
    >>> model.predict([[-0.5], [0.5]]).tolist()
    [-1.0, 1.0]
    """

    inference: str = field(default="power-ep", kw_only=False)
    move_pseudo_inputs: bool = False
    correction: str | None = None

    def _fitter(
        self,
        X: np.ndarray,
        kernel: Kernel,
        likelihood: Likelihood,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> Callable[[np.ndarray], Model]:
        settings = sparse.SparseSettings.of(self, 0.0, likelihood=likelihood, weights=weights)
        Z = self._start(X, rng)
        return lambda y: sparse.fit_sparse(X, y, kernel, Z, settings, rng)
