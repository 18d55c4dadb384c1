"""Compact records to every table, figure and the report: the one path of `make paper` and `make tables`.

Nothing but the compact records, the published table and today's source (which tells what is out of
date) enters the artifacts, so the same checkout gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results import (
    audit,
    captions,
    compact,
    fidelity,
    figures,
    latex,
    lookup_tables,
    paired_figure,
    published,
    report,
    ridge,
    runs,
    stamps,
    standing,
    store,
    studies,
    style,
    summary,
    tables,
    truth,
    truth_check,
    verified,
)
from tilted.results.pep import artifacts as pep_artifacts
from tilted.results.pesc import artifacts as pesc_artifacts
from tilted.results.rep import artifacts as rep_artifacts

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

VARIANCE_FIGURES = {"figure1a": "Classification", "figure1b": "Poisson regression"}


def write_all(
    records: str | Path,
    tables_folder: str | Path,
    figures_folder: str | Path,
    published_table: str | Path,
    protocols: Sequence[str] | None = None,
    pep: str | Path | None = None,
    rep: str | Path | None = None,
    pesc: str | Path | None = None,
) -> list[str]:
    """Write ``qp_table1.{csv,md,tex}``, ``qp_fidelity.{csv,md}``, the audit, the ground truth, the study of
    lookup tables, the artifacts of the Power-EP and relaxed-EP papers, the report and all figures.

    Parameters
    ----------
    records : str or Path
        Folder of compact records (`collect.fold_in`).
    tables_folder, figures_folder : str or Path
        Figures go into a folder a protocol.
    published_table : str or Path
        The published Table 1; the claims and the other papers' numbers are beside it.
    protocols : sequence of str, optional
        Which of the protocols in the folder; default: every one.
    pep : str or Path, optional
        Folder of the Power-EP record, which may be absent (`pep.artifacts`).
    rep : str or Path, optional
        The same of relaxed EP (`rep.artifacts`).
    pesc : str or Path, optional
        Folder of the PESC studies, which may be absent (`pesc.artifacts`).

    Returns
    -------
    loud : list of str
        `standing.Notes.loud` and `stamps.loud`: what was not made by today's source, or is not reproduced.

    Raises
    ------
    RecordError
        Damaged records; the message names the file.
    FileNotFoundError
        The folder has no records.
    """
    files = [
        path
        for path in compact.protocol_files(records)
        if protocols is None or path.name.removesuffix(compact.SUFFIX) in protocols
    ]
    if not files:
        raise FileNotFoundError(f"{records}: no compact records of a known protocol")
    frame = compact.read_all(files)
    variances = compact.read_variances(Path(records, f"{compact.VARIANCES}{compact.SUFFIX}"))
    checks = verified.read(Path(records, verified.FILE))
    whole = summary.summarise(frame, runs.read(records), published_table, checks=checks)
    drawn = _write_figures(whole.table, frame, variances, Path(figures_folder))
    _write_tables(whole, frame, Path(tables_folder), published_table)
    sampled = truth.load(sorted(Path(records, "truth").glob("*.json.gz")))
    made = truth_check.made(sampled, truth_check.read(Path(records, truth_check.FILE)))
    if sampled:
        drawn.append(truth.write(sampled, tables_folder, figures_folder, made)[-1])
    claims = Path(published_table).with_name("claims.csv")
    appendix = truth.overview(sampled, made) if sampled else ""
    others = [
        pep_artifacts.write(pep, tables_folder, figures_folder, claims.parent),
        rep_artifacts.write(rep, tables_folder, figures_folder),
        pesc_artifacts.write(pesc, tables_folder, figures_folder),
    ]
    chapters = [chapter for other in others for chapter in other.audit]
    audit.write_audit(_printed(frame), tables_folder, claims, records, appendix, chapters)
    found = {name: studies.read(records, name) for name in studies.STUDIES}
    if found[studies.ERRORS] is not None and found[studies.EFFECT] is not None:
        lookup_tables.write(found[studies.ERRORS], found[studies.EFFECT], tables_folder)
    report.write_html(
        Path(tables_folder, "report.html"),
        title=captions.TITLE,
        introduction=captions.INTRODUCTION,
        summary=whole,
        figures=[report.FigureFile(path, captions.of_figure(path)) for path in drawn],
        others=[part for other in others for part in other.report],
    )
    loud = standing.notes(whole.runs, whole.checks).loud + stamps.loud("ground truth", made)
    loud += [line for other in others for line in other.loud]
    return loud + [
        line for name, table in found.items() for line in stamps.loud(name, studies.made(name, table))
    ]


def fill(outputs: Iterable[str | Path]) -> list[str]:
    """Make the figures and folders among some outputs that could not be drawn or filled.

    Figures say so, and there is a line for each.
    """
    paths = [Path(path) for path in outputs]
    for path in paths:
        if not path.suffix:
            path.mkdir(parents=True, exist_ok=True)
    pictures = [path for path in paths if path.suffix in (".pdf", ".png")]
    missing = sorted({path.with_suffix("") for path in pictures if not path.is_file()})
    for stem in missing:
        style.nothing(stem)
    return [f"nothing to draw: {stem}" for stem in missing]


def _write_tables(
    whole: summary.Summary, frame: pd.DataFrame, folder: Path, published_table: str | Path
) -> None:
    tables.write_csv(whole.table, folder / "qp_table1.csv")
    store.write_text(folder / "qp_table1.md", tables.markdown(whole, captions.TABLE_TITLE))
    latex.write(whole, folder / "qp_table1.tex")
    checked = fidelity.check(whole.table, whole.gaps, published_table)
    fidelity.write_csv(checked, folder / "qp_fidelity.csv")
    classes = ridge.by_variance(_printed(frame), fidelity.PROTOCOL)
    sections = [
        fidelity.markdown(checked),
        *(ridge.markdown(classes, published_table) if len(classes) else []),
    ]
    store.write_text(folder / "qp_fidelity.md", "\n".join(sections).rstrip() + "\n")


def _printed(frame: pd.DataFrame) -> pd.DataFrame:
    """Fits of the data sets that the paper's claims are about."""
    return frame[frame["dataset"].isin(published.ROWS)]


def _write_figures(
    table: pd.DataFrame, frame: pd.DataFrame, variances: pd.DataFrame, folder: Path
) -> list[Path]:
    """Figures of every protocol that has something to draw; the PNG files."""
    written = []
    for protocol, fits in frame.groupby("protocol", sort=False):
        points = variances[variances["protocol"] == protocol]
        for name, datasets in _figure_datasets(points).items():
            title = f"{VARIANCE_FIGURES[name]}, {protocol}"
            files = figures.predictive_variances(fits, points, datasets, folder / protocol / name, title)
            written.append(files[1])
        if paired_figure.drawable(fits):
            title = f"Paired differences, {protocol}"
            written.append(paired_figure.paired_differences(fits, folder / protocol / "paired", title)[1])
        part = table[table["protocol"] == protocol]
        if part[["mean", "published_mean"]].notna().all(axis=1).any():
            title = f"Ours minus published, {protocol}"
            written.append(figures.figure_table1(part, folder / protocol / "published", title)[1])
    return written


def _figure_datasets(points: pd.DataFrame) -> dict[str, list[str]]:
    """Figure -> data sets with matched variances, in the table's order; figures with none are absent."""
    present = published.row_order(points["dataset"])
    counts = [name for name in present if published.is_counts(name)]
    rest = [name for name in present if name not in counts]
    return {name: found for name, found in zip(VARIANCE_FIGURES, (rest, counts), strict=True) if found}
