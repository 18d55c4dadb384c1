"""Gaussian-process inference by sites and tilted distributions.

Every method here keeps a Gaussian posterior q(f) proportional to p(f) prod_i t_i(f_i), whose sites
t_i are Gaussian in natural parameters (tau_i, nu_i), and repeats one sentence: look at the marginal
of f_i, apply a local rule, get a new site.

The public names are imported on first use, so that ``import tilted`` costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_PUBLIC = {
    "fit": "tilted.estimators.fit",
    "Fit": "tilted.api",
    "SquaredExponential": "tilted.kernels",
    **dict.fromkeys(
        (
            "GPClassifier",
            "GPOrdinalClassifier",
            "GPPoissonRegressor",
            "GPRegressor",
            "SparseGPClassifier",
            "SparseGPPoissonRegressor",
            "SparseGPRegressor",
        ),
        "tilted.estimators",
    ),
}

_ROOMS = ("kernels", "likelihoods")

__all__ = [
    "Fit",
    "GPClassifier",
    "GPOrdinalClassifier",
    "GPPoissonRegressor",
    "GPRegressor",
    "SparseGPClassifier",
    "SparseGPPoissonRegressor",
    "SparseGPRegressor",
    "SquaredExponential",
    "fit",
    "kernels",
    "likelihoods",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562); AttributeError for other names."""
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name in _ROOMS:
        return import_module(f"tilted.{name}")
    raise AttributeError(f"module 'tilted' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC, *_ROOMS])
