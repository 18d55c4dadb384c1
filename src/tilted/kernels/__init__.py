"""Covariance functions, one file each, imported on first use (`tilted.kernels.contract`)."""

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
