"""The Power-EP paper's chapter of the audit: every claim, by whom it is judged, under which protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from papers.data.classification import RELEASED
from papers.evidence.audit import Chapter
from papers.evidence.study import Study
from papers.evidence.verdicts import Block, finding
from papers.pep import banana, contests, dense, digits_results, limits, synthetic
from papers.pep.contests import Published
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = "as-described"
"""The text is all there is; what it leaves open is in docs/pep.md. The study of dense EP is `RELEASED`, and
classifications where none were run."""

HEADING = "Which claims of the Power-EP paper hold"
LEGEND = """\
Effects on SMSE are differences of its logarithm; the smallest effects that matter are 10^-3 nats (SMLL,
NLL, NLML a point), 0.1 % (SMSE), 0.1 of a rank and 5 percentage points of a share."""


class Evidence(NamedTuple):
    """What claims are judged by.

    Attributes
    ----------
    fits : pandas.DataFrame
        Compared regressions.
    published : Published
    classes : mapping
        Protocol -> compared classifications.
    frames : mapping
        Study -> its lines, or None where it was not made.
    notes : mapping
        Study -> lines that say what made it.
    """

    fits: pd.DataFrame
    published: Published
    classes: Mapping[str, pd.DataFrame]
    frames: Mapping[Study, pd.DataFrame | None]
    notes: Mapping[Study, Sequence[str]]


def _by_protocol(evidence: Evidence) -> dict[str, list[Block]]:
    """PEP7, under every protocol of classifications."""
    classes = evidence.classes or {RELEASED: CLASSIFICATION.frame()}
    return {
        protocol: contests.no_winner(fits, evidence.published, "PEP7") for protocol, fits in classes.items()
    }


CLAIMS: dict[str, Callable[[Evidence], dict[str, list[Block]]]] = {
    "PEP1": lambda e: {PROTOCOL: synthetic.approaches_full(e.fits)},
    "PEP2": lambda e: {PROTOCOL: synthetic.overestimates(e.fits)},
    "PEP3": lambda e: {PROTOCOL: synthetic.intermediate_best(e.fits)},
    "PEP4": lambda e: {PROTOCOL: contests.won(e.fits, e.published, "PEP4")},
    "PEP5": lambda e: {PROTOCOL: contests.won(e.fits, e.published, "PEP5")},
    "PEP6": lambda e: {PROTOCOL: contests.ranked(e.fits)},
    "PEP7": _by_protocol,
    "PEP8": lambda e: {PROTOCOL: limits.recovered(e.frames[LIMITS])},
    "PEP9": lambda e: {RELEASED: dense.equal(e.frames[DENSE])},
    "PEP10": lambda e: {PROTOCOL: banana.moved(e.frames[BANANA])},
    "PEP11": lambda e: {PROTOCOL: digits_results.minibatches(e.frames[DIGITS])},
}
"""Claim -> evidence to its blocks, by protocol."""

STUDIED = {"PEP8": LIMITS, "PEP9": DENSE, "PEP10": BANANA, "PEP11": DIGITS}
"""Claim -> the study behind it."""


def chapter(evidence: Evidence) -> Chapter:
    """Every claim."""
    findings = [
        finding(name, protocol, blocks)
        for name, judge in CLAIMS.items()
        for protocol, blocks in judge(evidence).items()
    ]
    notes = {name: evidence.notes.get(study, ()) for name, study in STUDIED.items()}
    return Chapter(HEADING, findings, LEGEND, notes)
