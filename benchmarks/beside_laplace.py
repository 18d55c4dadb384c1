"""EP beside Laplace's approximation in scikit-learn and GPBoost: log loss, error of probabilities, seconds.

    pip install gpboost  # in an environment of its own; without it the column is left out
    python benchmarks/beside_laplace.py

Prints the numbers of README.md's table: three binary problems from scikit-learn, columns scaled, at most 200
random training rows, 100 test rows, means of three splits. The error of a probability is its distance from
that of the exact posterior of the same model (prior, link and learned kernel), which is sampled.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from sklearn import datasets
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import tilted
from tilted.exact.chains import Length, sample
from tilted.exact.target import Reference, Target

Fit = tuple[np.ndarray, str, float, float]  # probabilities of 1, link, prior variance, lengthscale
PROBLEMS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "breast cancer": lambda: labels(datasets.load_breast_cancer, lambda t: t == 1),
    "wine, class 1 or not": lambda: labels(datasets.load_wine, lambda t: t == 1),
    "digits, even or odd": lambda: labels(datasets.load_digits, lambda t: t % 2 == 1),
}


def labels(load, positive) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and labels -1 or 1 of a data set of scikit-learn."""
    X, target = load(return_X_y=True)
    return X, np.where(positive(target), 1.0, -1.0)


def ep(X, y, Xs) -> Fit:
    """Fit this package's classifier at its defaults."""
    model = tilted.GPClassifier().fit(X, y)
    return model.predict_proba(Xs)[:, 1], "probit", model.kernel_.variance, model.kernel_.lengthscale


def sklearn_laplace(X, y, Xs) -> Fit:
    """Fit scikit-learn's classifier, its kernel searched from variance and lengthscale 1."""
    model = GaussianProcessClassifier(ConstantKernel() * RBF()).fit(X, y)
    kernel = model.kernel_
    return model.predict_proba(Xs)[:, 1], "logit", kernel.k1.constant_value, kernel.k2.length_scale


def gpboost_laplace(X, y, Xs) -> Fit:
    """Fit GPBoost's model at its defaults; its kernel is exp(-d^2 / range^2)."""
    import gpboost

    model = gpboost.GPModel(gp_coords=X, cov_function="gaussian", likelihood="bernoulli_probit")
    model.fit((y > 0).astype(float), params={"trace": False})
    variance, reach = np.ravel(model.get_cov_pars())[:2]
    predicted = model.predict(gp_coords_pred=Xs, predict_response=True)["mu"]
    return np.asarray(predicted), "probit", float(variance), float(reach) / np.sqrt(2.0)


def exact(X, y, Xs, link: str, variance: float, lengthscale: float) -> np.ndarray:
    """Sample the exact posterior and return its probabilities of label 1."""
    kernel = tilted.SquaredExponential(variance, lengthscale)
    fit = tilted.fit(X, y, kernel=kernel, likelihood=link, optimise=False)
    target = Target.build(kernel, X, y, fit.problem.likelihood, fit.problem.mean)
    reference = Reference.build(target, fit.inference.sites, 0.9)
    drawn = sample(
        reference, np.random.default_rng(0), Length(32, 100, 600, thin=20), inputs=Xs, labels=np.ones(len(Xs))
    )
    return np.exp(drawn.log_density)


METHODS = {"tilted EP": ep, "scikit-learn Laplace": sklearn_laplace}
METHODS |= {"GPBoost Laplace": gpboost_laplace} if find_spec("gpboost") else {}


def main() -> None:
    """Print a row a problem and method."""
    warnings.simplefilter("ignore")
    print("| data | method | log loss | error of probabilities | s |", "|---|---|---|---|---|", sep="\n")
    for problem, load in PROBLEMS.items():
        X, y = load()
        for name, method in METHODS.items():
            rows = []
            for split in range(3):
                A, B, a, b = train_test_split(
                    X, y, train_size=min(200, len(y) // 2), random_state=split, stratify=y
                )
                scaler = StandardScaler().fit(A)
                A, B, b = scaler.transform(A), scaler.transform(B)[:100], b[:100]
                began = time.process_time()
                p, *model = method(A, a, B)
                seconds = time.process_time() - began
                loss = -np.mean(np.log(np.where(b > 0, p, 1.0 - p)))
                rows.append((loss, np.mean(np.abs(p - exact(A, a, B, *model))), seconds))
            loss, error, seconds = np.mean(rows, axis=0)
            print(f"| {problem} | {name} | {loss:.3f} | {error:.5f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    main()
