"""The artifacts of the Power-EP paper: figures, tables and claims, and the rows that each needs.

Without a record there are no artifacts of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import provenance, records
from papers.core.audit import Chapter, Written
from papers.core.slices import Slice
from papers.core.verdicts import Block, Line, finding
from papers.data.classification import RELEASED
from papers.pep import banana, dense, digits, figures, limits, published, regression, scores, tables, toy
from papers.pep.claims import contests, synthetic
from papers.pep.published import Published
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS, MAP, REGRESSION, STUDIES, TOY
from papers.pep.regression import DESCRIBED, SYNTHETIC

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Finding
    from papers.pep.looks import Figure

COMPARED = {REGRESSION: tables.REGRESSION, CLASSIFICATION: tables.CLASSIFICATION}
"""Study of compared fits -> the `tables.About` of its pages."""

FIGURES: dict[tuple[Study, ...], Mapping[str, Figure]] = {
    (REGRESSION,): figures.REGRESSION,
    (CLASSIFICATION,): figures.CLASSIFICATION,
    (TOY,): toy.FIGURES,
    (BANANA, MAP): banana.FIGURES,
    (DENSE,): dense.FIGURES,
    (DIGITS,): digits.FIGURES,
}
"""Studies -> the figures that are drawn from their rows. Those of `COMPARED` are drawn for each protocol, in
a folder of its own unless it is the first."""

CAPTIONS = {name: figure.caption for group in FIGURES.values() for name, figure in group.items()}

PLAIN = {"start": (regression.DEFAULT,)}
"""Fits from other starts decide nothing."""

HEADING = "Which claims of the Power-EP paper hold"
LEGEND = """\
`as-described` follows the text and ends searches at its limit of evaluations; `converged` continues them. No
experiment of the released code was replayed. In classification `as-released` has the data sets by the
paper's counts and at most 1000 evaluations, `corrected` the data sets as they are and searches that converge
(docs/paper-power-ep.md). Effects on SMSE are differences of its logarithm. The smallest effects that matter
are 10^-3 nats (SMLL, NLL, NLML a point), 0.1 % (SMSE), 0.1 of a rank and 5 percentage points of a share."""


class Evidence(NamedTuple):
    """The data behind the artifacts.

    Attributes
    ----------
    frames : mapping
        Study that was run -> its rows.
    fits : mapping
        Study of `COMPARED` -> protocol that was run -> fits to compare.
    published : Published
    """

    frames: Mapping[Study, pd.DataFrame]
    fits: Mapping[Study, Mapping[str, pd.DataFrame]]
    published: Published


def read(
    folder: Path, published_folder: Path | None = None, studies: Collection[Study] = STUDIES
) -> Evidence:
    """Read the records of some studies, and the printed numbers where they are needed."""
    found = {study: records.find(study, folder) for study in studies}
    frames = {study: frame for study, frame in found.items() if frame is not None}
    fits: dict[Study, dict[str, pd.DataFrame]] = {study: {} for study in COMPARED}
    for study in frames.keys() & COMPARED.keys():
        by_protocol = {name: scores.compared(frames[study], name) for name in COMPARED[study].protocols}
        fits[study] = {name: fits for name, fits in by_protocol.items() if len(fits)}
    printed = published.read(published_folder) if published_folder else Published([], [])
    return Evidence(frames, fits, printed)


def write(folder: Path, tables_folder: Path, figures_folder: Path, published_folder: Path) -> Written:
    """Write tables and figures of the available records.

    Parameters
    ----------
    folder : Path
        Root folder of the records of all papers.
    tables_folder, figures_folder, published_folder : Path
        The last holds the printed numbers (`published`).
    """
    evidence = read(folder, published_folder)
    frames = evidence.frames
    if not frames:
        return Written([], [])
    notes, warnings = provenance.of(frames, folder)
    for study, by_protocol in evidence.fits.items():
        about = COMPARED[study]
        for protocol, fits in by_protocol.items():
            rows = frames[study][frames[study]["protocol"] == protocol]
            origin = provenance.note(provenance.groups(study, folder, rows))
            has_toy = study == REGRESSION and protocol == DESCRIBED and TOY in frames
            section = toy.section(frames[TOY], notes[TOY]) if has_toy else []
            shares = evidence.published.shares
            tables.write(fits, shares, tables_folder, origin, about.under(protocol), section)
    if DIGITS in frames:
        digits.write(frames[DIGITS], notes[DIGITS], tables_folder)
    if any(evidence.fits.values()):
        tables.write_data_sets(tables_folder, published_folder)
    draw_all(evidence, figures_folder)
    origins = {
        name: notes.get(rows.study, []) for name, (rows, *_) in JUDGED.items() if rows.study not in COMPARED
    }
    return Written([Chapter(HEADING, judge(evidence), LEGEND, origins)], warnings)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, under every protocol that was run."""
    studies = [rows.study for rows in figure(name)]
    draw_all(read(folder, studies=studies), figures_folder, [name])


def draw_all(evidence: Evidence, figures_folder: Path, names: Collection[str] = tuple(CAPTIONS)) -> None:
    """Draw figures, by default all, for which there are records."""
    for studies, group in FIGURES.items():
        if not evidence.frames.keys() >= set(studies):
            continue
        folders = {"": [evidence.frames[study] for study in studies]}
        if studies[0] in COMPARED:
            plain = COMPARED[studies[0]].protocols[0]
            folders = {"" if p == plain else p: [fits] for p, fits in evidence.fits[studies[0]].items()}
        for name in [name for name in group if name in names]:
            for below, drawn in folders.items():
                group[name].draw(*drawn, Path(figures_folder, "pep", below, name))


# Claims


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing."""
    return judge(read(folder, published_folder), names)


def judge(evidence: Evidence, names: Collection[str] | None = None) -> list[Finding]:
    """Return the findings on some claims, by default on all, under every protocol that was run."""
    judged = []
    for name, (rows, protocol, blocks_of) in JUDGED.items():
        if names is not None and name not in names:
            continue
        study = rows.study
        frames = {protocol: evidence.frames[study]} if study in evidence.frames else {}
        frames = dict(evidence.fits.get(study, frames))
        judged += [finding(name, under, blocks_of(frame, evidence)) for under, frame in frames.items()]
        if not frames:
            block = Block("not run", "", (Line("every row", "", ""),), f"needs {study.file}", best=-math.inf)
            judged.append(finding(name, protocol, [block]))
    return judged


def _contest(claim: str) -> Callable[[pd.DataFrame, Evidence], list[Block]]:
    """Return the function that judges shares won, and compares those of both searches."""

    def judged(fits: pd.DataFrame, evidence: Evidence) -> list[Block]:
        described = evidence.fits[REGRESSION].get(DESCRIBED)
        return contests.won(fits, evidence.published, claim, None if described is fits else described)

    return judged


_SYNTHETIC = Slice(REGRESSION, {"dataset": (SYNTHETIC,), **PLAIN})
_UCI = Slice(REGRESSION, {"dataset": tuple(x for x in regression.datasets() if x != SYNTHETIC), **PLAIN})
JUDGED: dict[str, tuple[Slice, str, Callable[[pd.DataFrame, Evidence], list[Block]]]] = {
    "PEP1": (_SYNTHETIC, DESCRIBED, lambda fits, _: synthetic.approaches_full(fits)),
    "PEP2": (_SYNTHETIC, DESCRIBED, lambda fits, _: synthetic.overestimates(fits)),
    "PEP3": (_SYNTHETIC, DESCRIBED, lambda fits, _: synthetic.intermediate_best(fits)),
    "PEP4": (_UCI, DESCRIBED, _contest("PEP4")),
    "PEP5": (_UCI, DESCRIBED, _contest("PEP5")),
    "PEP6": (_UCI, DESCRIBED, lambda fits, _: contests.ranked(fits)),
    "PEP7": (Slice(CLASSIFICATION), RELEASED, lambda fits, e: contests.no_winner(fits, e.published, "PEP7")),
    "PEP8": (Slice(LIMITS), DESCRIBED, lambda frame, _: limits.recovered(frame)),
    "PEP9": (Slice(DENSE), RELEASED, lambda frame, _: dense.equal(frame)),
    "PEP10": (Slice(BANANA), DESCRIBED, lambda frame, _: banana.moved(frame)),
    "PEP11": (Slice(DIGITS), DESCRIBED, lambda frame, _: digits.minibatches(frame)),
}
"""Claim -> the rows that it needs, the protocol where its study has none, and the function that judges it.
The paper's text is the only source; docs/paper-power-ep.md lists its gaps."""

CLAIMS = {name: (rows,) for name, (rows, _, _) in JUDGED.items()}
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs."""
    studies = next(studies for studies, group in FIGURES.items() if name in group)
    return tuple(Slice(study, PLAIN if study is REGRESSION else {}) for study in studies)
