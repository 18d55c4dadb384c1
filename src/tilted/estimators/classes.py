"""What classifiers have in common: labels, weights of classes, probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from tilted import likelihoods
from tilted.estimators import dense, sparse
from tilted.estimators.base import LatentFunctions, generator, of_one_fit, parameters
from tilted.estimators.given import order_of, require_present
from tilted.estimators.models import Model, choice
from tilted.estimators.rows import Scored, parted, unless_alike, weighed
from tilted.inference.options import Options
from tilted.learning.dense import of_labels
from tilted.learning.starts import start_kernel

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

LIKELIHOODS = ("probit", "logit", "noisy-step")


@parameters
class Classifier(Scored, ClassifierMixin, LatentFunctions):
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
        require_present(y)
        listed: Any = (
            y if isinstance(y, list | tuple | np.ndarray) and getattr(y, "shape", None) != () else ()
        )
        if len({isinstance(label, str) for label in listed}) == 2:
            raise ValueError("labels mix strings and other kinds: give labels of one kind")
        inputs, targets = self._begin(X, y)
        if targets.dtype == object and not isinstance(targets[0], str):
            codes = "y.cat.codes (of no Series y.codes), in their order,"
            advice = "y.astype(int) or y.astype(str)" if order_of(y) is None else codes
            raise ValueError(f"Unknown label type: objects; {advice} tells labels apart")
        self._require_classes(targets)
        inputs, targets, weights = weighed(inputs, targets, sample_weight)
        classes, labels = self._encoded(targets, y)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, got only one class, {classes[0]!s}")
        inputs, labels, rows = self._merged(inputs, labels, weights)
        weights = self._with_class_weights(classes, labels, rows)
        if weights is not None:
            rows = np.ones(len(labels)) if rows is None else rows
            inputs, labels, weights = parted(inputs, labels, weights, np.maximum(rows, weights / rows))
        kernel = start_kernel(self.kernel, inputs, self.ard, weights=weights)
        rng = generator(self.random_state)
        models, names = self._models(inputs, classes, labels, kernel, rng, weights)
        self._keep(models, names, inputs, **self._named(classes))
        return self

    def _require_classes(self, targets: np.ndarray) -> None:
        """ValueError for targets that are no classes to scikit-learn."""
        check_classification_targets(targets)

    @staticmethod
    def _named(classes: np.ndarray) -> dict[str, np.ndarray]:
        """What a fit keeps of its classes [C], which come as `_encoded` has them: ``classes_`` are sorted."""
        return {"classes_": classes}

    def _encoded(self, targets: np.ndarray, given: object) -> tuple[np.ndarray, np.ndarray]:
        """Classes [C] in order, and where each of the targets [N] is among them; ``given``: as they came."""
        return np.unique(targets, return_inverse=True)

    def _models(
        self,
        X: np.ndarray,
        classes: np.ndarray,
        labels: np.ndarray,
        kernel: Kernel,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> tuple[list[Model], list[str]]:
        """The latent functions, of two classes one, and what a warning calls their fits."""
        positive = [1] if len(classes) == 2 else list(range(len(classes)))
        fit_one = self._fitter(X, kernel, self._likelihood(), rng, weights)
        models = [fit_one(np.where(labels == c, 1.0, -1.0)) for c in positive]
        return models, [f"class {classes[c]!s} against the rest" for c in positive]

    @of_one_fit
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms [N*, C] of the probabilities of ``classes_``; see `predict_proba`."""
        if self._corrected:
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
        if not isinstance(self.class_weight, dict):
            choice("class_weight", self.class_weight, ("balanced",))
        rows = np.ones(len(labels)) if weights is None else weights
        if self.class_weight == "balanced":
            each = np.sum(rows) / (len(classes) * np.bincount(labels, rows))
        else:
            each = compute_class_weight(self.class_weight, classes=classes, y=classes[labels])
            for kind, weight in zip(classes, each, strict=True):
                if not weight > 0:
                    raise ValueError(
                        f"class_weight must be positive, got {weight:g} of class {kind!s}: a class that is "
                        "not to count is left out by its rows, of X and y"
                    )
        return unless_alike(rows * each[labels])

    def _likelihood(self) -> Likelihood:
        """The likelihood; ValueError unless it is one of labels."""
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, LIKELIHOODS)
        likelihood = likelihoods.get(self.likelihood)
        if isinstance(likelihood, type) or not hasattr(likelihood, "tilted") or not of_labels(likelihood):
            raise ValueError(f"the likelihood of a classifier is one of labels -1 and +1, got {likelihood!r}")
        return likelihood
