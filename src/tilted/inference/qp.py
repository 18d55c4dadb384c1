"""Quantile propagation: EP with the L2 Wasserstein projection [Zhang 2020, section 4, eq. 5].

The projection is computed by quadrature unless another is given: the certified table of
``tilted.lookup``, or the paper's own table with its linear interpolation and its fallback to EP outside the
box [Zhang 2020, appendix J], ``projections.TableGrid``.

The evidence [Zhang 2020, eq. 2] is not stationary in QP's sites: its gradient needs the implicit
differentiation of ``tilted.inference.implicit``, not EP's formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.inference.ep import tilted_rule
from tilted.projections import wasserstein, wasserstein_sensitivity

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule


def rules(projection: Projector | None = None) -> dict[str, Rule]:
    """Rules of this module by method name."""
    if projection is None:
        return {"qp": tilted_rule(wasserstein, wasserstein_sensitivity)}
    return {"qp": tilted_rule(projection.project, projection.sensitivity)}
