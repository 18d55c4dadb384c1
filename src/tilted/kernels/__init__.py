"""Covariance functions, one file each, imported on first use.

A kernel answers for its parameters and for matrices of inputs:

``parameters()``, ``with_parameters(values)``  a vector of positive numbers, and the kernel with other ones
``distances(X)``                               what its matrices at the same inputs share, or None
``matrix(X, X2, distances)``, ``diagonal(X)``  covariances and prior variances
``contract_gradient(X, K, G, distances)``      sum_ij G_ij dK_ij/dtheta
``contract_cross(Z, X, K, G)``                 the same between two sets of points, and in the first of them
``contract_diagonal(g)``                       sum_i g_i dk(x_i, x_i)/dtheta

All are stationary: k(x, x) is the same at every x. ``matrix(X)`` is that of one set of points and
``matrix(X, X2)`` that between two sets, which differ for kernels with independent noise (``white``).
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "Constant": "tilted.kernels.constant",
    "Matern": "tilted.kernels.matern",
    "Product": "tilted.kernels.compound",
    "SquaredExponential": "tilted.kernels.squared_exponential",
    "Sum": "tilted.kernels.compound",
    "White": "tilted.kernels.white",
}

__all__ = ["Constant", "Matern", "Product", "SquaredExponential", "Sum", "White"]


def __getattr__(name: str) -> Any:
    """Import a kernel when it is first asked for (PEP 562)."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'tilted.kernels' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_MODULES])
