"""The Power-EP paper's chapter of the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence.audit import Chapter
from papers.evidence.study import Study
from papers.evidence.verdicts import Block, finding
from papers.pep import banana, claims, dense, digits_results, limits, words
from papers.pep.published import Printed
from papers.pep.records import BANANA, DENSE, DIGITS, LIMITS

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "as-described"
"""The text is all there is; what it leaves open is in docs/pep.md."""

RELEASED = "as-released"
"""Of the study of dense EP, and of classifications where none were run."""


class Evidence(NamedTuple):
    """What claims are judged by.

    Attributes
    ----------
    fits : pandas.DataFrame
        Compared regressions.
    printed : sequence of Printed
    classes : mapping
        Protocol -> compared classifications.
    found : mapping
        Study -> its lines, or None where it was not made.
    notes : mapping
        Study -> lines that say what made it.
    """

    fits: pd.DataFrame
    printed: Sequence[Printed]
    classes: Mapping[str, pd.DataFrame]
    found: Mapping[Study, pd.DataFrame | None]
    notes: Mapping[Study, Sequence[str]]


Judge = Callable[[Evidence], "dict[str, list[Block]]"]
"""What a claim is judged by -> protocol -> blocks."""

CLAIMS: dict[str, Judge] = {
    "PEP1": lambda e: {PROTOCOL: claims.approaches_full(e.fits)},
    "PEP2": lambda e: {PROTOCOL: claims.overestimates(e.fits)},
    "PEP3": lambda e: {PROTOCOL: claims.intermediate_best(e.fits)},
    "PEP4": lambda e: {PROTOCOL: claims.won(e.fits, e.printed, "PEP4")},
    "PEP5": lambda e: {PROTOCOL: claims.won(e.fits, e.printed, "PEP5")},
    "PEP6": lambda e: {PROTOCOL: claims.ranked(e.fits)},
    "PEP7": lambda e: {
        protocol: claims.no_winner(fits, e.printed, "PEP7")
        for protocol, fits in (e.classes or {RELEASED: None}).items()
    },
    "PEP8": lambda e: {PROTOCOL: limits.recovered(e.found[LIMITS])},
    "PEP9": lambda e: {RELEASED: dense.equal(e.found[DENSE])},
    "PEP10": lambda e: {PROTOCOL: banana.moved(e.found[BANANA])},
    "PEP11": lambda e: {PROTOCOL: digits_results.minibatches(e.found[DIGITS])},
}
STUDIED = {
    "PEP8": LIMITS,
    "PEP9": DENSE,
    "PEP10": BANANA,
    "PEP11": DIGITS,
}
"""Claim -> the study behind it."""


def chapter(evidence: Evidence) -> Chapter:
    """Every claim."""
    findings = [
        finding(name, protocol, blocks)
        for name, judge in CLAIMS.items()
        for protocol, blocks in judge(evidence).items()
    ]
    notes = {name: evidence.notes.get(study, ()) for name, study in STUDIED.items()}
    return Chapter(words.HEADING, findings, words.LEGEND, notes)
