"""One loop (``engine``) and the local rules that make it EP, quantile propagation or VB.

Rules are looked up by name and imported on first use, so that a change to one rule concerns the runs
of that rule only.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilted.inference.rule import Projector, Rule

RULES = {
    "ep": "tilted.inference.ep",
    "qp": "tilted.inference.qp",
    "vb": "tilted.inference.vb",
}


def get_rule(method: str, projection: Projector | None = None) -> Rule:
    """The rule of ``method``, with another projection than its own if one is given (QP only).

    Parameters
    ----------
    method : str
    projection : Projector, optional
        With ``project(likelihood, y, m, v) -> Projection`` and ``sensitivity`` (callable or None), such as
        ``lookup.RatioTable`` or ``projections.TableGrid``.

    Raises
    ------
    ValueError
        For an unknown name (the message lists the known ones), for a projection where the method has its
        own, and for an object that is no projection.
    """
    if not isinstance(method, str) or method not in RULES:
        raise ValueError(f"unknown method '{method}'; known: {', '.join(RULES)}")
    rules = import_module(RULES[method]).rules
    if projection is None:
        return rules()[method]
    if method != "qp":
        raise ValueError(f"only 'qp' takes a projection, not '{method}'")
    if not callable(getattr(projection, "project", None)):
        raise ValueError(f"{projection!r} is no projection: it cannot project")
    return rules(projection)[method]
