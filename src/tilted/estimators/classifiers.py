"""Gaussian-process classifiers, dense and with pseudo-points, and the base of all classifiers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from tilted import likelihoods
from tilted.estimators import dense, joint
from tilted.estimators.base import (
    DenseEstimator,
    LatentFunctions,
    ScoreMixin,
    Seed,
    generator,
    parameters,
)
from tilted.estimators.models import LatentModel, choice
from tilted.estimators.pseudo import PseudoInputs, in_batches
from tilted.estimators.validation import (
    category_order,
    none_if_ones,
    repeat_rows,
    require_present,
    weighted_rows,
)
from tilted.gaussian import gaussians
from tilted.inference.options import Options, require_whole
from tilted.learning.dense import of_labels
from tilted.learning.starts import start_kernel

if TYPE_CHECKING:
    from tilted.inference.rule import Projector
    from tilted.kernels.contract import Kernel
    from tilted.likelihoods.contract import Likelihood

LIKELIHOODS = ("probit", "logit", "noisy-step")


@parameters
class Classifier(ScoreMixin, ClassifierMixin, LatentFunctions):
    """Fitting and predicting classes from models of labels -1 and +1."""

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
            advice = "y.astype(int) or y.astype(str)" if category_order(y) is None else codes
            raise ValueError(f"Unknown label type: objects; {advice} tells labels apart")
        self._require_classes(targets)
        inputs, targets, weights = weighted_rows(inputs, targets, sample_weight)
        classes, labels = self._encoded(targets, y)
        if len(classes) < 2:
            raise ValueError(f"a classifier needs at least 2 classes, got only one class, {classes[0]!s}")
        inputs, labels, weights = self._merge_rows(inputs, labels, weights)
        weights = self._with_class_weights(classes, labels, weights)
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
        """Return the fitted attributes of the classes [C]: ``classes_`` are sorted."""
        return {"classes_": classes}

    def _encoded(self, targets: np.ndarray, y: object) -> tuple[np.ndarray, np.ndarray]:
        """Classes [C] in order, and where each of the targets [N] is among them; ``y`` is unchecked."""
        return np.unique(targets, return_inverse=True)

    def _models(
        self,
        X: np.ndarray,
        classes: np.ndarray,
        labels: np.ndarray,
        kernel: Kernel,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> tuple[list[LatentModel], list[str]]:
        """The latent functions, of two classes one, and what a warning calls their fits."""
        settings = self._settings.of(self, 0.0, likelihood=self._likelihood(), weights=weights)
        fit_one = self._fitter(X, kernel, settings, rng, labels)
        targets, names = _against_the_rest(classes, labels)
        return [fit_one(y) for y in targets], names

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms [N*, C] of the probabilities of ``classes_``; see `predict_proba`."""
        if self._corrected:
            return self._corrected_log_proba(self._inputs(X))
        moments = self._moments(X)
        likelihood, labels = self.models_[0].likelihood, np.ones(len(moments[0][0]))
        if len(moments) == 1:
            return np.stack(
                [likelihood.log_predictive(sign * labels, *moments[0]) for sign in (-1.0, 1.0)], axis=1
            )
        each = np.stack(
            [likelihood.log_predictive(labels, *pair) for pair in moments],
            axis=1,
        )
        return each - logsumexp(each, axis=1, keepdims=True)

    def _corrected_log_proba(self, X: np.ndarray) -> np.ndarray:
        """Return log probabilities [N*, C] of the corrected densities, normalised after quadrature."""
        signs, labels = ((-1.0, 1.0) if len(self.models_) == 1 else (1.0,)), np.ones(len(X))
        models = self.models_
        log_probabilities = [model.log_predictive(X, [sign * labels for sign in signs]) for model in models]
        each = np.stack([log_p for of_model in log_probabilities for log_p in of_model], axis=1)
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
        return none_if_ones(rows * each[labels])

    def _likelihood(self) -> Likelihood:
        """The likelihood; ValueError unless it is one of labels."""
        if isinstance(self.likelihood, str):
            choice("likelihood", self.likelihood, LIKELIHOODS)
        likelihood = likelihoods.get(self.likelihood)
        if isinstance(likelihood, type) or not hasattr(likelihood, "tilted") or not of_labels(likelihood):
            raise ValueError(f"the likelihood of a classifier is one of labels -1 and +1, got {likelihood!r}")
        return likelihood


def _against_the_rest(classes: np.ndarray, labels: np.ndarray) -> tuple[list[np.ndarray], list[str]]:
    """Return targets -1 and +1 [N] of each latent function (of two classes one), and names of the fits."""
    positive = [1] if len(classes) == 2 else [*range(len(classes))]
    targets = [np.where(labels == c, 1.0, -1.0) for c in positive]
    return targets, [f"class {classes[c]!s} against the rest" for c in positive]


@parameters
class GPClassifier(Classifier, DenseEstimator):
    """Gaussian-process classification by EP, QP, VB, Power EP or relaxed EP; O(N^3) a class.

    Two classes have one latent function. C > 2 have C, each fitted by itself to its class against the rest,
    or all of them at once.

    Parameters
    ----------
    multi_class : {"one_vs_rest", "joint", "joint-kernels"}
        What more than two classes mean. "joint": the multinomial probit, C functions with one kernel, by EP
        [Riihimaki, Jylanki & Vehtari 2013], Power EP or VB; probabilities are of one model,
        ``log_evidence_`` is that of all labels, and fitted attributes are single as of two classes. Weights
        have to be whole then. O(C N^3) a sweep. "joint-kernels": the same with a kernel for every class,
        ``kernel_.each``, searched from the one (that is kept, and ``kernel_``, where nothing is searched).
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
        Of relaxed EP's relaxations; 0.03 to 0.3 matter at a kernel variance of 1, large ones are EP, tiny
        ones leave the prior.
    projection : object, optional
        How QP projects; ``tilted.projections.table.build()`` is much faster than quadrature (probit only).
    correction : {None, "cheap", "nearly-exact", "sampled"}
        Corrects predictions, latents and `log_marginal_likelihood` towards the exact posterior at the kernel
        found, from EP's fixed point there whatever the inference (``tilted.corrections``). The search has its
        own word for it (``optimise``). "sampled" is the exact posterior by weighted draws (probit only). A
        CorrectionWarning says where EP's answer stands because a correction is not to be trusted.
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

    projection: Projector | None = None
    correction: str | None = None
    multi_class: str = "one_vs_rest"

    def _models(
        self,
        X: np.ndarray,
        classes: np.ndarray,
        labels: np.ndarray,
        kernel: Kernel,
        rng: np.random.Generator,
        weights: np.ndarray | None,
    ) -> tuple[list[Any], list[str]]:
        choice("multi_class", self.multi_class, ("one_vs_rest", "joint", "joint-kernels"))
        if self.multi_class == "one_vs_rest" or len(classes) == 2:
            return super()._models(X, classes, labels, kernel, rng, weights)
        X, labels, weights = repeat_rows(X, labels, weights)
        settings = dense.DenseSettings.of(self, 0.0, likelihood=self._likelihood(), weights=weights)
        each = self.multi_class == "joint-kernels"
        return [joint.fit_joint(X, labels, len(classes), kernel, settings, rng, each)], ["the fit"]

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms [N*, C] of the probabilities of ``classes_``; see `predict_proba`."""
        check_is_fitted(self, "models_")
        model = self.models_[0]
        if isinstance(model, joint.JointModel):
            return model.log_proba(self._inputs(X))
        return super().predict_log_proba(X)

    def sample_latent(self, X: ArrayLike, n_samples: int = 1, random_state: Seed = 0) -> np.ndarray:
        """Draws [N*, n_samples] at ``X`` [N*, D], for C > 2 classes [N*, C, n_samples], as of all estimators.

        "joint": of all functions together, whose posterior is correlated; O((C N*)^3).
        """
        check_is_fitted(self, "models_")
        model = self.models_[0]
        if not isinstance(model, joint.JointModel):
            return super().sample_latent(X, n_samples, random_state)
        require_whole("n_samples", n_samples, 1)
        mean, covariance = model.together(self._inputs(X))
        draws = gaussians(mean.ravel(), covariance, n_samples, generator(random_state))
        return draws.reshape(*mean.shape, n_samples).swapaxes(0, 1)


@parameters
class SparseGPClassifier(Classifier, PseudoInputs):
    """Gaussian-process classification of many rows, by pseudo-points [Bui et al. 2017] or blocks.

    O(N M^2) a class for M pseudo-points.

    Two classes have one latent function. C > 2 have C, each fitted by itself to its class against the rest,
    from the same pseudo-inputs.

    Parameters
    ----------
    inference : {"power-ep", "ep", "vb"}
        Power EP of the given ``power``, of power 1, or its limit 0.
    likelihood : {"probit", "logit", "noisy-step"} or Likelihood
    kernel, ard : see `GPClassifier`
    n_pseudo : int
        M; fewer where there are fewer distinct inputs. They start at a random part of the inputs, some of
        every class.
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
    class_weight, priors, max_time : see `GPClassifier`; with ``batch_size`` the search and the passes have
        the time each
    power : float in [1e-6, 1]
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    batch_size : int, optional
        Rows looked at at once, of as many as there may be, memory-mapped ones too: the kernel is learned from
        so many of them, taken by chance from every class. The posterior is that of all rows, by passes over
        them in memory of the order of a batch. More rows may come later (`partial_fit`).
    n_jobs : int, optional
        Batches at once, by joblib's backend. The numbers are the same.
    verbose : bool
        Print after each pass how far the posterior moved.
    approximation : {"pseudo-points", "blocks", "auto"}
        "blocks": a chain of overlapping blocks of rows in place of pseudo-points, for lengthscales that are
        short beside the spread of at most three columns. A first search is on 600 neighbouring rows, the
        second on all; restarts are of the first. Blocks take no ``pseudo_inputs``, ``batch_size`` or
        ``correction``. "auto" is dense up to 2,000 rows; above, it takes blocks where there are at most three
        columns and more than ``n_pseudo`` cells as wide as the lengthscales that the first search finds, and
        pseudo-points otherwise. ``status_`` says which, and why.
    neighbours : int
        Earlier rows that a block of 80 depends on. They are doubled, up to 960, where marginal variances are
        not positive; ``status_`` says how many there are.
    correction : {None, "cheap", "nearly-exact"}
        As of `GPClassifier`, towards the exact posterior of the model with these pseudo-points (whose power
        is 1 then, whatever the fit's); what the pseudo-points themselves leave out stays out. "nearly-exact"
        for at most 1000 rows.
    search : tilted.learning.search.Search, optional
        By default BFGS, until the next step is expected to gain less than 1e-4 nats, or 500 evaluations. Of
        thousands of rows, where pseudo-inputs move, ``Search(method="bfgs", first_rows=1000)`` is sooner at a
        good model.
    options : inference.options.Options, optional
    random_state : int, Generator, RandomState or None
        For pseudo-inputs and restarts; the default repeats itself.

    Attributes
    ----------
    classes_, kernel_, mean_, log_evidence_, status_, theta_ : see `GPClassifier`
    n_features_in_, feature_names_in_ : see `GPClassifier`
    pseudo_inputs_ : array [M, D], or a list of C for C > 2
    models_ : list
        What predicts: ``models_[0].fitted`` is a ``sparse_search.Fitted``; a `BlocksModel` by blocks.

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

    @available_if(in_batches)  # type: ignore[untyped-decorator] # scikit-learn has no types
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the first rows as `fit` does, and add later ones by the kernel and pseudo-points found.

        Sites of earlier rows stay as they were when these came; there is no evidence then.

        Parameters
        ----------
        X, y, sample_weight : see `fit`
        classes : array-like [C], optional
            Which there are; the first rows have to have them all.

        Raises
        ------
        ValueError
            For classes that the first rows do not have, balanced class weights; and as `fit`.
        ArithmeticError
            As `fit`.
        AttributeError
            Without ``batch_size``.
        """
        if self.class_weight == "balanced":
            raise ValueError("class_weight='balanced' needs all rows at once")
        if not hasattr(self, "models_"):
            if classes is not None and set(np.unique(classes)) != set(np.unique(y)):
                raise ValueError("the first rows, from which the kernel is learned, need to have all classes")
            return self.fit(X, y, sample_weight)
        if classes is not None and set(np.unique(classes)) != set(self.classes_):
            raise ValueError(f"classes must be those of the first rows, {self.classes_}")
        inputs, targets, weights = self._further(X, y, sample_weight)
        labels = np.searchsorted(self.classes_, targets).clip(max=len(self.classes_) - 1)
        if not np.array_equal(self.classes_[labels], targets):
            raise ValueError("y has classes that the first rows did not have")
        weights = self._with_class_weights(self.classes_, labels, weights)
        return self._add(inputs, weights, *_against_the_rest(self.classes_, labels))
