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

from tilted.bayesopt.optimizer import Optimizer

__all__ = ["Optimizer"]
