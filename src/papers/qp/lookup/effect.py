"""The effect of lookup tables of the projection on QP's fits, against quadrature (QP9).

QP runs by quadrature and with each table, on the same folds and at the same hyperparameters: those that the
protocol's QP starts from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core import metrics, statistics, store
from papers.core.claims import load
from papers.core.comparisons import shown
from papers.core.grid import counted, grid
from papers.core.verdicts import MISSING, NO, UNDECIDED, YES, Block, Inference, Line
from papers.data import standard
from papers.data.registry import task_of
from papers.qp import fits, protocols
from papers.qp.fit_rows import FAILED, kernel_of
from papers.qp.lookup.errors import PAPER
from papers.qp.pairs import NTLL
from papers.qp.published import CLASSIFICATION, ROWS
from papers.qp.refit import certified_table, loaded
from tilted.gaussian import cavity
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset
    from tilted import api
    from tilted.inference.rule import Projector
    from tilted.kernels.squared_exponential import SquaredExponential
    from tilted.projections.table import RatioTable

ROUNDING = 1e-11
MARGIN = load()["QP9"].margin
RARE, OUTSIDE = MARGIN["share"], MARGIN["outside"]
"""Largest share of lost fits that counts as none; largest share of sites outside the box with which a
fold can tell."""

OF_PAPER = "as-described"
"""The paper's table, as a projection."""

HIGH_DIMENSIONAL = ("ionosphere", "sonar")
"""The rows with more than 30 features (34 and 60); those in `LOW_DIMENSIONAL` have at most `FEW`."""

LOW_DIMENSIONAL = tuple(name for name in CLASSIFICATION if name not in HIGH_DIMENSIONAL)
FEW = 13
LEGEND = """\
QP at the hyperparameters it starts from, by quadrature and with each table. Compared: folds on which both
converged, of all. Moved: largest change of a compared fold's NTLL against quadrature, nats. Outside: mean and
largest share of sites whose cavity is outside the box."""


def start_of(protocol: str, dataset: str) -> str:
    """Return the method whose hyperparameters a protocol's QP starts from."""
    return protocols.method(protocol, task_of(dataset), "qp")["start"]


def measure(protocol: str, data: str, records: str, table: str, log: str) -> Iterator[dict[str, Any]]:
    """Yield the rows (`effects`) from paths: standard file, records of EP, certified table; no log."""
    dataset = standard.read_standard(data)
    start = start_of(protocol, dataset.name)
    kernels = {
        (record["seed"], record["fold"]): fits.kernel_at(record["hyperparameters"])
        for record in store.read_records(records)
        if record["method"] == start and record["hyperparameters"] is not None
    }
    return effects(dataset, protocol, kernels, lookup.read(table))


def effects(
    dataset: Dataset,
    protocol: str,
    kernels: Mapping[tuple[int, int], SquaredExponential],
    table: RatioTable,
) -> Iterator[dict[str, Any]]:
    """Run QP by quadrature and with each table.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol.
    protocol : str
    kernels : mapping
        (seed, fold) -> kernel at the hyperparameters that the protocol's QP starts from.
    table : RatioTable
        Table of the probit; counts have no certified table and need none.

    Yields
    ------
    line : dict
        Columns of `papers.qp.records.LOOKUP_EFFECT`. ``outside_box`` is the share of the sites whose cavity
        lies outside the paper's table; it and ``ntll`` are None where the fit failed.
    """
    for (seed, fold), kernel in kernels.items():
        cell = fits.cell_of(dataset, protocol, "qp", seed, fold)
        projections = {"quadrature": None, "certified": table, OF_PAPER: PAPER}
        if cell.block["likelihood"] != "probit":
            del projections["certified"]
        for name, projection in projections.items():
            yield {
                **{"dataset": dataset.name, "protocol": protocol, "seed": seed, "fold": fold},
                **{"projection": name, **_outcome(cell, kernel, projection)},
            }


def _outcome(
    cell: fits.Cell, kernel: SquaredExponential, projection: Projector | None
) -> dict[str, bool | float | None]:
    """Return QP's convergence, NTLL, and share of cavities outside the box; None without a fit."""
    try:
        fitted = fits.approximate(cell, kernel, cell.starting_sites, projection)
    except ArithmeticError:  # an improper posterior
        return {"converged": False, "ntll": None, "outside_box": None}
    marginals, sites = fitted.inference.state.marginals, fitted.inference.sites
    outside = outside_box(*cavity(marginals.mean, marginals.variance, sites.tau, sites.nu))
    converged, share = fitted.status.converged, float(np.mean(outside))
    return {"converged": converged, "ntll": _ntll(cell, fitted), "outside_box": share}


def outside_box(m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Test if cavities N(m, v) [N] are outside the paper's table, where its projection is EP's."""
    limit = 10.0 ** (2 * PAPER.log10_sigma_limit)
    return ~((np.abs(m) <= PAPER.mu_limit) & (v <= limit) & (v >= 1.0 / limit))


def _ntll(cell: fits.Cell, fitted: api.Fit) -> float | None:
    """Return the negative test log-likelihood of a fit; None without a finite one."""
    try:
        mean, variance = fitted.predict_latent(cell.points.X_test)
    except ArithmeticError:  # a variance lost to rounding
        return None
    density = cell.likelihood.log_predictive(cell.points.y_test, mean, variance)
    return metrics.negative_log_likelihood(density) if np.all(np.isfinite(density)) else None


def repeat(rows: pd.DataFrame, recorded: pd.DataFrame, mirror: str | None) -> Iterator[dict[str, Any]]:
    """Yield the rows of the folds that rows of one protocol and data set come from.

    Parameters
    ----------
    rows : pandas.DataFrame
    recorded : pandas.DataFrame
        Fits of the protocol and data set, with the hyperparameters to use.
    mirror : str or None
        Of raw data, tried first.
    """
    first = rows.iloc[0]
    protocol, dataset = first["protocol"], loaded(first["dataset"], first["protocol"], mirror)
    starts = recorded[
        (recorded["method"] == start_of(protocol, dataset.name)) & (recorded["outcome"] != FAILED)
    ]
    kernels = {(row["seed"], row["fold"]): kernel_of(row) for row in starts.to_dict("records")}
    folds = dict.fromkeys(zip(rows["seed"], rows["fold"], strict=True))
    started = {fold: kernels[fold] for fold in folds if fold in kernels}
    return effects(dataset, protocol, started, certified_table())


def section(effect: pd.DataFrame) -> str:
    """Return the table: a row for each (protocol, data set, projection), on folds where both converged."""
    header = "Protocol", "Data", "Projection", "Converged", "Compared", "Moved", "Outside, mean"
    keys = ["protocol", "dataset", "seed", "fold"]
    exact = effect.loc[effect["projection"] == "quadrature", [*keys, "converged", "ntll"]]
    cells = []
    for (protocol, dataset, name), lines in effect.groupby(["protocol", "dataset", "projection"], sort=False):
        both = lines.merge(exact, on=keys, suffixes=("", "_exact"))
        both = both[both["converged"] & both["converged_exact"]]
        change = (both["ntll"] - both["ntll_exact"]).abs()
        counts = (f"{lines['converged'].sum()} of {len(lines)}", f"{len(both)} of {len(lines)}")
        largest = _change(change.max()) if len(change) else "none"
        cells.append((protocol, ROWS[dataset], name, *counts, largest, *_shares(lines)))
    return "\n".join(grid((*header, "Outside, max"), "lllrrrrr", cells))


def _change(value: float) -> str:
    """Format a change of NTLL; the record has 12 digits."""
    return f"{value:.1e}" if value > ROUNDING else "0" if value == 0 else f"< {ROUNDING:g}"


def _shares(lines: pd.DataFrame) -> Sequence[str]:
    outside = lines["outside_box"].dropna()
    return (f"{outside.mean():.1%}", f"{outside.max():.1%}") if len(outside) else ("none", "none")


def unstable(effect: pd.DataFrame, protocol: str) -> list[Block]:
    """Judge QP9: fits are lost with the paper's table, more often on the rows with many features.

    A fold can tell if at most `OUTSIDE` of its sites are outside the box of the paper's table. The certified
    table has no box, so every fold can tell.
    """
    test = (
        "fits that converge by quadrature and not with the table; Fisher's exact test of a larger share than "
        f"on the rows with at most {FEW} features, exact binomial interval"
    )
    blocks = []
    for projection, most in ((OF_PAPER, OUTSIDE), ("certified", 1.0)):
        folds = _both(effect, protocol, projection)
        telling = folds[folds["outside_box_exact"] <= most]
        high, low = (telling[telling["dataset"].isin(names)] for names in (HIGH_DIMENSIONAL, LOW_DIMENSIONAL))
        decides = _decided(_lost("IonoS and Sonar", high), high, low)
        apart = [
            _lost(ROWS[name], telling[telling["dataset"] == name])
            for name in (*HIGH_DIMENSIONAL, *LOW_DIMENSIONAL)
        ]
        lines = (decides, *shown([_lost(f"at most {FEW} features", low), *apart]))
        run, can_tell = (frame["dataset"].value_counts() for frame in (folds, telling))
        reach = [
            f"on {ROWS[name]} {can_tell.get(name, 0)} of {counted(run[name], 'fold')} can tell"
            for name in HIGH_DIMENSIONAL
            if name in run
        ]
        absent = f"lookup_effect.csv has no fits with the {projection} table under {protocol}"
        remark = "; ".join(reach) or absent
        covered = {"sets": high["dataset"].nunique()}
        blocks.append(Block(f"table {projection}", test, lines, remark, covered))
    return blocks


def _both(effect: pd.DataFrame, protocol: str, projection: str) -> pd.DataFrame:
    """Match each fold that quadrature solves with the table's fit; quadrature's columns end in ``_exact``."""
    selected = effect[effect["protocol"] == protocol]
    exact = selected[(selected["projection"] == "quadrature") & selected["converged"]]
    by_table = selected[selected["projection"] == projection]
    return by_table.merge(exact, on=["dataset", "seed", "fold"], suffixes=("", "_exact"))


def _lost(row: str, folds: pd.DataFrame) -> Line:
    """Return the share of lost fits, without a status."""
    quantity, n = "fits lost with the table", len(folds)
    if not n:
        return Line(row, quantity, "share", note="no fold that can tell")
    lost = ~folds["converged"].astype(bool)
    moved = ~lost & ~((folds["ntll"] - folds["ntll_exact"]).abs() <= NTLL.margin)
    note = (
        f"{counted(folds['seed'].nunique(), 'seed')}; {lost.sum()} not converged; {moved.sum()} moved; "
        f"{100 * folds['outside_box_exact'].mean():.0f} % of all sites outside"
    )
    sample = Inference(MISSING, *statistics.share_interval(lost.sum(), n))
    return Line(row, quantity, "share", lost.mean(), sample=sample, n=n, note=note)


def _decided(line: Line, high: pd.DataFrame, low: pd.DataFrame) -> Line:
    """Decide if the rows with many features lose more fits than the other rows."""
    from scipy import stats

    if not line.n:
        return line
    lost, lost_low = ((~folds["converged"].astype(bool)).sum() for folds in (high, low))
    table = [[lost, len(high) - lost], [lost_low, len(low) - lost_low]]
    p = float(stats.fisher_exact(table, alternative="greater").pvalue) if len(low) else math.nan
    if not lost:
        status = NO if line.sample.high < RARE else UNDECIDED
    elif not len(low):
        status = MISSING
    elif p < statistics.ALPHA:
        status = YES
    else:
        status = NO if lost * len(low) <= lost_low * len(high) else UNDECIDED
    return replace(line, sample=replace(line.sample, status=status, p=p))
