"""The Power-EP paper's chapter of the audit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tilted.results import stamps, studies
from tilted.results.audit.text import Chapter
from tilted.results.audit.verdicts import Block, Finding
from tilted.results.pep import claims, dense, limits, mnist_claims, pseudo_points, words
from tilted.results.pep.published import Printed

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
        Study -> its table, or None where it was not made.
    """

    fits: pd.DataFrame
    printed: Sequence[Printed]
    classes: Mapping[str, pd.DataFrame]
    found: Mapping[str, pd.DataFrame | None]


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
    "PEP8": lambda e: {PROTOCOL: limits.recovered(e.found[studies.LIMITS])},
    "PEP9": lambda e: {RELEASED: dense.equal(e.found[studies.DENSE])},
    "PEP10": lambda e: {PROTOCOL: pseudo_points.moved(e.found[studies.BANANA])},
    "PEP11": lambda e: {PROTOCOL: mnist_claims.minibatches(e.found[studies.DIGITS])},
}
STUDIED = {
    "PEP8": studies.LIMITS,
    "PEP9": studies.DENSE,
    "PEP10": studies.BANANA,
    "PEP11": studies.DIGITS,
}
"""Claim -> the study behind it."""


def chapter(evidence: Evidence) -> Chapter:
    """Every claim."""
    findings = [
        Finding(name, protocol, tuple(blocks))
        for name, judge in CLAIMS.items()
        for protocol, blocks in judge(evidence).items()
    ]
    notes = {name: stamps.note(studies.made(of, evidence.found[of])) for name, of in STUDIED.items()}
    return Chapter(words.HEADING, findings, words.TITLES, words.MEANINGS, words.LEGEND, notes)
