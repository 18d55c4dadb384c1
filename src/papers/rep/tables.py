"""Tables of the relaxed-EP paper's studies: ``rep_errors.csv`` and the page ``rep.md``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.grid import grid, items
from papers.core.render import Column, markdown, text
from papers.core.store import write_csv, write_text
from papers.rep.claims import EP, NAMES, ORDER, once
from papers.rep.fits import FAILED
from papers.rep.methods import METHODS
from papers.rep.points import BASE_SET, EPS
from papers.rep.points import EXACT as TRUTH
from papers.rep.points_claims import ERRORS, MARGIN, PEPS
from papers.rep.records import CHOICES, EPSILONS, EXACT, FITS, POINTS
from tilted.inference.textbook import CONVERGED, DIVERGED, UNSETTLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study

TITLE = "Relaxed EP for Gaussian-process classification"
INTRODUCTION = """\
"Message passing with relaxed moment matching" (Qi and Guo, 2012) claims that EP gains accuracy and stability
by a relaxation factor around each site. All with the noisy-step likelihood; lengthscale, penalty c and power
u are chosen by three-fold cross-validation on the training part of one split. The paper prints no numbers,
only figures, and its data partitions were not obtained: ours have its sizes and numbers."""
FILES = ("rep_errors.csv", "rep.md")
CELL = ["dataset", "flips", "method"]
ENDS = (CONVERGED, DIVERGED, UNSETTLED, FAILED)
LEGEND = """\
Conv., Div., Uns.: runs that converged, diverged (an improper cavity, marginal or posterior), and did neither
within 100 (made-up set) or 40 sweeps; the engine has 1000, which are cheaper. A run that failed counts under
Uns., has no scores, and is named below. Sweeps: median of the runs that converged. Error (mean and sd over
splits) and NLL are of the test part, of every other run at its last proper posterior. Length: chosen
lengthscale; it and the parameter are chosen once for a data set."""
LENGTHSCALE_LEGEND = """\
Errors by three-fold cross-validation on the training part of split 0, whence every method has its
lengthscale: at its own, and at EP's (each with its best parameter there). How much of a difference between
test errors is that choice; the folds are few, and one label more or less is no difference."""
POINTS_LEGEND = """\
Mean squared errors of the posterior mean and covariance of the weights on {} random sets (geometric
means) and on the base set."""
POINTS_HEADER = ("Method", "c or u", "Conv.", "Div.", "Uns.", "Mean", "Cov.", "Base: mean", "cov.", "outcome")
RATES_HEADER = ("ε", "Method", "Nearer at", "Best c or u", "Mean / EP's", "Cov. / EP's", "Outcome")
RATES = f"""\
The base set under likelihoods of several error rates ε: 0.2, as in the paper, and those of which it says the
same. Nearer at: values of c or u at which both errors are below EP's by more than {100 * MARGIN:g} %; both at
the value where they are smallest together, which no user could choose, divided by EP's."""
EXACT_LEGEND = """\
Root mean square errors of the latents at 400 training points, means in exact standard deviations and log
variances; percent of the means with the wrong sign; what the mean's error would be of an exact method
(Monte Carlo); largest R-hat. All at EP's lengthscale, on the one set on which parameters were chosen, where
nearly every run converges."""


def write(frames: Mapping[Study, pd.DataFrame], folder: str | Path, provenance: list[str]) -> None:
    """Write `FILES`; the last lines of the page are about the ``provenance`` of the rows."""
    write_csv(Path(folder, FILES[0]), summary(frames[FITS]))
    write_text(Path(folder, FILES[1]), page(frames, provenance))


def summary(fits: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each data set, flip rate and method: parameters, outcomes, sweeps and scores."""
    fits = once(fits)
    ends = {f"n_{name}": fits["outcome"] == name for name in ENDS}
    fits = fits.assign(**ends, sweeps=fits["sweeps"].where(ends[f"n_{CONVERGED}"]))
    table = fits.groupby(CELL).agg(
        value=("value", "first"),
        lengthscale=("lengthscale", "first"),
        n_fits=("outcome", "size"),
        **{name: (name, "sum") for name in ends},
        sweeps=("sweeps", "median"),
        error=("error", _mean),
        error_sd=("error", "std"),
        nll=("nll", _mean),
        nll_sd=("nll", "std"),
        seconds=("seconds", _mean),
    )
    return table.loc[sorted(table.index, key=_place)].reset_index()


def _mean(values: pd.Series) -> float:
    """Return means summed in pairs, unlike those of groups: the last digit is that of all other tables."""
    return values.mean()


def _place(cell: tuple[str, float, str]) -> tuple[int, float, int]:
    dataset, flips, method = cell
    return ORDER.index(dataset), flips, list(METHODS).index(method)


def name(dataset: str, flips: float) -> str:
    """Return a data set's name with its share of flipped labels."""
    return NAMES.get(dataset, "Made-up") + (f" {100 * flips:g} %" if flips else "")


def _parameter(line: Any) -> str:
    parameter = METHODS[line.method].name
    return f"{parameter} = {line.value:g}" if parameter else ""


ERRORS_COLUMNS = (
    text("Data", lambda line: name(line.dataset, line.flips)),
    text("Method", "method"),
    Column("c or u", _parameter),
    Column("Length", "lengthscale", ".3g"),
    Column("Conv.", "n_converged"),
    Column("Div.", "n_diverged"),
    Column("Uns.", lambda line: line.n_unsettled + line.n_failed),
    Column("Sweeps", "sweeps", "g"),
    Column("Error, %", lambda line: f"{100 * line.error:.2f} ± {100 * line.error_sd:.2f}"),
    Column("NLL", "nll", ".4f"),
    Column("CPU, s", "seconds", ".2f"),
)


def page(frames: Mapping[Study, pd.DataFrame], provenance: list[str]) -> str:
    """Return the page of all tables for which there are rows, legible as plain text."""
    about = [f"`{name}`: {method.about}" for name, method in METHODS.items()]
    lines = [f"# {TITLE}", "", *INTRODUCTION.splitlines(), "", *items(about), ""]
    fits, points, exact = (frames[study] for study in (FITS, POINTS, EXACT))
    test_errors = [*LEGEND.splitlines(), "", *markdown(ERRORS_COLUMNS, summary(fits).itertuples())]
    beside_exact = [*EXACT_LEGEND.splitlines(), "", *markdown(EXACT_COLUMNS, exact.itertuples())]
    for title, section in (
        ("Test errors", test_errors if len(fits) else []),
        ("All methods at EP's lengthscale", _at_ep_lengthscale(frames[CHOICES], once(fits))),
        ("Five points", _points(points) if len(points) else []),
        ("Five points at other error rates", _rates(points, frames[EPSILONS])),
        ("Beside the exact posterior", beside_exact if len(exact) else []),
        ("Parameters chosen once, or on every split", _own(fits)),
        ("Failures", items(_failures(fits)) if len(fits) else []),
        ("Provenance", provenance),
    ):
        if section:
            lines += [f"## {title}", "", *section, ""]
    return "\n".join(lines).rstrip() + "\n"


def _at_ep_lengthscale(choices: pd.DataFrame, fits: pd.DataFrame) -> list[str]:
    """Return a table of cross-validated errors of all methods at their own lengthscale and at EP's."""
    chosen = fits.groupby(CELL)["lengthscale"].first()
    scored = choices[choices["split"] == 0].dropna(subset="error")
    tried = dict(iter(scored.groupby(CELL)))
    rows = []
    for cell in sorted(tried.keys() & set(chosen.index), key=_place):
        dataset, flips, method = cell
        if (dataset, flips, EP) not in chosen.index:
            continue
        row = [name(dataset, flips), method]
        for lengthscale in (chosen[cell], chosen[dataset, flips, EP]):
            row += [f"{lengthscale:.3g}", _best_error(tried[cell], lengthscale)]
        rows.append(row)
    header = ("Data", "Method", "Length", "Error, %", "EP's length", "Error there, %")
    return [*LENGTHSCALE_LEGEND.splitlines(), "", *grid(header, "llrrrr", rows)] if rows else []


def _best_error(tried: pd.DataFrame, lengthscale: float) -> str:
    """Return the smallest error of any parameter at a lengthscale, in percent; "-" without any."""
    errors = tried[np.isclose(tried["lengthscale"], lengthscale)]["error"]
    return f"{100 * errors.min():.2f}" if len(errors) else "-"


def _points(table: pd.DataFrame) -> list[str]:
    """Return outcomes and mean log errors of the random sets, and errors of the base set, by parameter."""
    rows = []
    for (method, value), lines in table[table["method"] != TRUTH].groupby(["method", "value"], sort=False):
        drawn, base = lines[lines["set"] != BASE_SET], lines[lines["set"] == BASE_SET]
        counts = [f"{(drawn['outcome'] == end).sum()}" for end in (CONVERGED, DIVERGED, UNSETTLED)]
        means = [np.exp(np.log(sets[error]).mean()) for sets in (drawn, base) for error in ERRORS]
        ended = ", ".join(base["outcome"])
        rows.append((method, f"{value:g}", *counts, *(f"{mean:.2e}" for mean in means), ended))
    legend = POINTS_LEGEND.format(table["set"][table["set"] != BASE_SET].nunique())
    return [*legend.splitlines(), "", *grid(POINTS_HEADER, "lrrrrrrrrl", rows)]


def _rates(of_sets: pd.DataFrame, at_epsilons: pd.DataFrame) -> list[str]:
    """Return a table of errors of the base set relative to EP's, at every error rate of the likelihood."""
    import pandas as pd

    if at_epsilons.empty:
        return []
    base = of_sets[of_sets["set"] == BASE_SET].assign(epsilon=EPS)
    rows = []
    for epsilon, table in pd.concat([base, at_epsilons]).groupby("epsilon"):
        ep = table[table["method"] == EP].iloc[0]
        is_power_one = table["method"].isin(PEPS) & (table["value"] == 1.0)  # EP again
        tried = table[~table["method"].isin((TRUTH, EP)) & ~is_power_one].reset_index(drop=True)
        for method, lines in tried.groupby("method", sort=False):
            logs = np.log(lines[list(ERRORS)] / ep[list(ERRORS)].astype(float))
            best = logs.sum(axis=1).idxmin()
            ratios = (f"{ratio:.2f}" for ratio in np.exp(logs.loc[best]))
            nearer = f"{int((logs < -MARGIN).all(axis=1).sum())} of {len(lines)}"
            where = f"{lines['value'][best]:g}", *ratios, lines["outcome"][best]
            rows.append((f"{epsilon:g}", method, nearer, *where))
    return [*RATES.splitlines(), "", *grid(RATES_HEADER, "llrrrrl", rows)]


EXACT_COLUMNS = (
    text("Flipped", lambda line: f"{100 * line.flips:g} %"),
    text("Method", "method"),
    text("Outcome", "outcome"),
    Column("Mean", "mean_error", ".3f"),
    Column("Variance", "variance_error", ".3f"),
    Column("Sign, %", lambda line: 100 * line.wrong_sign, ".1f"),
    Column("M. C.", "monte_carlo_error", ".3f"),
    Column("R-hat", "r_hat_max", ".3f"),
)


def _own(fits: pd.DataFrame) -> list[str]:
    """Return errors with parameters of the split's own training points, and with those of split 0."""
    own = fits[fits["chosen_on"] > 0]
    if own.empty:
        return []
    pairs = own.merge(once(fits), on=[*CELL, "split"], suffixes=("", "_once"))
    rows = []
    for (dataset, flips, method), lines in pairs.groupby(CELL, sort=False):
        errors = (f"{100 * lines[score].mean():.2f}" for score in ("error_once", "error"))
        rows.append((name(dataset, flips), method, f"{len(lines)}", *errors))
    return grid(("Data", "Method", "Splits", "Once, %", "Own, %"), "llrrr", rows)


def _failures(fits: pd.DataFrame) -> list[str]:
    return [
        f"{name(line.dataset, line.flips)}, split {line.split}, {line.method}: {line.reason}"
        for line in fits[fits["outcome"] == FAILED].itertuples()
    ]
