"""scikit-learn estimators: classifiers and regressors of reals and of counts, dense and sparse.

``fit`` checks its data and hands them to the functions of ``tilted.api`` (dense), ``tilted.learning.sparse``
and ``tilted.learning.regression`` (sparse), and to ``tilted.learning.mean`` for a learned prior mean; nothing
is computed here that these do not compute. They are imported on first use, since ``tilted.fit`` needs no
scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilted.estimators.classifiers import GPClassifier, SparseGPClassifier
    from tilted.estimators.counts import GPPoissonRegressor, SparseGPPoissonRegressor
    from tilted.estimators.ordinal import GPOrdinalClassifier
    from tilted.estimators.regressors import GPRegressor, SparseGPRegressor

_ROOMS = {
    "GPClassifier": "classifiers",
    "GPOrdinalClassifier": "ordinal",
    "GPPoissonRegressor": "counts",
    "GPRegressor": "regressors",
    "SparseGPClassifier": "classifiers",
    "SparseGPPoissonRegressor": "counts",
    "SparseGPRegressor": "regressors",
}

__all__ = [
    "GPClassifier",
    "GPOrdinalClassifier",
    "GPPoissonRegressor",
    "GPRegressor",
    "SparseGPClassifier",
    "SparseGPPoissonRegressor",
    "SparseGPRegressor",
]


def __getattr__(name: str) -> Any:
    """Import an estimator when it is first asked for (PEP 562); AttributeError for other names."""
    if name not in _ROOMS:
        raise AttributeError(f"module 'tilted.estimators' has no attribute '{name}'")
    return getattr(import_module(f"tilted.estimators.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
