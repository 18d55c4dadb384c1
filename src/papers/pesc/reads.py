"""The rows of the PESC records that each claim or figure needs."""

from __future__ import annotations

from papers.core.slices import Slice
from papers.pesc.claims import CLAIMS as OF_PAPER
from papers.pesc.records import ACCURACY, REGRET

CLAIMS: dict[str, tuple[Slice, ...]] = dict.fromkeys(OF_PAPER, (Slice(ACCURACY),))
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs; each figure has the name of its study."""
    return (Slice({"accuracy": ACCURACY, "regret": REGRET}[name]),)
