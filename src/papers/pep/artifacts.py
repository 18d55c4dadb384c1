"""The artifacts of the Power-EP paper: figures, tables and claims, and the rows that each needs.

Without a record there are no artifacts of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import provenance, records
from papers.core.audit import Chapter, Written
from papers.core.slices import Slice
from papers.core.verdicts import finding
from papers.data.classification import PROTOCOLS, RELEASED
from papers.pep import banana, data_sets, dense, limits, published, regression, scores, tables, toy
from papers.pep.claims import contests, synthetic
from papers.pep.digits import results as digits_results
from papers.pep.figures import numbered
from papers.pep.made_up import SYNTHETIC
from papers.pep.published import Published
from papers.pep.records import BANANA, CLASSIFICATION, DENSE, DIGITS, LIMITS, MAP, REGRESSION, STUDIES, TOY
from papers.pep.regression import CONVERGED, DESCRIBED

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Block, Finding
    from papers.pep.figures import Figure

    Blocks = dict[str, list[Block]]
    """By protocol."""

COMPARED = {
    REGRESSION: (tables.REGRESSION, tuple(regression.SEARCHES)),
    CLASSIFICATION: (tables.CLASSIFICATION, PROTOCOLS),
}
"""Study of compared fits -> its `tables.About`, and its protocols."""

FIGURES: dict[tuple[Study, ...], Mapping[str, Figure]] = {
    (REGRESSION,): numbered.REGRESSION,
    (CLASSIFICATION,): numbered.CLASSIFICATION,
    (TOY,): toy.FIGURES,
    (BANANA, MAP): banana.FIGURES,
    (DENSE,): dense.FIGURES,
    (DIGITS,): digits_results.FIGURES,
}
"""Studies -> the figures that are drawn from their rows. Those of `COMPARED` are drawn for each protocol, in
a folder of its own unless it is `tables.About.plain`."""

CAPTIONS = {name: figure.caption for figures in FIGURES.values() for name, figure in figures.items()}

PLAIN = {"start": (regression.DEFAULT,)}
"""Fits from other starts decide nothing."""

UCI = tuple(name for name in regression.datasets() if name != SYNTHETIC)

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
        Study -> its rows, or None if it was not run.
    fits : mapping
        Study of `COMPARED` -> protocol that was run -> fits to compare.
    published : Published
    """

    frames: Mapping[Study, pd.DataFrame | None]
    fits: Mapping[Study, Mapping[str, pd.DataFrame]]
    published: Published


def read(
    folder: Path, published_folder: Path | None = None, studies: Collection[Study] = STUDIES
) -> Evidence:
    """Read the records of some studies, and the printed numbers where they are needed."""
    frames = {study: records.find(study, folder) for study in studies}
    fits: dict[Study, dict[str, pd.DataFrame]] = {study: {} for study in COMPARED}
    for study, (_, protocols) in COMPARED.items():
        for protocol in protocols:
            if len(rows := _of_protocol(frames.get(study), protocol)):
                fits[study][protocol] = scores.compared(rows, protocol)
    printed = published.read(published_folder) if published_folder else Published([], [])
    return Evidence(frames, fits, printed)


def _of_protocol(frame: pd.DataFrame | None, protocol: str) -> pd.DataFrame:
    """Return the rows of a protocol; none without a frame."""
    return REGRESSION.frame() if frame is None else frame[frame["protocol"] == protocol]


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
    frames, digits = evidence.frames, evidence.frames[DIGITS]
    if all(frame is None for frame in frames.values()):
        return Written([], [])
    notes, warnings = provenance.of(frames, folder)
    for study, by_protocol in evidence.fits.items():
        about = COMPARED[study][0]
        for protocol, fits in by_protocol.items():
            rows = _of_protocol(frames[study], protocol)
            origin = provenance.note(provenance.groups(study, folder, rows))
            exact = frames[TOY] if (study, protocol) == (REGRESSION, DESCRIBED) else None
            section = [] if exact is None else toy.section(exact, notes[TOY])
            printed = published.about(fits, evidence.published.shares)
            tables.write(fits, printed, tables_folder, origin, about.under(protocol), section)
    if digits is not None:
        digits_results.write(digits, notes[DIGITS], tables_folder)
    if any(evidence.fits.values()):
        data_sets.write(tables_folder, published_folder)
    draw_all(evidence, figures_folder)
    studies = {name: slices[0].study for name, slices in CLAIMS.items()}
    origins = {name: notes[study] for name, study in studies.items() if study not in COMPARED}
    return Written([Chapter(HEADING, judge(evidence), LEGEND, origins)], warnings)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, under every protocol that was run."""
    studies = [rows.study for rows in figure(name)]
    draw_all(read(folder, studies=studies), figures_folder, [name])


def draw_all(evidence: Evidence, figures_folder: Path, names: Collection[str] = tuple(CAPTIONS)) -> None:
    """Draw figures, by default all, for which there are records."""
    for studies, figures in FIGURES.items():
        rows = [evidence.frames.get(study) for study in studies]
        if any(frame is None for frame in rows):
            continue
        folders = {"": rows}
        if studies[0] in COMPARED:
            plain = COMPARED[studies[0]][0].plain
            folders = {"" if p == plain else p: [fits] for p, fits in evidence.fits[studies[0]].items()}
        for name in [name for name in figures if name in names]:
            for below, drawn in folders.items():
                figures[name].draw(*drawn, Path(figures_folder, "pep", below, name))


# Claims


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing."""
    return judge(read(folder, published_folder), names)


def judge(evidence: Evidence, names: Collection[str] | None = None) -> list[Finding]:
    """Return the findings on some claims, by default on all, under every protocol."""
    return [
        finding(name, protocol, blocks)
        for name, (_, judge_claim) in JUDGED.items()
        if names is None or name in names
        for protocol, blocks in judge_claim(evidence).items()
    ]


def _by_protocol(
    study: Study, judge_fits: Callable[[pd.DataFrame, Published], list[Block]]
) -> Callable[[Evidence], Blocks]:
    """Return the function that judges fits under every protocol that was run."""

    def judged(evidence: Evidence) -> Blocks:
        frames = evidence.fits[study] or {COMPARED[study][0].plain: study.frame()}
        return {protocol: judge_fits(fits, evidence.published) for protocol, fits in frames.items()}

    return judged


def _contest(claim: str) -> Callable[[Evidence], Blocks]:
    """Return the function that judges shares won, and compares those of both searches."""

    def judged(evidence: Evidence) -> Blocks:
        by_protocol = _by_protocol(REGRESSION, lambda fits, printed: contests.won(fits, printed, claim))
        blocks, fits = by_protocol(evidence), evidence.fits[REGRESSION]
        if {DESCRIBED, CONVERGED} <= set(fits):
            searches = fits[CONVERGED], fits[DESCRIBED]
            blocks[CONVERGED].append(contests.by_either_search(*searches, evidence.published, claim))
        return blocks

    return judged


_SYNTHETIC = (Slice(REGRESSION, {"dataset": (SYNTHETIC,), **PLAIN}),)
_UCI = (Slice(REGRESSION, {"dataset": UCI, **PLAIN}),)
JUDGED: dict[str, tuple[tuple[Slice, ...], Callable[[Evidence], Blocks]]] = {
    "PEP1": (_SYNTHETIC, _by_protocol(REGRESSION, lambda fits, _: synthetic.approaches_full(fits))),
    "PEP2": (_SYNTHETIC, _by_protocol(REGRESSION, lambda fits, _: synthetic.overestimates(fits))),
    "PEP3": (_SYNTHETIC, _by_protocol(REGRESSION, lambda fits, _: synthetic.intermediate_best(fits))),
    "PEP4": (_UCI, _contest("PEP4")),
    "PEP5": (_UCI, _contest("PEP5")),
    "PEP6": (_UCI, _by_protocol(REGRESSION, lambda fits, _: contests.ranked(fits))),
    "PEP7": (
        (Slice(CLASSIFICATION),),
        _by_protocol(CLASSIFICATION, lambda fits, printed: contests.no_winner(fits, printed, "PEP7")),
    ),
    "PEP8": ((Slice(LIMITS),), lambda e: {DESCRIBED: limits.recovered(e.frames[LIMITS])}),
    "PEP9": ((Slice(DENSE),), lambda e: {RELEASED: dense.equal(e.frames[DENSE])}),
    "PEP10": ((Slice(BANANA),), lambda e: {DESCRIBED: banana.moved(e.frames[BANANA])}),
    "PEP11": ((Slice(DIGITS),), lambda e: {DESCRIBED: digits_results.minibatches(e.frames[DIGITS])}),
}
"""Claim -> the rows that it needs, and the function that judges it. The paper's text is the only source;
docs/paper-power-ep.md lists its gaps."""

CLAIMS = {name: rows for name, (rows, _) in JUDGED.items()}
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs."""
    studies = next(studies for studies, figures in FIGURES.items() if name in figures)
    return tuple(Slice(study, PLAIN if study is REGRESSION else {}) for study in studies)
