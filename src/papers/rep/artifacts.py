"""The artifacts of the relaxed-EP paper: tables, figures and claims, and the rows that each needs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Chapter, Written
from papers.core.slices import Slice
from papers.core.verdicts import finding
from papers.rep import claims, figures, points_claims, tables
from papers.rep.claims import SPAM, UCI, Protocol
from papers.rep.figures import CAPTIONS, FIGURES
from papers.rep.fits import BLOBS
from papers.rep.records import FITS, POINTS, STUDIES

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Block, Finding

__all__ = ["CAPTIONS", "CLAIMS", "draw", "figure", "findings", "write"]

HEADING = "Which claims of the relaxed-EP paper hold"
LEGEND = """\
No code was released. `as-described` is REP as printed (eq. 36 and step (e), relaxations searched to the
end). `corrected` is the algorithm that its own derivation gives, with relaxations fixed after ten sweeps, in
three readings of the divergence; the reading that favours the claim most judges each row. EP and Power EP
have no rescue, as in the paper (docs/paper-relaxed-ep.md). Runs that do not converge are scored at their
last proper posterior. Cross-validation on one training part chose each method's lengthscale and parameter,
which p-values ignore. The smallest differences that matter are 0.05 percentage points of an error rate, half
a sweep, and 5 % of an error of the posterior."""


def _once(*datasets: str) -> Slice:
    """Return the fits on some data sets with parameters chosen once for a data set; others decide nothing."""
    return Slice(FITS, {"dataset": datasets, "chosen_on": (0,)})


JUDGED: dict[str, tuple[Slice, Callable[[pd.DataFrame, Protocol], list[Block]]]] = {
    "REP1": (Slice(POINTS), points_claims.closer),
    "REP2": (Slice(POINTS), points_claims.equal_for_large),
    "REP3": (_once(BLOBS), claims.converges),
    "REP4": (_once(BLOBS), claims.errors),
    "REP5": (_once(*UCI), claims.errors),
    "REP6": (_once(SPAM), lambda fits, protocol: claims.errors(fits[fits["flips"] > 0], protocol)),
}
"""Claim -> the rows that it needs, and the function that judges these under a protocol."""

CLAIMS = {name: (rows,) for name, (rows, _) in JUDGED.items()}
"""Claim -> the rows that it needs."""


def figure(name: str) -> tuple[Slice, ...]:
    """Return the rows that a figure needs."""
    return tuple(Slice(study) for study in FIGURES[name].studies)


def write(
    folder: str | Path,
    tables_folder: str | Path,
    figures_folder: str | Path,
    published_folder: Path | None = None,
) -> Written:
    """Write tables and figures of the records in a folder; nothing without any. No printed numbers enter."""
    frames = {study: records.load(study, folder) for study in STUDIES}
    if all(frame.empty for frame in frames.values()):
        return Written([], [])
    notes, warnings = provenance.of(frames, folder)
    lines = [line for study, of in notes.items() if of for line in (f"`{study.file}`:", "", *of, "")]
    tables.write(frames, tables_folder, lines)
    figures.draw(frames, Path(figures_folder, "rep"))
    return Written([Chapter(HEADING, judge(frames), LEGEND)], warnings)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure."""
    frames = {study: records.load(study, folder) for study in FIGURES[name].studies}
    figures.draw(frames, figures_folder / "rep", [name])


def findings(folder: str | Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing. No printed numbers enter."""
    return judge({study: records.load(study, folder) for study in (FITS, POINTS)}, names)


def judge(frames: Mapping[Study, pd.DataFrame], names: Collection[str] = tuple(JUDGED)) -> list[Finding]:
    """Return the findings on some claims, by default on all, under both protocols."""
    return [
        finding(name, protocol.name, judge_claim(frames[rows.study][rows.mask(frames[rows.study])], protocol))
        for name, (rows, judge_claim) in JUDGED.items()
        if name in names
        for protocol in claims.PROTOCOLS
    ]
