"""Tables, figures and claims of the QP paper, and the rows that each depends on.

`TABLES`, `FIGURES` and `JUDGED` list them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import provenance
from papers.core.audit import Chapter, Written
from papers.core.runs import CHECKOUT
from papers.core.slices import Slice
from papers.core.store import write_csv, write_text
from papers.core.verdicts import finding
from papers.qp import figures, protocols, published, timing
from papers.qp.accuracy import figures as accuracy_figures
from papers.qp.accuracy import tables as accuracy_tables
from papers.qp.accuracy.records import NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS
from papers.qp.claims import exact, projection, scores, variances
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
from papers.qp.results import Results
from papers.qp.table1 import fidelity, tables, vb_column

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.core.verdicts import Block, Finding


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
    results = Results(folder, published_folder)
    if results.fits.empty:
        raise FileNotFoundError(f"{folder}: no records of the QP paper's fits")
    for table in TABLES:
        table(results, Path(tables_folder))
    for figure in FIGURES.values():
        figure.draw(results, Path(figures_folder))
    notes = {name: results.note(claim.study) for name, claim in JUDGED.items() if claim.study}
    groups = [group for of_study in results.groups.values() for group in of_study]
    return Written([Chapter(HEADING, judge(results), LEGEND, notes)], provenance.warnings(groups))


def findings(folder: Path, published_folder: Path, names: Collection[str]) -> list[Finding]:
    """Judge some claims and write nothing (errors as `write`)."""
    return judge(Results(folder, published_folder), names)


def draw(name: str, folder: Path, figures_folder: Path) -> None:
    """Draw one figure, under every protocol."""
    FIGURES[name].draw(Results(folder, CHECKOUT / "data" / "published"), figures_folder)


# Tables


def _table1(results: Results, folder: Path) -> None:
    """Write ``qp_table1.{csv,md,tex}``."""
    tables.write_rounded(results.table, folder / "qp_table1.csv", 6)
    write_text(folder / "qp_table1.md", tables.markdown(results))
    write_text(folder / "qp_table1.tex", tables.latex(results))


def _fidelity(results: Results, folder: Path) -> None:
    """Write ``qp_fidelity.{csv,md}``, the comparison with the printed table."""
    checked = fidelity.check(results)
    by_variance = fidelity.gap_by_variance(results.fits, results.printed)
    write_text(folder / "qp_fidelity.csv", checked.round(6).to_csv(index=False, lineterminator="\n"))
    text = "\n".join([fidelity.markdown(checked), *by_variance])
    write_text(folder / "qp_fidelity.md", text.rstrip() + "\n")


def _vb_column(results: Results, folder: Path) -> None:
    """Write ``vb_column.{csv,md}``, if some fits are scored as released."""
    fits, printed = results.fits_with_derived, results.printed
    if vb_column.is_replayed(fits):
        table = vb_column.steps(fits, printed)
        tables.write_rounded(table, folder / "vb_column.csv", 6)
        write_text(folder / "vb_column.md", vb_column.markdown(table, vb_column.by_fold(fits), printed))


def _truth(results: Results, folder: Path) -> None:
    """Write ``qp_truth.{csv,md}``, if there are records."""
    splits, latents, table = results.rows(TRUTH), results.rows(TRUTH_LATENTS), results.truth
    if len(table):
        write_csv(folder / "qp_truth.csv", table)
        page = folder / "qp_truth.md"
        accuracy_tables.write_truth_page(splits, latents, table, page, results.note(TRUTH))


def _nearer(results: Results, folder: Path) -> None:
    """Write ``qp_nearer.{csv,md}``, if there are records."""
    if len(results.nearer):
        accuracy_tables.write_approximations(results.nearer, results.fits, folder)


def _lookup(results: Results, folder: Path) -> None:
    """Write ``lookup.{csv,md}``, if there are records."""
    errors, effect = results.rows(LOOKUP_ERRORS), results.rows(LOOKUP_EFFECT)
    if errors.empty or effect.empty:
        return
    sections = [
        f"# {lookup.TITLE}",
        lookup.LEGEND,
        "\n".join(results.note(LOOKUP_ERRORS)),
        lookup.section(errors),
        "## Effect on the fits",
        lookup_effect.LEGEND,
        "\n".join(results.note(LOOKUP_EFFECT)),
        lookup_effect.section(effect),
    ]
    write_csv(folder / "lookup.csv", errors[list(lookup.COLUMNS)], "%.4g")
    write_text(folder / "lookup.md", "\n\n".join(sections) + "\n")


TABLES = (_table1, _fidelity, _vb_column, _truth, _nearer, _lookup)


# Rows that claims and figures depend on

EP, QP, TUNED = "ep", "qp", "ep-tune"
VB = (RELEASED_VB, "vb-joint", "vb")
ALL = tuple(ROWS)


def _fits(datasets: Sequence[str], *methods: str) -> tuple[Slice, ...]:
    """Return the fits under every protocol."""
    return tuple(Slice(study, {"dataset": datasets, "method": methods}) for study in FITS.values())


def _variances(datasets: Sequence[str]) -> tuple[Slice, ...]:
    return (*_fits(datasets, EP, TUNED, QP), Slice(VARIANCES, {"dataset": datasets}))


def table1(row: str = "") -> tuple[Slice, ...]:
    """Return the records that one row of Table 1, or all of it, depends on."""
    datasets = [name for name, printed in ROWS.items() if row in ("", printed)]
    return _fits(datasets, *PUBLISHED_COLUMNS, *VB)


def figure(name: str) -> tuple[Slice, ...]:
    """Return the records that a figure depends on."""
    return FIGURES[name].rows


EXACT = (Slice(TRUTH), Slice(TRUTH_LATENTS))
NEARER = (Slice(NEARER_FITS), Slice(NEARER_LATENTS), *EXACT)

# Claims

HEADING = "Which claims of the QP paper hold"
LEGEND = f"""\
`as-released` replays the code of the paper, quirks included. `as-described` follows its text. `corrected`
removes leaks and repeated rows, and searches until convergence. The smallest effects that matter are
10^-3 nats (NTLL) and 0.05 percentage points (test error; {100 * scores.SIMILAR.margin:g} in QP1)."""


Judge = Callable[[Results, str], "list[Block]"]
"""(results, protocol) -> blocks, the deciding one first."""


class Claim(NamedTuple):
    """A claim: the rows that decide it, and the function that judges it.

    Attributes
    ----------
    rows : tuple of Slice
    judge : callable
    study : Study, optional
        A note next to the verdict says how many of its rows were repeated.
    """

    rows: tuple[Slice, ...]
    judge: Judge
    study: Study | None = None


def _of_fits(judge: Callable[[pd.DataFrame, str], list[Block]]) -> Judge:
    """Return the function that judges a claim by the fits of a protocol, on the printed data sets only."""

    def of_results(results: Results, protocol: str) -> list[Block]:
        fits = results.fits
        return judge(fits[(fits["protocol"] == protocol) & fits["dataset"].isin(ROWS)], protocol)

    return of_results


JUDGED = {
    "QP10": Claim(EXACT, lambda results, protocol: exact.premise(results.truth, protocol), TRUTH),
    "QP1": Claim(_fits(CLASSIFICATION, EP, TUNED, QP), _of_fits(scores.similar_errors)),
    "QP2": Claim(
        _fits(ALL, EP, TUNED, QP, *(name for _, *pair in scores.VARIANTS for name in pair)),
        _of_fits(scores.no_higher_ntll),
    ),
    "QP3": Claim(_fits(ALL, EP, TUNED, QP), _of_fits(scores.asterisks)),
    "QP4": Claim(_fits(ALL, EP, QP, *VB), _of_fits(scores.worse_vb)),
    "QP5": Claim(
        _variances(CLASSIFICATION),
        lambda results, protocol: [
            *_of_fits(variances.never_above)(results, protocol),
            *variances.as_reported(results.rows(VARIANCES), protocol),
        ],
    ),
    "QP6": Claim(_fits(("coal",), EP, TUNED, QP, *VB), _of_fits(variances.poisson)),
    "QP7": Claim((), lambda results, protocol: projection.one_tilted(protocol)),
    "QP8": Claim(
        (Slice(TIMING),),
        lambda results, protocol: timing.same_time(results.rows(TIMING), protocol),
        TIMING,
    ),
    "QP9": Claim(
        (Slice(LOOKUP_EFFECT),),
        lambda results, protocol: lookup_effect.unstable(results.rows(LOOKUP_EFFECT), protocol),
        LOOKUP_EFFECT,
    ),
    "OURS1": Claim(
        NEARER, lambda results, protocol: exact.nearer_variances(results.nearer, protocol), NEARER_FITS
    ),
    "OURS2": Claim(
        NEARER, lambda results, protocol: exact.better_evidence(results.nearer, protocol), NEARER_FITS
    ),
    "OURS3": Claim(
        NEARER, lambda results, protocol: exact.no_worse_predictions(results.nearer, protocol), NEARER_FITS
    ),
}
"""Claims in the order of the audit; QP7 is decided by computing and uses no rows."""

CLAIMS = {name: claim.rows for name, claim in JUDGED.items()}
"""Claim -> the records that decide it."""


def judge(results: Results, names: Collection[str] = tuple(JUDGED)) -> list[Finding]:
    """Judge claims, by default all, under every protocol; sort by claim, then by protocol.

    Without fits of a protocol, its claims about fits are not testable.
    """
    return [
        finding(name, protocol, claim.judge(results, protocol))
        for name, claim in JUDGED.items()
        if name in names
        for protocol in protocols.names()
    ]


# Figures


def _figure1(name: str, title: str, counts: bool, results: Results, folder: Path) -> None:
    """Draw a panel of figure 1 for each protocol with matched variances."""
    for protocol, points in results.rows(VARIANCES).groupby("protocol", sort=False):
        present = published.row_order(points["dataset"])
        datasets = [dataset for dataset in present if published.is_counts(dataset) == counts]
        if datasets:
            fits = results.fits[results.fits["protocol"] == protocol]
            stem = folder / str(protocol) / name
            figures.predictive_variances(fits, points, datasets, stem, f"{title}, {protocol}")


def _paired(results: Results, folder: Path) -> None:
    for protocol, fits in results.fits.groupby("protocol", sort=False):
        stem = folder / str(protocol) / "paired"
        figures.paired_differences(fits, stem, f"Paired differences, {protocol}")


def _published(results: Results, folder: Path) -> None:
    for protocol, table in results.table.groupby("protocol", sort=False):
        stem = folder / str(protocol) / "published"
        figures.figure_table1(table, stem, f"Ours minus published, {protocol}")


def _draw_vb(results: Results, folder: Path) -> None:
    fits = results.fits_with_derived
    if vb_column.is_replayed(fits):
        table = vb_column.steps(fits, results.printed)
        vb_column.figure(table, folder / vb_column.PROTOCOL / "vb_column", "The VB column, step by step")


def _draw_truth(results: Results, folder: Path) -> None:
    if len(results.truth):
        accuracy_figures.truth(results.rows(TRUTH_LATENTS), results.truth, folder / "qp_truth")


def _draw_nearer(results: Results, folder: Path) -> None:
    if len(results.nearer):
        accuracy_figures.approximations(results.nearer, folder / "qp_nearer")


def _draw_calibration(results: Results, folder: Path) -> None:
    latents, exact_latents = results.rows(NEARER_LATENTS), results.rows(TRUTH_LATENTS)
    points = accuracy_figures.label_probabilities(latents, exact_latents)
    if len(points):
        accuracy_figures.calibration(points, folder / "qp_calibration")


class Figure(NamedTuple):
    """A figure: the function that draws it into a folder, the rows it depends on, and its caption."""

    draw: Callable[[Results, Path], None]
    rows: tuple[Slice, ...]
    caption: str


FIGURES = {
    "figure1a": Figure(
        partial(_figure1, "figure1a", "Classification", False),
        _variances(CLASSIFICATION),
        "Predictive variances of the latent function on the test points of the classification rows, EP "
        "against QP at equal hyperparameters; below the diagonal QP's is smaller. Open circles and the "
        "lowest panel: folds whose reported EP moved in its second tuning.",
    ),
    "figure1b": Figure(
        partial(_figure1, "figure1b", "Poisson regression", True),
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
        (*_fits(ALL, *VB), Slice(DIFFERENCES, {"method": VB})),
        "From the printed VB column (grey: mean and spread) to the bound's maximum: the released code's "
        "joint search scored as that code scores, the same fits scored stably, the search with the right "
        "gradient, and the bound maximised.",
    ),
    "qp_truth": Figure(
        _draw_truth,
        EXACT,
        "EP, QP and VB against the exact posterior on the folds of seed 0: predictive variance over the "
        "exact one (each dot a test point, bars their geometric mean), error of the latent means, mean test "
        "log density (NTLL) and log evidence minus the exact ones; grey is what two Monte-Carlo standard "
        "errors may explain, a hollow marker an evidence above the exact one.",
    ),
    "qp_nearer": Figure(
        _draw_nearer,
        NEARER,
        "Errors of seven approximations against the exact posterior on the folds of seed 0, to the left is "
        "better: variances and means of the test latents, predictive log densities, log evidence; grey is "
        "what two Monte-Carlo standard errors may explain. Where EP corrected until nearly exact (stars) "
        "lies in grey, it cannot be told from the exact posterior.",
    ),
    "qp_calibration": Figure(
        _draw_calibration,
        tuple(Slice(rows.study, {"dataset": CLASSIFICATION}) for rows in NEARER),
        "Probabilities of labels on the folds of seed 0. Left: how often the likelier label is right, "
        "against its probability, over all rows; black is the exact posterior, its bars what so few test "
        "points may explain. Middle: mean probability minus that share, row by row. Right: by how much the "
        "probability of the exactly likelier label differs from the exact one on average, against the exact "
        "one.",
    ),
}
"""Figure -> its function, rows and caption, in the order in which they are drawn."""

CAPTIONS = {name: figure.caption for name, figure in FIGURES.items()}
