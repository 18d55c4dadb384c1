"""Fitted estimators are written and read back by skops, pickle and joblib with equal predictions."""

import io
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tilted
from tilted.estimators import (
    GPClassifier,
    GPOrdinalClassifier,
    GPPoissonRegressor,
    GPRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)
from tilted.kernels import Linear, Matern
from tilted.learning.search import Search
from tilted.projections import table

N = 25
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
F = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
LABELS = np.where(F + 0.3 * RNG.normal(size=N) > 0, "yes", "no")
THREE = np.digitize(F + 0.2 * RNG.normal(size=N), [-0.4, 0.4])
REALS, COUNTS = F + 0.1 * RNG.normal(size=N), RNG.poisson(np.exp(F))
W = np.linspace(0.5, 2.0, N)
KERNEL = tilted.SquaredExponential(2.0, 1.5)
FIXED = {"kernel": KERNEL, "optimise": None}
MODELS = [
    (GPClassifier(**FIXED), LABELS.astype(object)),
    (GPClassifier("power-ep", class_weight="balanced", mean="constant", **FIXED), LABELS),
    (GPClassifier("vb", likelihood="logit", ard=True, **FIXED), LABELS),
    (GPClassifier("rep", likelihood="noisy-step", **FIXED), LABELS),
    (GPClassifier(correction="cheap", **FIXED), LABELS),
    (GPOrdinalClassifier(**FIXED), THREE),
    (GPRegressor(), REALS),
    (GPRegressor(likelihood="student-t", kernel=2.0 * Matern() + Linear(), optimise=None), REALS),
    (GPPoissonRegressor(**FIXED), COUNTS),
    (SparseGPClassifier(n_pseudo=5, **FIXED), LABELS),
    (SparseGPClassifier("vb", pseudo_inputs=X[:4].tolist(), **FIXED), LABELS),
    (SparseGPPoissonRegressor(likelihood="negative-binomial", n_pseudo=5, **FIXED), COUNTS),
    (SparseGPRegressor(n_pseudo=5, **FIXED), REALS),
    (SparseGPRegressor("vb", n_pseudo=5, mean="constant", **FIXED), REALS),
    (GPClassifier("qp", projection=table.build(), **FIXED), LABELS),
    (GPClassifier(kernel=1.3 * RBF([1.0, 2.0]) + WhiteKernel(0.1, "fixed"), optimise=None), LABELS),
    (GPClassifier(multi_class="joint", **FIXED), THREE),
    (GPClassifier(multi_class="joint-kernels", search=Search(max_iterations=3)), THREE),
    (SparseGPClassifier(n_pseudo=5, batch_size=10, **FIXED), LABELS),
    (SparseGPRegressor(n_pseudo=5, batch_size=10), REALS),
    (SparseGPClassifier(approximation="blocks", neighbours=20, **FIXED), LABELS),
]
UNWEIGHTED = {"qp", "rep"}
STANDARD = {"functools.partial"}  # besides the types of tilted and of scikit-learn


def through_skops(model):
    """Dump and load with skops, trusting the listed types of tilted, scikit-learn and `STANDARD` only."""
    content = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=content)
    others = {name for name in types if not name.startswith(("tilted.", "sklearn.gaussian_process.kernels."))}
    assert others <= STANDARD
    return skops.io.loads(content, trusted=types)


def through_pickle(model):
    return pickle.loads(pickle.dumps(model))


def through_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def results(model):
    """Predictions, hyperparameters, evidence and gradient, status and parameters of a fitted model."""
    numbers = [*model.predict_latent(X, return_std=True), model.theta_, model.predict(X)]
    if hasattr(model, "predict_proba"):
        numbers.append(model.predict_proba(X))
    if model.inference != "rep" and getattr(model, "batch_size", None) is None:
        numbers += model.log_marginal_likelihood(model.theta_ + 0.1, eval_gradient=True)
    return [*numbers, repr(model.status_), str(model.kernel_), str(model.get_params()), sorted(vars(model))]


@pytest.mark.parametrize("model, y", MODELS)
def test_a_loaded_model_equals_the_fitted_one(model, y):
    weighted = not (
        model.inference in UNWEIGHTED
        or getattr(model, "correction", None)
        or getattr(model, "multi_class", "one_vs_rest") != "one_vs_rest"
    )
    model.fit(X, y, sample_weight=W if weighted else None)
    expected = results(model)
    for copy in (through_skops, through_pickle, through_joblib):
        loaded = copy(model)
        assert type(loaded) is type(model)
        for before, after in zip(expected, results(loaded), strict=True):
            np.testing.assert_array_equal(after, before, strict=isinstance(before, np.ndarray))


@pytest.mark.slow
def test_a_pipeline_is_loaded_in_another_process(tmp_path):
    model = make_pipeline(StandardScaler(), GPRegressor(**FIXED)).fit(X, REALS)
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    code = (
        "import sys, skops.io as sio\n"
        "model = sio.load(sys.argv[1], trusted=sio.get_untrusted_types(file=sys.argv[1]))\n"
        "print(model.predict([[0.3, 0.2]])[0].hex())\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == model.predict([[0.3, 0.2]])[0].hex()


def test_further_rows_are_added_to_a_loaded_model():
    model = SparseGPClassifier(n_pseudo=5, batch_size=10, **FIXED).fit(X, LABELS)
    loaded = through_skops(model)
    np.testing.assert_array_equal(
        loaded.partial_fit(X[:9], LABELS[:9]).predict_proba(X),
        model.partial_fit(X[:9], LABELS[:9]).predict_proba(X),
    )
