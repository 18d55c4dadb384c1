"""Predictive entropy search with unknown constraints (PESC) [Hernandez-Lobato et al. 2015].

``optimizer``
    ask where to evaluate next, and tell what was found (`Optimizer`); ``loop`` calls the functions itself;
``surrogate``
    a Gaussian process of one function, given its own observations, at points shared by all functions;
``factors``
    moments of the factors that say where the constrained minimum is;
``joint``
    q of every function, a Gaussian: data and sites;
``nfcpd``
    EP with these factors, and the predictive distributions it leads to;
``boundary``
    the last of them with less approximated, to show what that costs;
``rejection``
    the same distributions by rejection sampling.
"""

from importlib import import_module
from typing import Any

__all__ = ["Optimizer"]


def __getattr__(name: str) -> Any:
    """Import it when it is first asked for (PEP 562): q and its accuracy need no loop."""
    if name not in __all__:
        raise AttributeError(f"module 'tilted.bayesopt' has no attribute '{name}'")
    return getattr(import_module("tilted.bayesopt.optimizer"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
