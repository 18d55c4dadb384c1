"""The Power-EP paper's chapter of the audit: every claim, its judge and its protocols."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from papers.core.audit import Chapter
from papers.core.study import Study
from papers.core.verdicts import Block, Finding, finding
from papers.data.classification import RELEASED
from papers.pep import banana, dense, limits
from papers.pep.claims import contests, synthetic
from papers.pep.claims.contests import Published
from papers.pep.digits import results as digits_results
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS, REGRESSION
from papers.pep.regression import CONVERGED, DESCRIBED

if TYPE_CHECKING:
    import pandas as pd

PROTOCOL = DESCRIBED
"""The paper's text is the only source; docs/paper-power-ep.md lists its gaps. The study of dense EP is
`RELEASED`, and classifications where none were run."""

HEADING = "Which claims of the Power-EP paper hold"
LEGEND = """\
`as-described` follows the text and ends searches at its limit of evaluations; `converged` continues them. No
experiment of the released code was replayed. In classification `as-released` has the data sets by the
paper's counts and at most 1000 evaluations, `corrected` the data sets as they are and searches that converge
(docs/paper-power-ep.md). Effects on SMSE are differences of its logarithm. The smallest effects that matter
are 10^-3 nats (SMLL, NLL, NLML a point), 0.1 % (SMSE), 0.1 of a rank and 5 percentage points of a share."""


class Evidence(NamedTuple):
    """The data by which claims are judged.

    Attributes
    ----------
    regressions, classes : mapping
        Protocol -> compared regressions, classifications.
    published : Published
    frames : mapping
        Study -> its rows, or None if it was not run.
    notes : mapping
        Study -> lines of text about its origin.
    """

    regressions: Mapping[str, pd.DataFrame]
    classes: Mapping[str, pd.DataFrame]
    published: Published
    frames: Mapping[Study, pd.DataFrame | None]
    notes: Mapping[Study, Sequence[str]]


Blocks = dict[str, list[Block]]
"""By protocol."""


def _regressions(evidence: Evidence, judge: Callable[[pd.DataFrame], list[Block]]) -> Blocks:
    """Judge a claim under every protocol of regressions that was run."""
    frames = evidence.regressions or {PROTOCOL: REGRESSION.frame()}
    return {protocol: judge(fits) for protocol, fits in frames.items()}


def _contest(claim: str) -> Callable[[Evidence], Blocks]:
    def judge(evidence: Evidence) -> Blocks:
        blocks = _regressions(evidence, lambda fits: contests.won(fits, evidence.published, claim))
        if {DESCRIBED, CONVERGED} <= set(blocks):
            fits, described_fits = (evidence.regressions[name] for name in (CONVERGED, DESCRIBED))
            blocks[CONVERGED].append(
                contests.by_either_search(fits, described_fits, evidence.published, claim)
            )
        return blocks

    return judge


def _classes(evidence: Evidence) -> Blocks:
    """Judge PEP7 under every protocol of classifications that was run."""
    frames = evidence.classes or {RELEASED: CLASSIFICATION.frame()}
    return {name: contests.no_winner(fits, evidence.published, "PEP7") for name, fits in frames.items()}


CLAIMS: dict[str, Callable[[Evidence], Blocks]] = {
    "PEP1": lambda e: _regressions(e, synthetic.approaches_full),
    "PEP2": lambda e: _regressions(e, synthetic.overestimates),
    "PEP3": lambda e: _regressions(e, synthetic.intermediate_best),
    "PEP4": _contest("PEP4"),
    "PEP5": _contest("PEP5"),
    "PEP6": lambda e: _regressions(e, contests.ranked),
    "PEP7": _classes,
    "PEP8": lambda e: {PROTOCOL: limits.recovered(e.frames[LIMITS])},
    "PEP9": lambda e: {RELEASED: dense.equal(e.frames[DENSE])},
    "PEP10": lambda e: {PROTOCOL: banana.moved(e.frames[BANANA])},
    "PEP11": lambda e: {PROTOCOL: digits_results.minibatches(e.frames[DIGITS])},
}
"""Claim -> evidence to its blocks."""

STUDIED = {"PEP8": LIMITS, "PEP9": DENSE, "PEP10": BANANA, "PEP11": DIGITS}
"""Claim -> the study behind it."""


def judge(evidence: Evidence, names: Collection[str] = tuple(CLAIMS)) -> list[Finding]:
    """Return the findings on some claims, by default on all."""
    return [
        finding(name, protocol, blocks)
        for name, of_claim in CLAIMS.items()
        if name in names
        for protocol, blocks in of_claim(evidence).items()
    ]


def chapter(evidence: Evidence) -> Chapter:
    """Return the chapter with every claim."""
    notes = {name: evidence.notes.get(study, ()) for name, study in STUDIED.items()}
    return Chapter(HEADING, judge(evidence), LEGEND, notes)
