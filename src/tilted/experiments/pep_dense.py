"""As many pseudo-points as data: is sparse EP the dense one? [Bui et al. 2017, appendix I.5 and figure 33].

Ionosphere, one split; pseudo-inputs at the distinct training inputs, alpha = 1, hyperparameters on a grid.
Energy and test NLL beside those of EP on the dense posterior, whose sites touch one function value each. Kuu
has a relative jitter of `JITTER`, without which long lengthscales make it singular: what differs is of its
order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tilted import metrics
from tilted.data import Dataset, regression
from tilted.experiments import pep_classification
from tilted.inference import get_rule
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from typing import Any

COLUMNS = (
    "data", "n", "n_test", "jitter", "lengthscale", "variance", "quantity", "dense", "sparse", "difference",
    "converged",
)  # fmt: skip
"""``quantity``: energy (nats, minus the log evidence) or NLL (nats a test point); ``difference``: relative to
the larger of 1 and the dense one."""

DATA, SPLIT, JITTER = "iono", 0, 1e-9
LENGTHSCALES = tuple(np.round(np.exp(np.linspace(0.0, 4.0, 9)), 6))
VARIANCES = tuple(np.round(np.exp(np.array([0.0, 2.0, 4.0, 6.0, 8.0])), 6))
ENERGY, NLL = "energy", "NLL"
OPTIONS = Options(tolerance=1e-10)


def modules_of(data: str) -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS` for the set `DATA`, lengthscale by lengthscale."""
    X, Xs, y, ys = pep_classification.prepared(regression.parts(dataset, SPLIT))
    X, rows = np.unique(X, axis=0, return_index=True)
    y = y[rows]
    for lengthscale in LENGTHSCALES:
        for variance in VARIANCES:
            kernel = SquaredExponential(variance, lengthscale)
            dense, sparse = _dense(kernel, X, y, Xs, ys), _sparse(kernel, X, y, Xs, ys)
            for k, quantity in enumerate((ENERGY, NLL)):
                a, b = dense[k], sparse[k]
                values = (a, b, abs(a - b) / max(1.0, abs(a)), dense[2] and sparse[2])
                identity = (DATA, len(y), len(ys), JITTER, lengthscale, variance, quantity)
                yield dict(zip(COLUMNS, (*identity, *values), strict=True))


def _dense(
    kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Xs: np.ndarray, ys: np.ndarray
) -> tuple[float, float, bool]:
    """Energy, NLL and whether EP converged, on the dense posterior."""
    posterior = Dense.build(kernel.matrix(X))
    found = infer(posterior, Probit(), y, get_rule("ep"), OPTIONS)
    mean, variance = posterior.predict(found.state, kernel.matrix(Xs, X), kernel.diagonal(Xs))
    return -found.log_evidence, _nll(ys, mean, variance), found.status.converged


def _sparse(
    kernel: SquaredExponential, X: np.ndarray, y: np.ndarray, Xs: np.ndarray, ys: np.ndarray
) -> tuple[float, float, bool]:
    """The same with every training input a pseudo-input."""
    posterior = Sparse.build(kernel, X, X, jitter=JITTER)
    found = infer(posterior, Probit(), y, get_rule("ep"), OPTIONS)
    return -found.log_evidence, _nll(ys, *posterior.predict(found.state, Xs)), found.status.converged


def _nll(ys: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> float:
    return metrics.negative_log_likelihood(Probit().log_predictive(ys, mean, variance))
