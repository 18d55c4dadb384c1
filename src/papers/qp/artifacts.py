"""Tables, figures and the audit's chapter of the QP paper, from its records.

`TABLES` and `FIGURES` list the artifacts, `CLAIMS` the rows that decide a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import provenance, records
from papers.core.audit import Written
from papers.core.runs import CHECKOUT
from papers.core.slices import Slice
from papers.core.store import write_csv, write_text
from papers.qp import figures, published, timing
from papers.qp.accuracy import figures as accuracy_figures
from papers.qp.accuracy import tables as accuracy_tables
from papers.qp.accuracy.records import NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS
from papers.qp.claims import chapter as claims
from papers.qp.evidence import Evidence
from papers.qp.lookup import effect as lookup_effect
from papers.qp.lookup import errors as lookup
from papers.qp.published import CLASSIFICATION, PUBLISHED_COLUMNS, RELEASED_VB, ROWS
from papers.qp.records import (
    DIFFERENCES,
    FITS,
    LOOKUP_EFFECT,
    LOOKUP_ERRORS,
    TIMING,
    VARIANCES,
)
from papers.qp.table1 import fidelity, latex, tables, vb_column

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from papers.core.records import Change
    from papers.core.verdicts import Finding


def write(
    folder: str | Path, tables_folder: str | Path, figures_folder: str | Path, published_folder: str | Path
) -> Written:
    """Write all `TABLES` and `FIGURES` of the paper, and return its chapter of the audit.

    Parameters
    ----------
    folder : str or Path
        Folder of all records.
    tables_folder, figures_folder : str or Path
    published_folder : str or Path
        Folder of the printed Table 1.

    Raises
    ------
    RecordError
        Damaged records; the message names the file.
    FileNotFoundError
        The folder has no records of the paper's fits.
    """
    evidence = Evidence(folder, published_folder)
    for table in TABLES:
        table(evidence, Path(tables_folder))
    for figure in FIGURES.values():
        figure.draw(evidence, Path(figures_folder))
    notes, warnings = evidence.notes
    chapter = claims.chapter(evidence, {claim: notes[study] for claim, study in STUDIED.items()})
    return Written([chapter], [*provenance.warnings(evidence.summary.groups), *warnings])


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing (errors as `write`)."""
    return claims.judge(Evidence(folder, published_folder), names)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, under every protocol."""
    FIGURES[name].draw(Evidence(folder, CHECKOUT / "data" / "published"), figures_folder)


# Tables


def _table1(evidence: Evidence, folder: Path) -> None:
    """Write ``qp_table1.{csv,md,tex}``."""
    summary = evidence.summary
    tables.write_rounded(summary.table, folder / "qp_table1.csv", 6)
    write_text(folder / "qp_table1.md", tables.markdown(summary))
    latex.write_latex(summary, folder / "qp_table1.tex")


def _fidelity(evidence: Evidence, folder: Path) -> None:
    """Write ``qp_fidelity.{csv,md}``, the comparison with the printed table."""
    summary = evidence.summary
    checked = fidelity.check(summary)
    by_variance = fidelity.ridge_lines(fidelity.by_variance(summary.fits), summary)
    write_text(folder / "qp_fidelity.csv", checked.round(6).to_csv(index=False, lineterminator="\n"))
    text = "\n".join([fidelity.markdown(checked), *by_variance])
    write_text(folder / "qp_fidelity.md", text.rstrip() + "\n")


def _vb_column(evidence: Evidence, folder: Path) -> None:
    """Write ``vb_column.{csv,md}``, if some fits are scored as released."""
    fits, printed = _vb_fits(evidence), evidence.summary.printed
    if vb_column.is_replayed(fits):
        table = vb_column.steps(fits, printed)
        tables.write_rounded(table, folder / "vb_column.csv", 6)
        write_text(folder / "vb_column.md", vb_column.markdown(table, vb_column.by_fold(fits), printed))


def _vb_fits(evidence: Evidence) -> pd.DataFrame:
    import pandas as pd

    return pd.concat([evidence.fits, evidence.rows(DIFFERENCES)], ignore_index=True)


def _truth(evidence: Evidence, folder: Path) -> None:
    """Write ``qp_truth.{csv,md}``, if there are records."""
    splits, latents, table = evidence.rows(TRUTH), evidence.rows(TRUTH_LATENTS), evidence.truth
    if len(table):
        write_csv(folder / "qp_truth.csv", table)
        page = folder / "qp_truth.md"
        accuracy_tables.write_truth_page(splits, latents, table, page, evidence.notes[0][TRUTH])


def _nearer(evidence: Evidence, folder: Path) -> None:
    """Write ``qp_nearer.{csv,md}``, if there are records."""
    if len(evidence.nearer):
        accuracy_tables.write_approximations(evidence.nearer, evidence.summary.fits, folder)


def _lookup(evidence: Evidence, folder: Path) -> None:
    """Write ``lookup.{csv,md}``, if there are records."""
    errors, effect, notes = evidence.rows(LOOKUP_ERRORS), evidence.rows(LOOKUP_EFFECT), evidence.notes[0]
    if errors.empty or effect.empty:
        return
    sections = [
        f"# {lookup.TITLE}",
        lookup.LEGEND,
        "\n".join(notes[LOOKUP_ERRORS]),
        lookup.section(errors),
        "## Effect on the fits",
        lookup_effect.LEGEND,
        "\n".join(notes[LOOKUP_EFFECT]),
        lookup_effect.section(effect),
    ]
    write_csv(folder / "lookup.csv", errors[list(lookup.COLUMNS)], "%.4g")
    write_text(folder / "lookup.md", "\n\n".join(sections) + "\n")


TABLES = (_table1, _fidelity, _vb_column, _truth, _nearer, _lookup)


# Rows that claims and figures depend on

EP, QP, TUNED = "ep", "qp", "ep-tune"
VB = (RELEASED_VB, "vb-joint", "vb")


def _fits(datasets: Sequence[str], methods: Sequence[str]) -> tuple[Slice, ...]:
    """Return the fits under every protocol."""
    return tuple(Slice(study, {"dataset": datasets, "method": methods}) for study in FITS.values())


def table1(row: str = "") -> tuple[Slice, ...]:
    """Return the records that one row of Table 1, or all of it, depends on."""
    datasets = [name for name, printed in ROWS.items() if row in ("", printed)]
    return _fits(datasets, (*PUBLISHED_COLUMNS, *VB))


def _variances(datasets: Sequence[str]) -> tuple[Slice, ...]:
    return (*_fits(datasets, (EP, TUNED, QP)), Slice(VARIANCES, {"dataset": datasets}))


OWN_CLAIMS = ("OURS1", "OURS2", "OURS3")
COMPARED = (NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS)
CLAIMS: dict[str, tuple[Slice, ...]] = {
    "QP1": _fits(CLASSIFICATION, (EP, TUNED, QP)),
    "QP2": _fits(tuple(ROWS), (EP, TUNED, QP, *(name for _, *pair in claims.VARIANTS for name in pair))),
    "QP3": _fits(tuple(ROWS), (EP, TUNED, QP)),
    "QP4": _fits(tuple(ROWS), (EP, QP, *VB)),
    "QP5": _variances(CLASSIFICATION),
    "QP6": _fits(("coal",), (EP, TUNED, QP, *VB)),
    "QP7": (),
    "QP8": (Slice(TIMING),),
    "QP9": (Slice(LOOKUP_EFFECT),),
    "QP10": (Slice(TRUTH), Slice(TRUTH_LATENTS)),
    **dict.fromkeys(OWN_CLAIMS, tuple(map(Slice, COMPARED))),
}
"""Claim -> the records that decide it; QP7 uses none."""

STUDIED = {"QP10": TRUTH, "QP8": TIMING, "QP9": LOOKUP_EFFECT, **dict.fromkeys(OWN_CLAIMS, NEARER_FITS)}
"""Claim -> its study; notes next to its numbers list the repeated rows."""


def _timed(folder: Path, mirror: str | None) -> dict[str, Change]:
    lines = list(timing.timed(None, ["as-released"], 3, 3, mirror=mirror))
    return records.put(folder, {TIMING: lines}, keep=False)


STUDIES: dict[str, Callable[[Path, str | None], dict[str, Change]]] = {TIMING.file: _timed}
"""Record without a job -> function of a folder of records and a mirror of raw data that measures it."""


# Figures


def _of_protocols(evidence: Evidence) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield each protocol with its fits."""
    for protocol, fits in evidence.summary.fits.groupby("protocol", sort=False):
        yield str(protocol), fits


def _figure1(name: str, title: str, counts: bool) -> Callable[[Evidence, Path], None]:
    """Return the function that draws a panel of figure 1 for each protocol with matched variances."""

    def draw(evidence: Evidence, folder: Path) -> None:
        variances = evidence.rows(VARIANCES)
        for protocol, fits in _of_protocols(evidence):
            points = variances[variances["protocol"] == protocol]
            present = published.row_order(points["dataset"])
            datasets = [dataset for dataset in present if published.is_counts(dataset) == counts]
            if datasets:
                stem = folder / protocol / name
                figures.predictive_variances(fits, points, datasets, stem, f"{title}, {protocol}")

    return draw


def _paired(evidence: Evidence, folder: Path) -> None:
    for protocol, fits in _of_protocols(evidence):
        if figures.drawable(fits):
            title = f"Paired differences, {protocol}"
            figures.paired_differences(fits, folder / protocol / "paired", title)


def _published(evidence: Evidence, folder: Path) -> None:
    for protocol, table in evidence.summary.table.groupby("protocol", sort=False):
        if table[["mean", "published_mean"]].notna().all(axis=1).any():
            title = f"Ours minus published, {protocol}"
            figures.figure_table1(table, folder / str(protocol) / "published", title)


def _draw_vb(evidence: Evidence, folder: Path) -> None:
    fits = _vb_fits(evidence)
    if vb_column.is_replayed(fits):
        table = vb_column.steps(fits, evidence.summary.printed)
        vb_column.figure(table, folder / vb_column.PROTOCOL / "vb_column", "The VB column, step by step")


def _draw_truth(evidence: Evidence, folder: Path) -> None:
    if len(evidence.truth):
        accuracy_figures.truth(evidence.rows(TRUTH_LATENTS), evidence.truth, folder / "qp_truth")


def _draw_nearer(evidence: Evidence, folder: Path) -> None:
    if len(evidence.nearer):
        accuracy_figures.approximations(evidence.nearer, folder / "qp_nearer")


def _draw_calibration(evidence: Evidence, folder: Path) -> None:
    latents, exact = evidence.rows(NEARER_LATENTS), evidence.rows(TRUTH_LATENTS)
    points = accuracy_figures.label_probabilities(latents, exact)
    if len(points):
        accuracy_figures.calibration(points, folder / "qp_calibration")


class Figure(NamedTuple):
    """A figure: the function that draws it into a folder, the rows it depends on, and its caption."""

    draw: Callable[[Evidence, Path], None]
    rows: tuple[Slice, ...]
    caption: str


FIGURES = {
    "figure1a": Figure(
        _figure1("figure1a", "Classification", counts=False),
        _variances(CLASSIFICATION),
        "Predictive variances of the latent function on the test points of the classification rows, EP "
        "against QP at equal hyperparameters; below the diagonal QP's is smaller. Open circles and the "
        "lowest panel: folds whose reported EP moved in its second tuning.",
    ),
    "figure1b": Figure(
        _figure1("figure1b", "Poisson regression", counts=True),
        _variances(("coal",)),
        "The same for Poisson regression on the coal-mining counts, as reported.",
    ),
    "paired": Figure(
        _paired,
        table1(),
        "Differences of NTLL between methods on the same folds, row by row: the mean over seeds, its spread "
        "over seeds, and the interval of the corrected resampled t test; the band is 0.001 nats wide on "
        "either side, the smallest effect that matters. At the right of a panel what a point rests on: seeds "
        "times folds a seed, over the seeds complete for both methods; a comparison with fewer than two is "
        "not drawn.",
    ),
    "published": Figure(
        _published,
        table1(),
        "Ours minus published in printed units (TE in percent, NTLL in 0.001 nats): dot and line are the "
        "mean and spread over our seeds, the grey bar is the published spread.",
    ),
    "vb_column": Figure(
        _draw_vb,
        (*_fits(tuple(ROWS), VB), Slice(DIFFERENCES, {"method": VB})),
        "From the printed VB column (grey: mean and spread) to the bound's maximum: the released code's "
        "joint search scored as that code scores, the same fits scored stably, the search with the right "
        "gradient, and the bound maximised.",
    ),
    "qp_truth": Figure(
        _draw_truth,
        CLAIMS["QP10"],
        "EP, QP and VB against the exact posterior on the folds of seed 0: predictive variance over the "
        "exact one (each dot a test point, bars their geometric mean), error of the latent means, mean test "
        "log density (NTLL) and log evidence minus the exact ones; grey is what two Monte-Carlo standard "
        "errors may explain, a hollow marker an evidence above the exact one.",
    ),
    "qp_nearer": Figure(
        _draw_nearer,
        CLAIMS["OURS1"],
        "Errors of seven approximations against the exact posterior on the folds of seed 0, to the left is "
        "better: variances and means of the test latents, predictive log densities, log evidence; grey is "
        "what two Monte-Carlo standard errors may explain. Where EP corrected until nearly exact (stars) "
        "lies in grey, it cannot be told from the exact posterior.",
    ),
    "qp_calibration": Figure(
        _draw_calibration,
        tuple(Slice(study, {"dataset": CLASSIFICATION}) for study in COMPARED),
        "Probabilities of labels on the folds of seed 0. Left: how often the likelier label is right, "
        "against its probability, over all rows; black is the exact posterior, its bars what so few test "
        "points may explain. Middle: mean probability minus that share, row by row. Right: by how much the "
        "probability of the exactly likelier label differs from the exact one on average, against the exact "
        "one.",
    ),
}
"""Figure -> its function, rows and caption, in the order in which they are drawn."""

CAPTIONS = {name: figure.caption for name, figure in FIGURES.items()}


def figure(name: str) -> tuple[Slice, ...]:
    """Return the records that a figure depends on."""
    return FIGURES[name].rows
