"""Quantile propagation: EP with the L2 Wasserstein projection [Zhang 2020, section 4, eq. 5].

``qp`` computes the projection exactly; ``qp-table`` uses the paper's lookup table with its linear
interpolation and its fallback to EP outside the box [Zhang 2020, appendix J].

The evidence [Zhang 2020, eq. 2] is not stationary in QP's sites: its gradient needs the implicit
differentiation of ``tilted.inference.implicit``, not EP's formula.
"""

from __future__ import annotations

from tilted.inference.ep import tilted_rule
from tilted.projections import wasserstein, wasserstein_sensitivity, wasserstein_table


def rules():
    """Rules of this module by method name."""
    return {
        "qp": tilted_rule(wasserstein, wasserstein_sensitivity),
        "qp-table": tilted_rule(wasserstein_table),
    }
