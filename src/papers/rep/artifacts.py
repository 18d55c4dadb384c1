"""Turn the relaxed-EP records into tables, figures and a chapter of the audit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Chapter, Written
from papers.core.verdicts import finding
from papers.rep import claims, figures, points_claims, tables
from papers.rep.records import FITS, POINTS, STUDIES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Finding

FIGURES = "rep"
"""Folder of the figures."""

HEADING = "Which claims of the relaxed-EP paper hold"
LEGEND = """\
No code was released. `as-described` is REP as printed (eq. 36 and step (e), relaxations searched to the
end). `corrected` is the algorithm that its own derivation gives, with relaxations fixed after ten sweeps, in
three readings of the divergence; the reading that favours the claim most judges each row. EP and Power EP
have no rescue, as in the paper (docs/paper-relaxed-ep.md). Runs that do not converge are scored at their
last proper posterior. Cross-validation on one training part chose each method's lengthscale and parameter,
which p-values ignore. The smallest differences that matter are 0.05 percentage points of an error rate, half
a sweep, and 5 % of an error of the posterior."""


def write(folder: str | Path, tables_folder: str | Path, figures_folder: str | Path) -> Written:
    """Write tables and figures of the available records; nothing without any.

    Parameters
    ----------
    folder : path
        Of all records.
    tables_folder, figures_folder : path
    """
    frames = {study: records.load(study, folder) for study in STUDIES}
    if all(frame.empty for frame in frames.values()):
        return Written([], [])
    notes, loud = provenance.of(frames, folder)
    lines = [
        line
        for study, of_study in notes.items()
        if of_study
        for line in (f"`{study.file}`:", "", *of_study, "")
    ]
    tables.write(frames, tables_folder, lines)
    figures.write(frames, Path(figures_folder, FIGURES))
    return Written([Chapter(HEADING, judged(frames), LEGEND)], loud)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure."""
    frames = {study: records.load(study, folder) for study in figures.DRAWINGS[name].studies}
    figures.write(frames, figures_folder / FIGURES, (name,))


def findings(folder: str | Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing; printed numbers do not enter."""
    return judged({study: records.load(study, folder) for study in (FITS, POINTS)}, names)


def judged(
    frames: Mapping[Study, pd.DataFrame], names: Collection[str] = tuple(claims.CLAIMS)
) -> list[Finding]:
    """Return the findings on some claims, by default on all, under both protocols."""
    fits = claims.once(frames[FITS])
    return [
        finding(name, protocol.name, judge(frame, protocol))
        for judges, frame in ((points_claims.OF_POINTS, frames[POINTS]), (claims.OF_FITS, fits))
        for name, judge in judges.items()
        if name in names
        for protocol in claims.PROTOCOLS
    ]
