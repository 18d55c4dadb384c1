"""Estimators whose next fit fails, is interrupted, or warns where warnings are errors."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tilted.estimators import (
    GPClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
    base,
    dense,
    sparse,
)
from tilted.kernels import SquaredExponential

FITS = [(dense, "fit_dense"), (sparse, "fit_sparse"), (sparse, "fit_collapsed")]
KINDS = [
    GPClassifier,
    SparseGPClassifier,
    GPRegressor,
    GPPoissonRegressor,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
]


@pytest.mark.parametrize("error", [ArithmeticError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", KINDS)
def test_a_refit_that_fails_or_is_interrupted_leaves_no_mixture(kind, error, counts, monkeypatch):
    """Not fitted, rather than the features and classes of one fit with the models of another."""
    X, y = counts
    y = np.where(y > 1, "many", "few") if "Classifier" in kind.__name__ else y
    model = kind(optimise=None).fit(X, y)

    def fails(*arguments, **keywords):
        raise error

    for module, name in FITS:
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_is_not_changed_with_the_arrays_it_was_given(kind, counts):
    """A buffer that is filled with the next rows."""
    X, y = (np.array(each, dtype=float) for each in counts)
    y = np.where(y > 1, 1.0, 0.0) if "Classifier" in kind.__name__ else y
    rows = X.copy()
    model = kind(optimise=None).fit(X, y)
    before = [*model.predict_latent(rows, return_std=True), model.log_marginal_likelihood(model.theta_)]
    X[:], y[:] = 0.0, 0.0
    after = [*model.predict_latent(rows, return_std=True), model.log_marginal_likelihood(model.theta_)]
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("kind", [GPClassifier, SparseGPClassifier])
def test_a_search_does_not_take_an_underflow_for_a_failure(kind):
    """Where the caller's program makes exceptions of floating-point errors; once it ended elsewhere."""
    X = np.linspace(0, 200, 40)[:, None]
    y = 3 * np.sin(X[:, 0]) + np.random.default_rng(0).normal(size=40) > 0
    found = []
    for how in ("ignore", "raise"):
        with np.errstate(all=how), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(kind().fit(X, y))
    assert np.array_equal(found[0].theta_, found[1].theta_)
    assert found[0].log_evidence_ == found[1].log_evidence_


def test_a_refit_during_a_prediction_does_not_swap_labels(toy, monkeypatch):
    """Another thread fits: of 142 predictions 85 had the labels of the new fit by the models of the old."""
    X, y = toy
    model = GPClassifier(optimise=None).fit(X, np.where(y > 0, "yes", "no"))
    before, moments = model.predict(X), base.LatentFunctions._moments

    def meanwhile(self, inputs):
        found = moments(self, inputs)
        model.fit(X, np.where(y > 0, "ant", "bee"))
        return found

    with monkeypatch.context() as patch:
        patch.setattr(base.LatentFunctions, "_moments", meanwhile)
        assert np.array_equal(model.predict(X), before)
    assert set(model.predict(X)) == {"ant", "bee"}


@pytest.mark.parametrize(
    "kind", [GPClassifier, SparseGPClassifier, GPPoissonRegressor, SparseGPPoissonRegressor]
)
def test_a_correction_that_is_set_after_a_fit_waits_for_the_next(kind, counts):
    """As every other parameter does: predictions are the fit's, without it and with it."""
    X, y = counts
    y = (y > 1).astype(int) if "Classifier" in kind.__name__ else y
    for before, after in ((None, "cheap"), ("cheap", None)):
        model = kind(optimise=None, correction=before).fit(X, y)
        predicted, evidence = model.predict(X), model.log_marginal_likelihood()
        scores = getattr(model, "predict_log_proba", None) or (lambda X, of=model: of.log_predictive(X, y))
        expected = scores(X)
        model.set_params(correction=after)
        assert np.array_equal(model.predict(X), predicted) and np.array_equal(scores(X), expected)
        assert model.log_marginal_likelihood() == evidence
        if before is None:
            assert model.sample_latent(X[:2]).shape == (2, 1)
        else:
            with pytest.raises(ValueError, match="no corrected covariance"):
                model.sample_latent(X[:2])


def test_other_classes_with_later_rows_are_refused(counts):
    X, y = counts
    model = SparseGPClassifier(optimise=None, batch_size=10).partial_fit(X, y > 1, classes=[False, True])
    model.partial_fit(X, y > 1, classes=[True, False])
    with pytest.raises(ValueError, match="classes must be those of the first rows"):
        model.partial_fit(X, y > 1, classes=[0, 1, 2])


def test_yes_is_no_number_of_draws(counts):
    X, y = counts
    with pytest.raises(ValueError, match="n_samples must be a whole number of at least 1, got True"):
        GPPoissonRegressor(optimise=None).fit(X, y).sample_y(X, n_samples=True)


SPARSE = [SparseGPClassifier, SparseGPRegressor, SparseGPPoissonRegressor]
OTHERS = [{"n_pseudo": 3}, {"kernel": SquaredExponential(5.0, 5.0)}, {"inference": "vb"}, {"mean": 3.0}]


@pytest.mark.parametrize("kind", SPARSE)
@pytest.mark.parametrize("changed", [*OTHERS, {"pseudo_inputs": np.zeros((2, 1))}])
def test_parameters_that_later_rows_cannot_change_are_refused(kind, changed, counts):
    """They were passed over in silence; so was `verbose="no"`, which is yes."""
    X, y = counts
    y = (y > 1).astype(int) if kind is SparseGPClassifier else y
    model = kind(optimise=None, batch_size=10, n_pseudo=5).fit(X, y)
    copied = pickle.loads(pickle.dumps(model)).set_params(max_time=9.0, batch_size=20, random_state=7)
    assert copied.partial_fit(X, y).status_.converged
    with pytest.raises(ValueError, match=f"fit anew for other parameters: {next(iter(changed))}="):
        model.set_params(**changed).partial_fit(X, y)
    with pytest.raises(ValueError, match="verbose must be True or False"):
        copied.set_params(verbose="no").partial_fit(X, y)


@pytest.mark.parametrize("kind", KINDS)
def test_a_score_is_of_sound_rows_and_weights(kind, counts):
    """A weight below zero was taken, and cells below a mask were scored."""
    X, y = counts
    y = (y > 1).astype(int) if "Classifier" in kind.__name__ else y
    model, ones = kind(optimise=None).fit(X, y), np.ones(len(y))
    assert model.score(X, y, ones) == model.score(X, y)
    for weights in (-ones, ["a"] * len(y), np.ma.masked_array(ones, ones > 0)):
        with pytest.raises(ValueError, match="sample_weight|could not convert"):
            model.score(X, y, weights)
    with pytest.raises(ValueError, match="y has masked"):
        model.score(X, np.ma.masked_array(y, y > 0))


@pytest.mark.parametrize("kind", KINDS)
def test_yes_is_no_seed(kind, counts):
    """It was the seed 1."""
    X, y = counts
    with pytest.raises(ValueError, match="random_state must be a seed or a generator, got True"):
        kind(optimise=None, random_state=True).fit(X, (y > 1).astype(int))


@pytest.mark.parametrize("kind", KINDS)
def test_two_threads_that_fit_one_estimator_make_no_mixture(kind, counts, monkeypatch):
    """Classes of the one had been left with the models of the other."""
    X, y = counts
    labels = np.array(["few", "many"])[(y > 1).astype(int)] if "Classifier" in kind.__name__ else y
    others = np.where(labels == "few", "ant", "bee") if "Classifier" in kind.__name__ else y[::-1]
    model, asked = kind(optimise=None), kind._rows

    def meanwhile(self, *arguments, **keywords):
        monkeypatch.setattr(kind, "_rows", asked)
        thread = threading.Thread(target=model.fit, args=(X, others))
        thread.start()
        thread.join()
        return asked(self, *arguments, **keywords)

    monkeypatch.setattr(kind, "_rows", meanwhile)
    with pytest.raises(RuntimeError, match="another thread fitted this estimator"):
        model.fit(X, labels)
    assert np.array_equal(model.predict(X), kind(optimise=None).fit(X, others).predict(X))


def test_rows_that_two_threads_add_are_not_lost(counts, monkeypatch):
    """The later of two `partial_fit` had replaced the earlier, in silence."""
    X, y = counts
    model, how = SparseGPRegressor(optimise=None, batch_size=10).fit(X, y), SparseGPRegressor._pass_settings

    def meanwhile(self):
        monkeypatch.undo()
        thread = threading.Thread(target=model.partial_fit, args=(X, y))
        thread.start()
        thread.join()
        return how(self)

    monkeypatch.setattr(SparseGPRegressor, "_pass_settings", meanwhile)
    with pytest.raises(RuntimeError, match="another thread fitted this estimator"):
        model.partial_fit(X, y)
    assert model.status_.message.endswith(f"{2 * len(y)} in all")
