"""Classification into ordered classes: one latent function, and thresholds between the classes."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tilted.estimators.base import DenseEstimator, parameters
from tilted.estimators.classifiers import Classifier
from tilted.estimators.validation import category_order
from tilted.likelihoods.ordinal import Ordinal

if TYPE_CHECKING:
    from tilted.estimators.models import LatentModel
    from tilted.kernels.contract import Kernel


NUMBERED = (
    " (if they were numbered before they came here, by the alphabet, as cross_val_predict and ensembles do: "
    "give numbers that have the order, and no categories)"
)


@parameters
class GPOrdinalClassifier(Classifier, DenseEstimator):
    """Classes in an order (grades, stages, ratings) by one latent function; O(N^3) whatever their number.

    A class is where f plus noise of variance 1 falls between two thresholds [Chu & Ghahramani 2005], which
    are learned by evidence with the kernel. Far from the data every class has its share.

    Parameters
    ----------
    inference : {"ep", "qp", "vb", "power-ep", "rep"}
        As `GPClassifier`; "qp" takes long, its thresholds cost two inferences each at every evaluation.
    categories : array-like [C], optional
        All classes from the lowest to the highest; those that do not occur are of no use to the fit and are
        left out. By default the order of an ordered categorical of pandas, of those that occur; or numbers in
        theirs, or texts in that of the alphabet, with a warning.
    kernel, ard, optimise, n_restarts, cv, priors, max_time, class_weight : see `GPClassifier`
        Without ``optimise="evidence"`` the thresholds stay where a search would start, at the shares.
    power, penalty, search, options, random_state : see `GPClassifier`

    Attributes
    ----------
    categories_ : array [C]
        From the lowest to the highest.
    classes_ : array [C]
        The same, sorted as scikit-learn's scores expect the columns of probabilities.
    thresholds_ : array [C - 1]
        Between them, in units of the noise of f.
    likelihood_ : Ordinal
    kernel_, log_evidence_, status_, theta_, models_ : see `GPClassifier`, of its two classes
    n_features_in_, feature_names_in_ : see `GPClassifier`

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.estimators import GPOrdinalClassifier
    >>> X = np.linspace(-2, 2, 12)[:, None]
    >>> y = ["low"] * 4 + ["middle"] * 4 + ["high"] * 4
    >>> model = GPOrdinalClassifier(categories=["low", "middle", "high"]).fit(X, y)
    >>> model.predict([[-1.8], [0.0], [1.8]]).tolist()
    ['low', 'middle', 'high']
    """

    categories: ArrayLike | None = None
    likelihood: Any = field(default=None, init=False)
    mean: Any = field(default=None, init=False)

    def _require_classes(self, targets: np.ndarray) -> None:
        try:
            super()._require_classes(targets)
        except ValueError as error:
            if targets.dtype.kind != "f":
                raise
            number = "grades between whole numbers have to be numbered, np.unique(y, return_inverse=True)[1]"
            raise ValueError(f"{error} Here {number}: scikit-learn's scores take no others.") from None

    def _encoded(self, targets: np.ndarray, y: object) -> tuple[np.ndarray, np.ndarray]:
        """Classes in their order, and where each of the targets [N] is among them."""
        classes, labels = super()._encoded(targets, y)
        order: Any = self.categories
        if order is None and (ordered := category_order(y)) is not None:
            order = [kind for kind in ordered if kind in classes.tolist()]
        if order is None:
            if classes.dtype.kind in "USO":
                message = f"classes are taken in the order of the alphabet, {', '.join(map(str, classes))}"
                warnings.warn(f"{message}; categories= gives another", UserWarning, stacklevel=3)
            return classes, labels
        kinds, present = np.asarray(order), set(classes.tolist())
        listed = kinds.ravel().tolist()
        place = {kind: i for i, kind in enumerate(kind for kind in listed if kind in present)}
        if kinds.ndim != 1 or len(set(listed)) != len(listed) or set(place) != present:
            numbered = kinds.dtype.kind in "USO" and present <= set(range(len(listed)))
            hint = NUMBERED if numbered else ""
            raise ValueError(
                f"categories must have the classes of y, each once, {classes}; got {kinds}{hint}"
            )
        places = np.array([place[kind] for kind in classes.tolist()])
        return classes[np.argsort(places)], places[labels]

    def _models(
        self,
        X: np.ndarray,
        classes: np.ndarray,
        labels: np.ndarray,
        kernel: Kernel,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> tuple[list[LatentModel], list[str]]:
        y = labels.astype(float)
        likelihood = Ordinal.of_levels(y, float(np.mean(kernel.diagonal(X))), weights)
        settings = self._settings.of(self, 0.0, likelihood=likelihood, learn_likelihood=True, weights=weights)
        return [self._fitter(X, kernel, settings, rng)(y)], ["the fit"]

    @staticmethod
    def _named(classes: np.ndarray) -> dict[str, np.ndarray]:
        return {"classes_": np.sort(classes), "categories_": classes}

    @property
    def likelihood_(self) -> Ordinal:
        """With the thresholds as fitted."""
        check_is_fitted(self, "models_")
        return cast(Ordinal, self.models_[0].likelihood)

    @property
    def thresholds_(self) -> np.ndarray:
        """Thresholds [C - 1] as fitted."""
        return np.array(self.likelihood_.thresholds)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms [N*, C] of the probabilities of ``classes_``; see `predict_proba`."""
        ((m, v),) = self._moments(X)
        return self.likelihood_.log_levels(m, v)[:, np.argsort(self.categories_)]
