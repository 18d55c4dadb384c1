"""The comparisons of the audit, read by a Bayesian test across rows: ``bayesian.md`` and its CSV.

The audit asks of each row whether its difference is shown, and counts rows. The Bayesian signed-rank test
[Benavoli, Corani, Demšar, Zaffalon and Ruggeri 2014; *baycomp*] takes the rows as draws of data sets of this
kind, and says how probable it is that the difference lies mostly below, within or above a region of practical
equivalence: that of the audit's margin. It uses the effect of a row and not its spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import claims
from papers.evidence.grid import grid
from papers.evidence.store import write_csv, write_text
from papers.evidence.verdicts import FAILS, HOLDS, IN_PART, MISSING, NO, SHOWN, UNDECIDED, YES, verdict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from papers.evidence.audit import Chapter
    from papers.evidence.verdicts import Block, Finding, Line

FEWEST_ROWS = 5
"""With fewer rows the prior, half a row without a difference, would weigh more than a tenth."""
DRAWS, SEED = 10_000, 0
SURE = 0.95
SUPPORTING = {
    "similar": (False, True, False),
    "higher": (False, False, True),
    "noticeably_higher": (False, False, True),
    "not_lower": (False, True, True),
}
"""Rule of a line -> whether an effect below, within or above the region says what the claim says."""
READ = {HOLDS: YES, IN_PART: YES, FAILS: NO, UNDECIDED: UNDECIDED}
"""Verdict of the audit -> what it says of the claim across rows; others say nothing."""

TEXT = """\
# The same comparisons, read by a Bayesian test across rows

The [audit](audit.md) asks of each row whether a difference is shown, and counts rows. Here the rows of a
comparison are draws of data sets of this kind, and the Bayesian signed-rank test (Benavoli, Corani, Demšar,
Zaffalon and Ruggeri, ICML 2014; the library baycomp) says how probable it is that the difference lies
mostly below, within or above a region of practical equivalence, which is ± the margin of the audit. For the
claim where that is at least 95 % probable, against it where its contrary is, undecided otherwise.
Comparisons of fewer than five rows, those whose rows are no data sets, and those that the audit does not
judge by an effect and its margin (shares and counts of folds or points, times, the distance to the exact
posterior: QP3, QP5, QP8, QP10, OURS1 to OURS3) are left out: the test's prior is half a row. Of the QP
paper's ten rows three are the pairs of classes of one data set, Wine, and count as three. It uses the effect
of a row and not how certain that is, and knows no claims that say "every"; the audit does both. Both are
about the rows that were run. "Audit" is the audit's step from rows
to a verdict, on these lines alone; where that is "holds in part" it is read as for the claim."""


class Reading(NamedTuple):
    """A comparison by both readings: effects of ``rows`` rows, probabilities that they lie mostly where."""

    id: str
    protocol: str
    comparison: str
    rows: int
    margin: float
    below: float
    within: float
    above: float
    bayesian: str
    audit: str


def probabilities(effects: ArrayLike, margin: float) -> tuple[float, float, float]:
    """How probable it is that effects lie mostly below, within or above ± a margin.

    Parameters
    ----------
    effects : array [R]
        Mean difference of each row.
    margin : float
        Positive.
    """
    import baycomp

    values = np.asarray(effects, dtype=float)
    shares = baycomp.SignedRankTest.sample(
        np.zeros_like(values), values, rope=margin, nsamples=DRAWS, random_state=SEED
    )
    most = np.bincount(np.argmax(shares, axis=1), minlength=3) / DRAWS
    return float(most[0]), float(most[1]), float(most[2])


def readings(findings: Iterable[Finding]) -> list[Reading]:
    """Every comparison of enough rows by both readings."""
    return [
        _read(finding, block, lines)
        for finding in findings
        if claims.load()[finding.id].over_sets
        for block in finding.blocks
        for lines in _comparisons(block)
    ]


def write(chapters: Sequence[Chapter], folder: Path) -> list[Path]:
    """Write ``bayesian.csv`` and ``bayesian.md``."""
    import pandas as pd

    every = readings(finding for chapter in chapters for finding in chapter.findings)
    frame = pd.DataFrame(every, columns=Reading._fields)
    return [
        write_csv(folder / "bayesian.csv", frame),
        write_text(folder / "bayesian.md", markdown(every)),
    ]


def markdown(every: Sequence[Reading]) -> str:
    """The page: where the two readings differ, then all of them."""
    differ = [
        reading for reading in every if reading.audit in READ and reading.bayesian != READ[reading.audit]
    ]
    heading = f"## Where the two readings differ: {len(differ)} of {len(every)} comparisons"
    return "\n".join(
        [TEXT, "", heading, "", *_table(differ), "", "## All comparisons", "", *_table(every), ""]
    )


def _comparisons(block: Block) -> list[list[Line]]:
    """Lines of a block that decide rows, by what they compare."""
    by_quantity: dict[str, list[Line]] = {}
    for line in block.lines:
        if line.says in SUPPORTING and line.sample.status not in (SHOWN, MISSING):
            by_quantity.setdefault(line.quantity, []).append(line)
    return [lines for lines in by_quantity.values() if len(lines) >= FEWEST_ROWS]


def _read(finding: Finding, block: Block, lines: Sequence[Line]) -> Reading:
    judged = (
        block.verdict
        if block.lacking or block.untestable
        else verdict(
            (line.sample.status for line in lines),
            block.is_universal({line.row: line.sample.status for line in lines}),
        )
    )
    (margin,) = {line.margin for line in lines}
    regions = probabilities([_difference(line) for line in lines], margin)
    supporting = sum(p for p, counts in zip(regions, SUPPORTING[lines[0].says], strict=True) if counts)
    status = YES if supporting >= SURE else NO if supporting <= 1.0 - SURE else UNDECIDED
    name = f"{block.name}: {lines[0].quantity}"
    where = finding.id, finding.protocol, name
    return Reading(*where, len(lines), margin, *regions, status, judged)


def _difference(line: Line) -> float:
    """What was compared with the margin: of a ratio its logarithm."""
    return math.log(line.effect) if line.unit == "factor" else line.effect - line.offset


def _table(every: Sequence[Reading]) -> list[str]:
    if not every:
        return ["None."]
    header = ("Claim", "Protocol", "Comparison", "Rows", "±", "Below", "Within", "Above", "Bayesian", "Audit")
    cells = []
    for x in every:
        shares = map(_share, (x.below, x.within, x.above))
        cells.append(
            (x.id, x.protocol, x.comparison, f"{x.rows}", f"{x.margin:g}", *shares, x.bayesian, x.audit)
        )
    return grid(header, "lllrrrrrll", cells)


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{100 * value:.1f} %"
