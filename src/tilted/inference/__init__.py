"""One loop (``engine``) and the local rules that make it EP, quantile propagation or VB.

Rules are looked up by name and imported on first use, so that a change to one rule concerns the runs
of that rule only.
"""

from __future__ import annotations

from importlib import import_module

RULES = {
    "ep": "tilted.inference.ep",
    "qp": "tilted.inference.qp",
    "qp-table": "tilted.inference.qp",
    "vb": "tilted.inference.vb",
}


def get_rule(method: str):
    """The rule of ``method``.

    Raises
    ------
    ValueError
        For an unknown name; the message lists the known ones.
    """
    if method not in RULES:
        raise ValueError(f"unknown method '{method}'; known: {', '.join(RULES)}")
    return import_module(RULES[method]).rules()[method]
