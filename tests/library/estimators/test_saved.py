"""Estimators in a file and back, and draws from them."""

import io
import json
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
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
    load,
    save,
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
KEPT = {"kernel": KERNEL, "optimise": None}
MODELS = [
    (GPClassifier(**KEPT), LABELS.astype(object)),
    (GPClassifier("power-ep", class_weight="balanced", mean="constant", **KEPT), THREE),
    (GPClassifier("qp", **KEPT), LABELS),
    (GPClassifier("vb", likelihood="logit", ard=True, **KEPT), LABELS),
    (GPClassifier("rep", likelihood="noisy-step", **KEPT), LABELS),
    (GPClassifier(correction="cheap", **KEPT), LABELS),
    (GPOrdinalClassifier(search=Search(max_iterations=10)), THREE),
    (GPRegressor(), REALS),
    (GPRegressor(likelihood="student-t", kernel=2.0 * Matern() + Linear(), optimise=None), REALS),
    (GPPoissonRegressor(**KEPT), COUNTS),
    (GPPoissonRegressor("vb", likelihood="negative-binomial", **KEPT), COUNTS),
    (SparseGPClassifier(n_pseudo=5, **KEPT), LABELS),
    (SparseGPClassifier("vb", pseudo_inputs=X[:4].tolist(), **KEPT), THREE),
    (SparseGPPoissonRegressor(likelihood="negative-binomial", n_pseudo=5), COUNTS),
    (SparseGPRegressor(n_pseudo=5, **KEPT), REALS),
    (SparseGPRegressor("vb", n_pseudo=5, mean="constant", **KEPT), REALS),
]
UNWEIGHTED = {"qp", "rep"}


def numbers(model):
    """All that a fitted model says, and what it was asked for."""
    found = [*model.predict_latent(X, return_std=True), model.theta_, model.predict(X)]
    if model.inference != "rep":
        found += model.log_marginal_likelihood(model.theta_ + 0.1, eval_gradient=True)
    return [*found, repr(model.status_), repr(model.kernel_), repr(model.get_params()), sorted(vars(model))]


@pytest.mark.parametrize("model, y", MODELS)
def test_what_is_loaded_is_what_was_saved(model, y, tmp_path):
    weights = None if model.inference in UNWEIGHTED or getattr(model, "correction", None) else W
    model.fit(X, y, sample_weight=weights)
    save(model, tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert type(loaded) is type(model)
    for before, after in zip(numbers(model), numbers(loaded), strict=True):
        np.testing.assert_array_equal(before, after, strict=isinstance(before, np.ndarray))
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


def test_another_process_says_the_same(tmp_path):
    model = GPRegressor(**KEPT).fit(X, REALS)
    save(model, tmp_path / "model.npz")
    code = "import sys, tilted.estimators as e; print(e.load(sys.argv[1]).predict([[0.3, 0.2]])[0].hex())"
    command = [sys.executable, "-c", code, str(tmp_path / "model.npz")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.strip() == model.predict([[0.3, 0.2]])[0].hex()


def test_what_is_none_of_ours_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    pipeline = make_pipeline(StandardScaler(), GPRegressor(**KEPT)).fit(X, REALS)
    with pytest.raises(TypeError, match="last step"):
        save(pipeline, path)
    save(pipeline[-1], path)
    assert np.array_equal(load(path).predict(pipeline[:-1].transform(X)), pipeline.predict(X))
    with pytest.raises(NotFittedError):
        save(GPRegressor(), path)
    with pytest.raises(TypeError, match="model.random_state cannot be saved"):
        save(GPRegressor(random_state=np.random.default_rng(0), **KEPT).fit(X, REALS), path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]


@pytest.fixture
def saved(tmp_path):
    """A file, and a function that rewrites its description."""
    path = tmp_path / "model.npz"
    save(GPRegressor(**KEPT).fit(X, REALS), path)

    def rewrite(change):
        with np.load(path) as file:
            arrays = dict(file)
        described = json.loads(str(arrays["description"]))
        change(described)
        arrays["description"] = np.array(json.dumps(described))
        np.savez(path, **arrays)

    return path, rewrite


CHANGES = [
    (lambda d: d.update(version=2), "version 2"),
    (lambda d: d.update(format="other"), "'other'"),
    (lambda d: d.pop("version"), "no saved estimator"),
    (lambda d: d["model"].update(of=["os", "system"]), "none of its parts"),
    (lambda d: d["model"].update(of=["tilted.estimators.saved", "save"]), "none of its parts"),
    (lambda d: d["model"].update(function=["subprocess", "run"], of=None), "not of this version"),
    (
        lambda d: d["model"]["fields"].update(search={"function": ["tilted.inference.rep", "replace"]}),
        "none of its parts",  # a function of the standard library that the module imports
    ),
    (lambda d: d["model"]["fields"].update(strange=1), "strange"),
    (lambda d: d.update(model=3), "holds no estimator"),
    (lambda d: d["model"]["fields"]["kernel"]["fields"].update(variance=-1.0), "variance"),
    (lambda d: d["model"]["fields"]["kernel"]["fields"].update(colour=1), "not of this version"),
    (lambda d: d["model"]["fields"].update(theta_={"array": 99, "scalar": False}), "99"),
]


@pytest.mark.parametrize("change, message", CHANGES)
def test_descriptions_of_something_else_are_refused(change, message, saved):
    path, rewrite = saved
    rewrite(change)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_damaged_files_are_refused(saved):
    path, _ = saved
    whole = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        largest = max(archive.infolist(), key=lambda member: member.file_size)
    middle = largest.header_offset + largest.file_size // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    for damaged in (whole[: len(whole) // 2], b"", b"text", flipped):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(path.with_name("none"))


def test_whatever_bits_of_a_file_are_flipped(saved):
    """The same predictions, or refused as damaged: readers of zip and npy raise many kinds of errors."""
    path, _ = saved
    whole, found = path.read_bytes(), load(path).predict(X)
    rng = np.random.default_rng(0)
    for place in [*range(74, 130, 3), *range(len(whole) - 1200, len(whole), 3)]:
        flipped = whole[place] ^ 1 << int(rng.integers(8))
        path.write_bytes(whole[:place] + bytes([flipped]) + whole[place + 1 :])
        try:
            assert np.array_equal(load(path).predict(X), found)
        except ValueError as error:
            assert str(path) in str(error)


def test_two_that_save_to_one_place_at_once(saved, monkeypatch):
    """Two containers have one process number: the last whole file stays."""
    path, _ = saved
    first, second, write = load(path), load(path), np.savez
    second.theta_ = first.theta_ + 1.0

    def meanwhile(*arguments, **arrays):
        monkeypatch.setattr(np, "savez", write)
        save(second, path)
        assert np.array_equal(load(path).theta_, second.theta_)
        write(*arguments, **arrays)

    monkeypatch.setattr(np, "savez", meanwhile)
    save(first, path)
    assert np.array_equal(load(path).theta_, first.theta_) and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("of", [GPClassifier, SparseGPClassifier])
def test_a_fitted_model_has_all_the_time_there_is(of):
    """The limit is of the fit: evidences asked for later have none."""
    model = of(max_time=0.3, **KEPT).fit(X, LABELS)
    before = model.log_marginal_likelihood(model.theta_ + 0.3)
    time.sleep(0.35)
    assert model.log_marginal_likelihood(model.theta_ + 0.3) == before


@pytest.mark.parametrize(
    "model, y",
    [
        (GPRegressor(**KEPT), REALS),
        (GPRegressor(likelihood="laplace", **KEPT), REALS),
        (GPRegressor(likelihood=tilted.likelihoods.get("student-t", scale=0.2, df=30.0), **KEPT), REALS),
        (GPPoissonRegressor(**KEPT), COUNTS),
        (GPPoissonRegressor(likelihood="poisson-exp", **KEPT), COUNTS),
        (GPPoissonRegressor(likelihood="negative-binomial", **KEPT), COUNTS),
        (SparseGPRegressor(n_pseudo=5, **KEPT), REALS),
    ],
)
def test_draws_have_the_moments_of_predictions(model, y):
    """Means and standard deviations of 20,000 draws of targets, and covariances of f."""
    model.fit(X, y)
    at, number = X[:3], 20_000
    draws = model.sample_y(at, number, random_state=1)
    mean, std = model.predict(at, return_std=True)
    assert draws.shape == (3, number)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=4.0 * std.max() / np.sqrt(number))
    np.testing.assert_allclose(draws.std(axis=1), std, rtol=0.1)
    np.testing.assert_array_equal(draws, model.sample_y(at, number, random_state=1))
    assert np.any(draws != model.sample_y(at, number, random_state=2))
    latent, (_, covariance) = model.sample_latent(at, number), model.predict_latent(at, return_cov=True)
    np.testing.assert_allclose(np.cov(latent), covariance, atol=0.05 * covariance.max())


def test_draws_of_classes():
    two, three = GPClassifier(**KEPT).fit(X, LABELS), GPClassifier(**KEPT).fit(X, THREE)
    assert two.sample_latent(X, 2).shape == (N, 2) and three.sample_latent(X[:4], 5).shape == (4, 3, 5)
    many = three.sample_latent(X[:4], 4000)
    mean, std = three.predict_latent(X[:4], return_std=True)
    np.testing.assert_allclose(many.mean(axis=2), mean, atol=5.0 * std.max() / np.sqrt(4000))
    np.testing.assert_allclose(many.std(axis=2), std, rtol=0.1)
    with pytest.raises(ValueError, match="n_samples"):
        two.sample_latent(X, 0)


OF_SCIKIT_LEARN = 1.3 * RBF([1.0, 2.0]) + WhiteKernel(0.1, "fixed")


@pytest.mark.parametrize(
    "given", [{"inference": "qp", "projection": table.build()}, {"kernel": OF_SCIKIT_LEARN}]
)
def test_what_the_documents_tell_to_give_is_kept_too(given, tmp_path):
    """A table of the projection, a kernel of scikit-learn: after a long fit they could not be saved."""
    model = GPClassifier(optimise=None, **given).fit(X, LABELS)
    save(model, tmp_path / "model.npz")
    again = load(tmp_path / "model.npz")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert str(again.get_params()) == str(model.get_params())
    theta = np.asarray(model.theta_) + 0.1
    assert again.log_marginal_likelihood(theta) == model.log_marginal_likelihood(theta)


def test_attributes_of_ones_own_are_kept_or_refused(tmp_path):
    """They were written, and the file could not be read: its fit was lost with the process."""
    model = GPRegressor(optimise=None).fit(X, X[:, 0])
    model.units_ = "K"
    save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").units_ == "K"
    model.units = "K"
    with pytest.raises(TypeError, match=r"model\.units is no parameter.*call it units_"):
        save(model, tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").units_ == "K"


def test_requests_of_metadata_routing_are_no_obstacle(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = GPRegressor(optimise=None).set_fit_request(sample_weight=True).fit(X, X[:, 0])
    save(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(load(tmp_path / "model.npz").predict(X), model.predict(X))
