"""Verdicts on claims, from the statuses of their rows.

Each row of a claim is ``yes`` (the numbers show what the claim says), ``no`` (they show the contrary),
``undecided`` (they show neither) or ``no data``. The verdict is the first of these that is true:

================ ======================================================================================
not testable     no data could decide, for the reason that the block gives
too few runs     below the least that may decide (``coverage`` of the claim), or no row has data
does not hold    a universal claim ("always", "never", "every") with one row no, where part of a claim is
                 one a row of that part; any other with no on at least half of its rows
holds            every row is yes
holds in part    more than half of the rows are yes
undecided        otherwise
================ ======================================================================================

Rows without data are rows: they are neither yes nor no.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from papers.core import claims

YES, NO, UNDECIDED, MISSING, SHOWN = "yes", "no", "undecided", "no data", "shown only"
HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
TOO_FEW, UNTESTABLE = "too few runs", "not testable"
VERDICTS = (HOLDS, IN_PART, UNDECIDED, FAILS, TOO_FEW, UNTESTABLE)
STRONGEST = (NO, MISSING, UNDECIDED, YES)


def verdict(statuses: Iterable[str], universal: bool = False) -> str:
    """Return the verdict on a claim from the statuses of its rows, of which there are enough."""
    rows = list(statuses)
    yes, no = rows.count(YES), rows.count(NO)
    if rows.count(MISSING) == len(rows):
        return TOO_FEW
    if no and (universal or 2 * no >= len(rows)):
        return FAILS
    if yes == len(rows):
        return HOLDS
    return IN_PART if 2 * yes > len(rows) else UNDECIDED


@dataclass(frozen=True)
class Inference:
    """The result of one estimand on an effect; NaN where there is none.

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
    """One number in one row of the paper's table.

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
    remark : str
        Further information for a reader; the reason if nothing was run.
    covered : mapping
        Counts of data other than ``rows`` and ``units`` (`coverage`), such as ``sets``.
    untestable : str
        Reason that no data could decide; empty if some could.
    universal : bool or str
        One row that is no decides; if text, a row whose name contains it. Set by `finding`.
    needs : mapping
        The least that may decide; set by `finding`.
    best : float
        The effect most favourable to the claim; distance from it (of ratios in logarithms) is unfavourable.
    """

    name: str
    test: str
    lines: tuple[Line, ...]
    remark: str = ""
    covered: Mapping[str, int] = field(default_factory=dict)
    untestable: str = ""
    universal: bool | str = False
    needs: Mapping[str, int] = field(default_factory=dict)
    best: float = math.inf

    def rows(self, general: bool = False) -> dict[str, str]:
        """Return row -> status, without the rows for display only."""
        statuses: dict[str, list[str]] = {}
        for line in self.lines:
            status = (line.general if general else line.sample).status
            if line.sample.status != SHOWN:
                statuses.setdefault(line.row, []).append(status)
        return {row: min(several, key=STRONGEST.index) for row, several in statuses.items()}

    @property
    def coverage(self) -> dict[str, int]:
        """Return the amount of data: ``rows`` with data, the fewest ``units`` behind a row, and `covered`."""
        with_data = [line for line in self.lines if line.sample.status not in (SHOWN, MISSING)]
        rows = sum(status != MISSING for status in self.rows().values())
        return {"rows": rows, "units": min((line.n for line in with_data), default=0), **self.covered}

    @property
    def lacking(self) -> dict[str, tuple[int, int]]:
        """Return the counts below the least that may decide: name -> (number run, number needed)."""
        run = self.coverage
        return {name: (run.get(name, 0), n) for name, n in self.needs.items() if run.get(name, 0) < n}

    @property
    def verdict(self) -> str:
        """Return the verdict on this sample."""
        return self._verdict(general=False)

    @property
    def general_verdict(self) -> str:
        """Return the generalising verdict; too few runs where no line has such an estimate."""
        return self._verdict(general=True)

    def _verdict(self, general: bool) -> str:
        if self.untestable:
            return UNTESTABLE
        rows = self.rows(general)
        return TOO_FEW if self.lacking else verdict(rows.values(), self.is_universal(rows))

    def is_universal(self, rows: Mapping[str, str]) -> bool:
        """Return True if a single one of these rows (name -> status) that is no decides."""
        if isinstance(self.universal, bool):
            return self.universal
        return any(status == NO and self.universal in row for row, status in rows.items())

    @property
    def has_general(self) -> bool:
        """Return True if any line has a generalising estimate."""
        return any(not math.isnan(line.general.low) for line in self.lines)

    @property
    def decisive(self) -> Line | None:
        """Return the line that is least favourable to the claim; None without data."""
        tested = [line for line in self.lines if line.sample.status not in (SHOWN, MISSING)]
        order = (NO, UNDECIDED, YES)
        return min(tested, key=lambda x: (order.index(x.sample.status), self._merit(x)), default=None)

    def _merit(self, line: Line) -> float:
        """Return a number that is smallest where the claim is least favoured."""
        if math.isinf(self.best):
            return line.effect if self.best > 0 else -line.effect
        return -abs(math.log(line.effect / self.best) if line.unit == "factor" else line.effect - self.best)


@dataclass(frozen=True)
class Finding:
    """A claim under a protocol: the first block decides, the others are for display (`finding`)."""

    id: str
    protocol: str
    blocks: tuple[Block, ...]

    @property
    def verdict(self) -> str:
        return self.blocks[0].verdict


def finding(name: str, protocol: str, blocks: Sequence[Block]) -> Finding:
    """Judge a claim under a protocol by its rule in ``claims.yaml``.

    The least that may decide is asked of the first block, which decides; that one row may is true of all.
    """
    claim = claims.load()[name]
    ruled = [replace(block, universal=claim.universal) for block in blocks]
    ruled[0] = replace(ruled[0], needs=claim.needs(protocol))
    return Finding(name, protocol, tuple(ruled))
