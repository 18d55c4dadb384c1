"""The defaults of the estimators beside other libraries', on ten data sets that no default was chosen on.

    pip install -e '.[bench,bench-others]'  # in an environment of its own
    python benchmarks/side_by_side.py

Prints the tables of docs/comparison.md: five classifications and five regressions, from scikit-learn or made
up by seed, raw and with columns scaled. A random half (at most 150 rows) is learned from, and as many others
are scored. GPflow and GPyTorch are used as their documentation shows: variational Bayes for labels, exact for
reals, kernels at their default start, GPflow with L-BFGS-B, GPyTorch with Adam in double precision. Libraries
that cannot be imported are left out, and named.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.preprocessing import StandardScaler

import tilted

MOST = 150  # rows of a half
STEPS, RATE = 500, 0.1  # of Adam of GPyTorch; its tutorials take 50 steps, which are too few here
UNITS = 10.0 ** np.array([3, -2, 0, 2, -3, 1, -1, 0, 2, -2])  # of made-up columns, raw
Data = tuple[np.ndarray, np.ndarray]
Score = Callable[..., np.ndarray]  # (X, y, Xs, ys) -> log densities of ys


def outlying(X: np.ndarray, y: np.ndarray) -> Data:
    """The same with one wild value, such as stands for a missing one."""
    X[0, 0] = 99999.0
    return X, y


def heavy(rng: np.random.Generator) -> Data:
    """A smooth function of two columns under Student-t noise with two degrees of freedom."""
    X = rng.uniform(-3.0, 3.0, (300, 2))
    return X, np.sin(X[:, 0]) * X[:, 1] + 0.2 * rng.standard_t(2.0, 300)


def stepped(rng: np.random.Generator) -> Data:
    """A step, far from zero."""
    X = rng.uniform(0.0, 10.0, (200, 1))
    return X, 1e4 + np.where(X[:, 0] > 5.0, 3.0, 0.0) + 0.1 * rng.normal(size=200)


LABELS: dict[str, Callable[[], Data]] = {
    "iris, 3 classes": lambda: datasets.load_iris(return_X_y=True),
    "wine, 3 classes": lambda: datasets.load_wine(return_X_y=True),
    "breast cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
    "moons, a wild value": lambda: outlying(*datasets.make_moons(300, noise=0.25, random_state=1)),
    "8 of 10 columns noise": lambda: datasets.make_classification(
        300, 10, n_informative=2, n_redundant=0, flip_y=0.1, random_state=1
    ),
}
REALS: dict[str, Callable[[], Data]] = {
    "diabetes": lambda: datasets.load_diabetes(return_X_y=True, scaled=False),
    "Friedman 1": lambda: datasets.make_friedman1(300, noise=1.0, random_state=1),
    "Friedman 2": lambda: datasets.make_friedman2(300, noise=100.0, random_state=1),
    "heavy tails": lambda: heavy(np.random.default_rng(1)),
    "a step at 10,000": lambda: stepped(np.random.default_rng(1)),
}
MADE = {"8 of 10 columns noise", "Friedman 1", "heavy tails"}  # raw, their columns get units


def of_classes(model) -> Score:
    """Log probabilities of test labels by a classifier of scikit-learn's kind."""

    def score(X, y, Xs, ys):
        model.fit(X, y)
        with np.errstate(divide="ignore"):
            log_p = np.log(model.predict_proba(Xs))
        return log_p[np.arange(len(ys)), np.searchsorted(model.classes_, ys)]

    return score


def gaussian(y: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Log densities [N*]."""
    return -0.5 * (np.log(2.0 * np.pi * variance) + (y - mean) ** 2 / variance)


def sklearn_regression(X, y, Xs, ys):
    """Constant times RBF plus white noise, targets normalised."""
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    mean, sd = GaussianProcessRegressor(kernel, normalize_y=True).fit(X, y).predict(Xs, return_std=True)
    return gaussian(ys, mean, sd**2)


def one_vs_rest(probability: Callable[..., np.ndarray]) -> Score:
    """Of a library of two classes, which says how probable 1 is from labels 0 and 1, divided by the sum."""

    def score(X, y, Xs, ys):
        classes = np.unique(y)
        positive = classes[1:] if len(classes) == 2 else classes
        each = [probability(X, (y == c).astype(float), Xs) for c in positive]
        P = np.stack([1.0 - each[0], each[0]] if len(classes) == 2 else each, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = np.log(P / P.sum(axis=1, keepdims=True))
        return log_p[np.arange(len(ys)), np.searchsorted(classes, ys)]

    return score


def normalised(moments: Callable[..., Data]) -> Score:
    """Of a library that does not normalise targets itself."""

    def score(X, y, Xs, ys):
        level, scale = np.mean(y), np.std(y)
        mean, variance = moments(X, (y - level) / scale, Xs)
        return gaussian(ys, level + scale * mean, scale**2 * variance)

    return score


def gpy_probability(X, t, Xs):
    """EP of GPy's GPClassification as it comes."""
    import GPy

    model = GPy.models.GPClassification(X, t[:, None])
    model.optimize()
    return model.predict(Xs)[0][:, 0]


def gpy_regression(X, y, Xs, ys):
    """GPy's GPRegression as it comes, targets normalised."""
    import GPy

    model = GPy.models.GPRegression(X, y[:, None], normalizer=True)
    model.optimize()
    mean, variance = model.predict(Xs)
    return gaussian(ys, mean[:, 0], variance[:, 0])


def gpflow_probability(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> np.ndarray:
    """Probabilities [N*] of 1 at ``Xs``, learned from ``t`` [N] of 0 and 1 at ``X``."""
    import gpflow

    kernel, likelihood = gpflow.kernels.SquaredExponential(), gpflow.likelihoods.Bernoulli()
    model = gpflow.models.VGP((X, t[:, None]), kernel=kernel, likelihood=likelihood)
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables)
    return model.predict_y(Xs)[0].numpy()[:, 0]


def gpflow_moments(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> Data:
    """Mean and variance [N*] of new targets, learned from ``t`` [N], which are normalised."""
    import gpflow

    model = gpflow.models.GPR((X, t[:, None]), kernel=gpflow.kernels.SquaredExponential())
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables)
    mean, variance = (part.numpy()[:, 0] for part in model.predict_y(Xs))
    return mean, variance


def _prior():
    """Constant mean and scaled squared exponential: what a model's ``forward`` says of inputs."""
    import gpytorch

    mean, kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    return mean, kernel, lambda x: gpytorch.distributions.MultivariateNormal(mean(x), kernel(x))


def _climb(objective, X, t) -> None:
    """Maximise by Adam; then the objective's model and likelihood are ready to predict."""
    import torch

    optimiser = torch.optim.Adam(objective.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        (-objective(objective.model(X), t)).backward()
        optimiser.step()
    objective.eval()


def gpytorch_probability(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> np.ndarray:
    """As `gpflow_probability`; the inducing points are the inputs."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    X, t, Xs = (torch.as_tensor(part) for part in (X, t, Xs))

    class Variational(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = gpytorch.variational.CholeskyVariationalDistribution(len(X))
            super().__init__(gpytorch.variational.VariationalStrategy(self, X, q, False))
            self.mean, self.kernel, self.forward = _prior()

    model, likelihood = Variational().double(), gpytorch.likelihoods.BernoulliLikelihood()
    _climb(gpytorch.mlls.VariationalELBO(likelihood, model, len(t)), X, t)
    with torch.no_grad():
        return likelihood(model(Xs)).mean.numpy()


def gpytorch_moments(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> Data:
    """As `gpflow_moments`."""
    import gpytorch
    import torch

    X, t, Xs = (torch.as_tensor(part) for part in (X, t, Xs))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()

    class Exact(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(X, t, likelihood)
            self.mean, self.kernel, self.forward = _prior()

    model = Exact().double()
    _climb(gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), X, t)
    with torch.no_grad():
        found = likelihood(model(Xs))
    return found.mean.numpy(), found.variance.numpy()


OTHERS: dict[str, tuple[Score, Score]] = {  # for labels, for reals
    "GPy": (one_vs_rest(gpy_probability), gpy_regression),
    "GPflow": (one_vs_rest(gpflow_probability), normalised(gpflow_moments)),
    "GPyTorch": (one_vs_rest(gpytorch_probability), normalised(gpytorch_moments)),
}
MODULES = {"GPy": "GPy", "GPflow": "gpflow", "GPyTorch": "gpytorch"}


def ours(X, y, Xs, ys, **settings):
    """Return the log densities [N*] by `tilted.GPRegressor`."""
    return tilted.GPRegressor(**settings).fit(X, y).log_predictive(Xs, ys)


def installed(name: str) -> bool:
    """Whether one of `OTHERS` can be imported."""
    return find_spec(MODULES[name]) is not None


def methods(labels: bool) -> dict[str, Score]:
    """Methods for labels or for reals, whose columns the tables have."""
    others = {name: pair[0 if labels else 1] for name, pair in OTHERS.items() if installed(name)}
    if labels:
        theirs = of_classes(GaussianProcessClassifier(ConstantKernel() * RBF()))
        return {"tilted": of_classes(tilted.GPClassifier()), "scikit-learn": theirs} | others
    found = {"tilted": ours, "tilted, student-t": partial(ours, likelihood="student-t")}
    return found | {"scikit-learn": sklearn_regression} | others


def trial(score, halves) -> tuple[str, bool, float]:
    """Log loss as text, whether that is a failure, and processor seconds; warnings are counted behind it."""
    X, y, Xs, ys = halves
    began = time.process_time()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            loss = -float(np.mean(score(X, y, Xs, ys)))
        except Exception as error:  # whatever another library raises is a failure of this trial
            return type(error).__name__, True, time.process_time() - began
    base = base_loss(y, ys)
    failed = not loss < base
    text = f"{loss:.3f}" + ("*" if failed else "") + (f" ({len(said)}w)" if said else "")
    return text, failed, time.process_time() - began


def base_loss(y: np.ndarray, ys: np.ndarray) -> float:
    """Log loss of not looking at the inputs: shares of the classes, or the normal of the targets."""
    if y.dtype.kind == "i":
        return -float(np.mean(np.log([np.mean(y == label) for label in ys])))
    return -float(np.mean(gaussian(ys, np.mean(y), np.var(y))))


def table(sets: dict[str, Callable[[], Data]], labels: bool) -> None:
    """Print one table."""
    how = methods(labels)
    print(f"| data set | inputs | {' | '.join(f'{name} | s' for name in how)} |")
    print("|---" * (2 + 2 * len(how)) + "|")
    failures, seconds = dict.fromkeys(how, 0), dict.fromkeys(how, 0.0)
    for name, made in sets.items():
        X, y = made()
        if name in MADE:
            X = X * UNITS[: X.shape[1]]
        rows = np.random.default_rng(0).permutation(len(X))
        half = min(MOST, len(X) // 2)
        train, test = rows[:half], rows[half : 2 * half]
        if name == "moons, a wild value":  # among those that are learned from
            train = np.unique(np.append(train, 0))
            test = test[test != 0]
        for scaling in ("raw", "scaled"):
            scaler = StandardScaler().fit(X[train])
            inputs = X if scaling == "raw" else scaler.transform(X)
            cells = []
            for method, score in how.items():
                text, failed, spent = trial(score, (inputs[train], y[train], inputs[test], y[test]))
                failures[method] += failed
                seconds[method] += spent
                cells.append(f"{text} | {spent:.2f}")
            print(f"| {name} | {scaling} | {' | '.join(cells)} |", flush=True)
    totals = [f"{failures[name]} failures | {seconds[name]:.1f}" for name in how]
    print(f"| all | | {' | '.join(totals)} |\n")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in filter(installed, OTHERS):  # so that seconds and warnings are those of fits
            import_module(MODULES[name])
    table(LABELS, True)
    table(REALS, False)
    print("Not installed:", ", ".join(name for name in OTHERS if not installed(name)) or "none")
