"""Covariance functions, one file each, imported on first use.

A kernel answers for its parameters and for matrices of inputs:

``parameters()``, ``with_parameters(values)``  a vector of positive numbers, and the kernel with other ones
``distances(X)``                               what its matrices at the same inputs share, or None
``matrix(X, X2, distances)``, ``diagonal(X)``  covariances and prior variances
``contract_gradient(X, K, G, distances)``      sum_ij G_ij dK_ij/dtheta
``contract_cross(Z, X, K, G)``                 the same between two sets of points, and in the first of them
``contract_diagonal(g)``                       sum_i g_i dk(x_i, x_i)/dtheta
"""

from importlib import import_module

_MODULES = {"SquaredExponential": "tilted.kernels.squared_exponential"}

__all__ = ["SquaredExponential"]


def __getattr__(name):
    """Import a kernel when it is first asked for (PEP 562)."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'tilted.kernels' has no attribute '{name}'")


def __dir__():
    return sorted([*globals(), *_MODULES])
