"""Estimators whose next fit fails, is interrupted, or warns where warnings are errors."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPRegressor,
    base,
    collapsed,
    dense,
    sparse,
)
from tilted.kernels import SquaredExponential

FITS = {dense: "fit_dense", sparse: "fit_sparse", collapsed: "fit_collapsed"}
KINDS = [GPClassifier, SparseGPClassifier, GPRegressor, GPPoissonRegressor, SparseGPRegressor]


@pytest.mark.parametrize("error", [ArithmeticError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", KINDS)
def test_a_refit_that_fails_or_is_interrupted_leaves_no_mixture(kind, error, counts, monkeypatch):
    """Not fitted, rather than the features and classes of one fit with the models of another."""
    X, y = counts
    y = np.where(y > 1, "many", "few") if "Classifier" in kind.__name__ else y
    model = kind(optimise=None).fit(X, y)

    def fails(*arguments, **keywords):
        raise error

    for module, name in FITS.items():
        monkeypatch.setattr(module, name, fails)
    wider = np.column_stack([X, X])
    with pytest.raises(error):
        model.fit(wider, y)
    for inputs in (X, wider):
        with pytest.raises(NotFittedError):
            model.predict(inputs)
    assert [name for name in vars(model) if name.endswith("_")] == ["n_features_in_"]


@pytest.mark.parametrize("settings", [{"kernel": SquaredExponential(1.0, 1e-6)}, {"power": 0.25}])
def test_a_warning_that_is_an_error_does_not_swap_labels(settings, toy):
    """Once the classes were the new ones and the models the old."""
    X, y = toy
    model = GPClassifier(optimise=None).fit(X, np.where(y > 0, "yes", "no")).set_params(**settings)
    with warnings.catch_warnings(), pytest.raises(UserWarning):
        warnings.simplefilter("error")
        model.fit(X, np.where(y > 0, "cat", "dog"))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_a_warning_after_a_fit_leaves_it_whole(toy, monkeypatch):
    """That sites did not converge is said last: by then there is a model."""
    monkeypatch.setattr(base, "warn_unless_converged", lambda *said: warnings.warn("late", stacklevel=2))
    model = GPClassifier(optimise=None)
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="late"):
        warnings.simplefilter("error")
        model.fit(*toy)
    assert model.log_marginal_likelihood() == model.log_evidence_
    assert model.predict(toy[0]).shape == toy[1].shape
