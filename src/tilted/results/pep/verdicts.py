"""The Power-EP paper's chapter of the audit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilted.results import stamps, studies
from tilted.results.audit.text import Chapter
from tilted.results.audit.verdicts import Block, Finding
from tilted.results.pep import claims, limits, mnist_claims, scores, words
from tilted.results.pep.published import Printed

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "as-described"
"""The text is all there is; what it leaves open is in docs/pep.md."""

Judge = Callable[["pd.DataFrame", Sequence[Printed], "pd.DataFrame | None"], "list[Block]"]

CLAIMS: dict[str, Judge] = {
    "PEP1": lambda fits, printed, found: claims.approaches_full(fits),
    "PEP2": lambda fits, printed, found: claims.overestimates(fits),
    "PEP3": lambda fits, printed, found: claims.intermediate_best(fits),
    "PEP4": lambda fits, printed, found: claims.won(fits, printed, "PEP4"),
    "PEP5": lambda fits, printed, found: claims.won(fits, printed, "PEP5"),
    "PEP6": lambda fits, printed, found: claims.ranked(fits),
    "PEP8": lambda fits, printed, found: limits.recovered(found),
}

DIGITS = "PEP11"


def chapter(
    frame: pd.DataFrame,
    printed: Sequence[Printed],
    found: pd.DataFrame | None,
    digits: pd.DataFrame | None = None,
) -> Chapter:
    """Every claim about regression, and about the digits.

    Parameters
    ----------
    frame : pandas.DataFrame
        Compact records, in any order.
    printed : sequence of Printed
        `published.read`.
    found : pandas.DataFrame or None
        The study of limits (`studies.LIMITS`), if it was made.
    digits : pandas.DataFrame or None
        The record of the digits (`studies.DIGITS`), if there is one.
    """
    fits = scores.compared(frame)
    findings = [Finding(name, PROTOCOL, tuple(judge(fits, printed, found))) for name, judge in CLAIMS.items()]
    findings.append(Finding(DIGITS, PROTOCOL, tuple(mnist_claims.minibatches(digits))))
    notes = {
        "PEP8": stamps.note(studies.made(studies.LIMITS, found)),
        DIGITS: stamps.note(studies.made(studies.DIGITS, digits)),
    }
    return Chapter(words.HEADING, findings, words.TITLES, words.MEANINGS, words.LEGEND, notes)
