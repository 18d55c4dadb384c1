"""Labels of a rough function of two columns: blocks beside pseudo-points and GPBoost's Vecchia approximation.

    pip install gpboost  # in an environment of its own; without it the row is left out
    python benchmarks/rough.py [rows]

The function is a draw of a Gaussian process of variance 2 on the unit square, of a squared exponential kernel
whose lengthscale is 0.03 at 5,000 rows (the default) and falls with the square root of their number. Prints
log losses on 1,000 other rows, processor seconds of fit and prediction, and the lengthscale that was learned.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

import numpy as np

from tilted import SparseGPClassifier

Predict = Callable[[np.ndarray], np.ndarray]  # inputs [N*, 2] -> probabilities of 1
WAVES = 4000  # of the spectral approximation of the draw


def draw(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs [N + 1000, 2] and labels 0 or 1."""
    rng, lengthscale = np.random.default_rng(1000 + seed), 0.03 * np.sqrt(5000 / rows)
    X = rng.uniform(size=(rows + 1000, 2))
    waves, shifts = rng.normal(size=(2, WAVES)) / lengthscale, rng.uniform(0.0, 2.0 * np.pi, WAVES)
    weights = rng.normal(size=WAVES) * np.sqrt(4.0 / WAVES)
    f = np.concatenate([np.cos(some @ waves + shifts) @ weights for some in np.array_split(X, 20)])
    return X, (f + rng.normal(size=len(f)) > 0.0).astype(int)


def ours(X: np.ndarray, y: np.ndarray, **parameters: object) -> tuple[Predict, object]:
    """Fit this package's sparse classifier by EP."""
    model = SparseGPClassifier("ep", **parameters).fit(X, y)
    return lambda Xs: model.predict_proba(Xs)[:, 1], model.kernel_.lengthscale


def gpboost_vecchia(X: np.ndarray, y: np.ndarray) -> tuple[Predict, object]:
    """Fit GPBoost's Vecchia approximation with Laplace's; its kernel is exp(-d^2 / range^2)."""
    import gpboost

    kind = {"cov_function": "gaussian", "likelihood": "bernoulli_probit", "gp_approx": "vecchia"}
    model = gpboost.GPModel(gp_coords=X, num_parallel_threads=1, **kind)
    model.fit(y.astype(float), params={"trace": False})
    reach = float(np.ravel(model.get_cov_pars())[1])
    return lambda Xs: np.asarray(
        model.predict(gp_coords_pred=Xs, predict_response=True)["mu"]
    ), reach / 2**0.5


METHODS: dict[str, Callable[[np.ndarray, np.ndarray], tuple[Predict, object]]] = {
    "blocks": partial(ours, approximation="blocks"),
    "200 pseudo-points": partial(ours, n_pseudo=200),
    "500 pseudo-points": partial(ours, n_pseudo=500),
}
METHODS |= {"GPBoost, Vecchia and Laplace": gpboost_vecchia} if find_spec("gpboost") else {}


def main(rows: int = 5000) -> None:
    """Print a row a method."""
    warnings.simplefilter("ignore")
    X, y = draw(rows)
    test = slice(rows, None)
    print("| method | log loss | fit s | predict s | lengthscale |", "|---|---|---|---|---|", sep="\n")
    for name, fit in METHODS.items():
        began = time.process_time()
        predict, lengthscale = fit(X[:rows], y[:rows])
        fitted = time.process_time()
        p = predict(X[test])
        ended = time.process_time()
        loss = -np.mean(np.log(np.where(y[test] == 1, p, 1.0 - p)))
        print(
            f"| {name} | {loss:.4f} | {fitted - began:.1f} | {ended - fitted:.2f} | {lengthscale:.4f} |",
            flush=True,
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
