"""Tables, figures and the audit's chapter of the QP paper, from its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.core.audit import Written
from papers.core.runs import CHECKOUT
from papers.core.store import write_csv, write_text
from papers.qp import figures, paired_figure, published
from papers.qp.claims import chapter as claims
from papers.qp.lookup import effect as lookup_effect
from papers.qp.lookup import errors as lookup
from papers.qp.nearer import calibration
from papers.qp.nearer import pages as nearer_pages
from papers.qp.nearer import tables as nearer_tables
from papers.qp.records import (
    DIFFERENCES,
    FITS,
    LOOKUP_EFFECT,
    LOOKUP_ERRORS,
    NEARER_FITS,
    NEARER_LATENTS,
    TIMING,
    VARIANCES,
    ordered,
)
from papers.qp.table1 import fidelity, latex, tables, vb_column
from papers.qp.table1 import rows as table1
from papers.qp.truth import figure as truth_figure
from papers.qp.truth import pages as truth_pages
from papers.qp.truth import records as truth_records
from papers.qp.truth import tables as truth_tables
from papers.qp.truth.records import TRUTH

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Finding
    from papers.qp.table1.rows import Summary

PRINTED = "qp_table1.csv"
"""The published Table 1, among the published numbers."""

VARIANCE_FIGURES = {"figure1a": "Classification", "figure1b": "Poisson regression"}


def write(
    folder: str | Path, tables_folder: str | Path, figures_folder: str | Path, published_folder: str | Path
) -> Written:
    """Write all tables, pages and figures of the paper, and return its chapter of the audit.

    The files are ``qp_table1.{csv,md,tex}``, ``qp_fidelity.{csv,md}``, ``vb_column.{csv,md}``, and those of
    the ground truth, the lookup tables and the figures.

    Parameters
    ----------
    folder : str or Path
        Folder of all records.
    tables_folder, figures_folder : str or Path
        Figures go into one folder for each protocol.
    published_folder : str or Path
        Folder of `PRINTED`.

    Raises
    ------
    RecordError
        Damaged records; the message names the file.
    FileNotFoundError
        The folder has no records of the paper's fits.
    """
    summary = table1.load(folder, Path(published_folder, PRINTED))
    studies = (TIMING, LOOKUP_ERRORS, LOOKUP_EFFECT, TRUTH, NEARER_FITS)
    frames = {study: records.find(study, folder) for study in studies}
    notes, loud = provenance.of(frames, folder)
    variances = records.load(VARIANCES, folder)
    write_figures(summary, variances, Path(figures_folder))
    write_tables(summary, Path(tables_folder))
    _write_vb(summary, folder, Path(tables_folder), Path(figures_folder))
    exact = _write_truth(folder, Path(tables_folder), Path(figures_folder), notes[TRUTH])
    if frames[LOOKUP_ERRORS] is not None and frames[LOOKUP_EFFECT] is not None:
        _write_lookup(frames[LOOKUP_ERRORS], frames[LOOKUP_EFFECT], notes, Path(tables_folder))
    near = _write_nearer(folder, summary.fits, Path(tables_folder), Path(figures_folder))
    evidence = claims.Evidence(
        _printed(summary.fits), frames[TIMING], frames[LOOKUP_EFFECT], exact, near, variances
    )
    notes_by_claim = {claim: notes[study] for claim, study in STUDIED.items()}
    return Written([claims.chapter(evidence, notes_by_claim)], [*provenance.warnings(summary.groups), *loud])


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing (errors as `write`)."""
    import pandas as pd

    fits = ordered(pd.concat([records.load(study, folder) for study in FITS.values()], ignore_index=True))
    sampled = truth_records.read(folder) if {"QP10", *OWN_CLAIMS} & set(names) else []
    timed, effect = (records.find(study, folder) for study in (TIMING, LOOKUP_EFFECT))
    truth = truth_tables.summary(sampled) if sampled else None
    near = _nearer(folder) if {*OWN_CLAIMS} & set(names) else None
    variances = records.load(VARIANCES, folder) if "QP5" in names else None
    return claims.judge(claims.Evidence(_printed(fits), timed, effect, truth, near, variances), names)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, under every protocol; its tables go into the figures' folder."""
    summary = table1.load(folder, CHECKOUT / "data" / "published" / PRINTED)
    if name == TRUTH_FIGURE:
        _write_truth(folder, figures_folder, figures_folder, [])
    elif name == NEARER_FIGURE:
        _write_nearer(folder, summary.fits, figures_folder, figures_folder)
    elif name == CALIBRATION_FIGURE:
        _draw_calibration(folder, figures_folder)
    elif name == "vb_column":
        _write_vb(summary, folder, figures_folder, figures_folder)
    else:
        write_figures(summary, records.load(VARIANCES, folder), figures_folder, (name,))


OWN_CLAIMS = ("OURS1", "OURS2", "OURS3")
STUDIED = {"QP10": TRUTH, "QP8": TIMING, "QP9": LOOKUP_EFFECT, **dict.fromkeys(OWN_CLAIMS, NEARER_FITS)}
"""Claim -> its study; notes next to its numbers list the repeated rows."""


def write_tables(summary: Summary, folder: Path) -> None:
    """Write Table 1 and its comparison with the printed one."""
    tables.write_rounded(summary.table, folder / "qp_table1.csv", 6)
    write_text(folder / "qp_table1.md", tables.markdown(summary))
    latex.write_latex(summary, folder / "qp_table1.tex")
    checked = fidelity.check(summary)
    fidelity.write_csv(checked, folder / "qp_fidelity.csv")
    by_variance = fidelity.ridge_lines(fidelity.by_variance(summary.fits), summary)
    text = "\n".join([fidelity.markdown(checked), *by_variance])
    write_text(folder / "qp_fidelity.md", text.rstrip() + "\n")


def _printed(fits: pd.DataFrame) -> pd.DataFrame:
    """Return the fits of the data sets that the paper's claims are about."""
    return fits[fits["dataset"].isin(published.ROWS)]


DRAWN = (*VARIANCE_FIGURES, "paired", "published")
"""Figures of a protocol."""


def write_figures(
    summary: Summary, variances: pd.DataFrame, folder: Path, names: Collection[str] = DRAWN
) -> None:
    """Write figures, by default all, of every protocol that has data for them."""
    for protocol, fits in summary.fits.groupby("protocol", sort=False):
        points = variances[variances["protocol"] == protocol]
        drawn = {name: sets for name, sets in _figure_datasets(points).items() if name in names}
        for name, datasets in drawn.items():
            title = f"{VARIANCE_FIGURES[name]}, {protocol}"
            figures.predictive_variances(fits, points, datasets, folder / protocol / name, title)
        if "paired" in names and paired_figure.drawable(fits):
            title = f"Paired differences, {protocol}"
            paired_figure.paired_differences(fits, folder / protocol / "paired", title)
        table = summary.table[summary.table["protocol"] == protocol]
        if "published" in names and table[["mean", "published_mean"]].notna().all(axis=1).any():
            title = f"Ours minus published, {protocol}"
            figures.figure_table1(table, folder / protocol / "published", title)


def _figure_datasets(points: pd.DataFrame) -> dict[str, list[str]]:
    """Map each figure to its data sets with matched variances, in table order; omit figures without any."""
    present = published.row_order(points["dataset"])
    counts = [name for name in present if published.is_counts(name)]
    labelled = [name for name in present if name not in counts]
    return {
        name: datasets
        for name, datasets in zip(VARIANCE_FIGURES, (labelled, counts), strict=True)
        if datasets
    }


def _write_vb(summary: Summary, folder: str | Path, tables_folder: Path, figures_folder: Path) -> None:
    """Write the VB column step by step, and its figure if some fits are scored as released."""
    import pandas as pd

    fits = pd.concat([_printed(summary.fits), records.load(DIFFERENCES, folder)], ignore_index=True)
    vb_column.write(fits, summary.printed, tables_folder, figures_folder)


TRUTH_FIGURE, NEARER_FIGURE, CALIBRATION_FIGURE = "qp_truth", "qp_nearer", "qp_calibration"


def _write_truth(
    folder: str | Path, tables_folder: Path, figures_folder: Path, note: list[str]
) -> pd.DataFrame | None:
    """Write ``qp_truth.{csv,md}`` and the figure, if there are records, and return the summary."""
    sampled = truth_records.read(folder)
    if not sampled:
        return None
    table = truth_tables.summary(sampled)
    write_csv(tables_folder / "qp_truth.csv", table)
    truth_pages.write_markdown(sampled, table, tables_folder / "qp_truth.md", note)
    truth_figure.figure_truth(sampled, table, figures_folder / TRUTH_FIGURE)
    return table


def _nearer(folder: str | Path) -> pd.DataFrame | None:
    """Return the errors of the approximations against the exact posterior; None without records."""
    fits, latents = (records.find(study, folder) for study in (NEARER_FITS, NEARER_LATENTS))
    sampled = truth_records.read(folder)
    return None if fits is None or latents is None else nearer_tables.summary(fits, latents, sampled)


def _write_nearer(
    folder: str | Path, fits: pd.DataFrame, tables_folder: Path, figures_folder: Path
) -> pd.DataFrame | None:
    """Write ``qp_nearer.{csv,md}`` and the figures, if there are records; return the table."""
    table = _nearer(folder)
    if table is not None:
        nearer_pages.write(table, fits, tables_folder)
        nearer_pages.figure(table, figures_folder / NEARER_FIGURE)
        _draw_calibration(folder, figures_folder)
    return table


def _draw_calibration(folder: str | Path, figures_folder: Path) -> None:
    """Draw the calibration curves, if there are approximations of labels."""
    latents = records.find(NEARER_LATENTS, folder)
    if latents is not None and latents["dataset"].isin(published.CLASSIFICATION).any():
        points = calibration.points(latents, truth_records.read(folder))
        calibration.figure(points, figures_folder / CALIBRATION_FIGURE)


def _write_lookup(
    errors: pd.DataFrame, effect: pd.DataFrame, notes: dict[Study, list[str]], folder: Path
) -> None:
    """Write ``lookup.csv`` and ``lookup.md``."""
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
