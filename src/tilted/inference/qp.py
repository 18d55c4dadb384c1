"""Quantile propagation: EP with the L2 Wasserstein projection [Zhang 2020, section 4, eq. 5].

The projection is computed by quadrature unless another is given: the certified table of
``tilted.projections.table``, or the paper's own table with its linear interpolation and its fallback to EP
outside the box [Zhang 2020, appendix J], ``projections.TableGrid``.

The evidence [Zhang 2020, eq. 2] is not stationary in QP's sites: its gradient needs the implicit
differentiation of ``tilted.inference.implicit``, not EP's formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.inference.ep import tilted_rule
from tilted.projections.moments import wasserstein, wasserstein_sensitivity

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule

QP = tilted_rule(wasserstein, wasserstein_sensitivity, stationary=False)


def projected(projection: Projector) -> Rule:
    """QP's rule with another projection than quadrature.

    Parameters
    ----------
    projection : Projector
        With ``project(likelihood, y, m, v) -> Projection`` and ``sensitivity`` (callable or None), such as
        ``projections.table.RatioTable`` or ``projections.moments.TableGrid``.

    Raises
    ------
    ValueError
        For an object that is no projection.
    """
    if not callable(getattr(projection, "project", None)):
        raise ValueError(f"{projection!r} is no projection: it cannot project")
    return tilted_rule(projection.project, projection.sensitivity, stationary=False)
