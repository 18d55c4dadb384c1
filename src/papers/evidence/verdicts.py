"""From rows to a verdict.

Each row of a claim is ``yes`` (the numbers show what the claim says), ``no`` (they show the contrary),
``undecided`` (they show neither, which does not count for the claim) or ``no data``. Of all rows the claim
speaks of:

============== ==================================================================
holds          every row is yes
holds in part  the majority is yes
does not hold  no majority, even if every row without data were yes
not testable   otherwise: rows without data would decide
============== ==================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

YES, NO, UNDECIDED, MISSING, SHOWN = "yes", "no", "undecided", "no data", "shown only"
HOLDS, IN_PART, FAILS, UNTESTABLE = "holds", "holds in part", "does not hold", "not testable"
VERDICTS = (HOLDS, IN_PART, FAILS, UNTESTABLE)
_STRONGEST = (NO, MISSING, UNDECIDED, YES)


def verdict(statuses: Iterable[str]) -> str:
    """The verdict on a claim from the statuses of its rows; an undecided row does not count for it."""
    found = list(statuses)
    yes, total = found.count(YES), len(found)
    open_rows = found.count(MISSING)
    if total and yes == total:
        return HOLDS
    if 2 * yes > total:
        return IN_PART
    return FAILS if total and 2 * (yes + open_rows) <= total else UNTESTABLE


@dataclass(frozen=True)
class Inference:
    """What one estimand says about an effect; NaN where it says nothing.

    ``low, high`` are a 95 % interval, ``p`` and (after Holm's adjustment over the rows of the claim)
    ``p_holm`` are of no difference, ``p_equivalent`` (after the same) of a difference that matters.
    """

    status: str = MISSING
    low: float = math.nan
    high: float = math.nan
    p: float = math.nan
    p_holm: float = math.nan
    p_equivalent: float = math.nan


@dataclass(frozen=True)
class Line:
    """One number of one row of the paper's table.

    Attributes
    ----------
    row, quantity, unit : str
        Such as Wine1, EP - QP in NTLL, nats.
    effect, sd : float
        In the unit; sd over seeds where there are seeds.
    sample, general : Inference
        On this sample, and generalising.
    n, n_folds : int
        Independent units behind ``sample`` (seeds, test points, ...), folds behind ``general``.
    p_sign, p_signed_rank : float
        Over seeds.
    note : str
    """

    row: str
    quantity: str
    unit: str
    effect: float = math.nan
    sd: float = math.nan
    sample: Inference = field(default_factory=Inference)
    general: Inference = field(default_factory=Inference)
    n: int = 0
    n_folds: int = 0
    p_sign: float = math.nan
    p_signed_rank: float = math.nan
    note: str = ""


@dataclass(frozen=True)
class Block:
    """One way of testing a claim under one protocol.

    Attributes
    ----------
    name : str
        Such as "EP as reported".
    test : str
        The test behind the statuses.
    lines : tuple of Line
        Lines of one row are judged together: the row is yes if all its lines are.
    support : callable
        Effect -> number that is smallest where the claim is worst off.
    remark : str
        What else a reader has to know; the reason where nothing could be tested.
    """

    name: str
    test: str
    lines: tuple[Line, ...]
    support: Callable[[float], float]
    remark: str = ""

    def rows(self, general: bool = False) -> dict[str, str]:
        """Row -> status, without the rows that are shown only."""
        found: dict[str, list[str]] = {}
        for line in self.lines:
            status = (line.general if general else line.sample).status
            if line.sample.status != SHOWN:
                found.setdefault(line.row, []).append(status)
        return {row: min(part, key=_STRONGEST.index) for row, part in found.items()}

    @property
    def verdict(self) -> str:
        """On this sample."""
        return verdict(self.rows().values())

    @property
    def general_verdict(self) -> str:
        """Generalising; not testable where the claim is not about scores."""
        return verdict(self.rows(general=True).values())

    @property
    def has_general(self) -> bool:
        """Whether any line has a generalising estimate."""
        return any(not math.isnan(line.general.low) for line in self.lines)

    @property
    def decisive(self) -> Line | None:
        """The line on which the claim is worst off; None without data."""
        tested = [line for line in self.lines if line.sample.status not in (SHOWN, MISSING)]
        order = (NO, UNDECIDED, YES)
        return min(tested, key=lambda x: (order.index(x.sample.status), self.support(x.effect)), default=None)


@dataclass(frozen=True)
class Finding:
    """A claim under a protocol: the first block decides, the others are shown beside it."""

    id: str
    protocol: str
    blocks: tuple[Block, ...]

    @property
    def verdict(self) -> str:
        return self.blocks[0].verdict
