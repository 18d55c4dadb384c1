"""One loop (``engine``) and the local rules that make it EP, quantile propagation or VB.

`RULES` are those without a parameter. The rules of Power EP and relaxed EP have one: ``pep.power_rule``,
``rep``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilted.inference.ep import EP
from tilted.inference.qp import QP, projected
from tilted.inference.rule import Rule
from tilted.inference.vb import VB

if TYPE_CHECKING:
    from tilted.inference.rule import Projector

RULES = {
    "ep": EP,
    "qp": QP,
    "vb": VB,
}


def rule_of(method: str | Rule, projection: Projector | None = None) -> Rule:
    """The rule of a method, with another projection than its own if one is given (QP only).

    Raises
    ------
    ValueError
        For an unknown name (the message lists the known ones), for a projection where the method has its own,
        and for an object that is no projection.
    """
    if isinstance(method, Rule):
        rule = method
    elif isinstance(method, str) and method in RULES:
        rule = RULES[method]
    else:
        raise ValueError(f"unknown method '{method}'; known: {', '.join(RULES)}")
    if projection is None:
        return rule
    if rule is not QP:
        raise ValueError(f"only 'qp' takes a projection, not '{method}'")
    return projected(projection)
