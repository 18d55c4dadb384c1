"""Tables of the relaxed-EP paper's studies: ``rep_errors.csv`` and, to read, ``rep.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted.experiments.rep import BLOBS, FAILED
from tilted.experiments.rep import METHODS as RUN
from tilted.experiments.rep_points import EXACT
from tilted.inference.textbook import CONVERGED, DIVERGED, UNSETTLED
from tilted.results.grid import grid, items
from tilted.results.rep import words
from tilted.results.rep.claims import EP, NAMES, SPAM, UCI, once
from tilted.results.rep.points import ERRORS
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FILES = ("rep_errors.csv", "rep.md")
ORDER = (BLOBS, *UCI, SPAM)
HEADER = tuple("Data|Method|c or u|Length|Conv.|Div.|Uns.|Sweeps|Error, %|NLL|CPU, s".split("|"))
COLUMNS = (
    "dataset", "flips", "method", "value", "lengthscale", "n_fits", "n_converged", "n_diverged",
    "n_unsettled", "n_failed", "sweeps", "error", "error_sd", "nll", "nll_sd", "seconds",
)  # fmt: skip
LEGEND = """\
Conv., Div., Uns.: runs that converged, diverged (an improper cavity, marginal or posterior), and did neither
within 100 (made-up set) or 40 sweeps; the engine has 1000, which are cheaper. A run that failed counts under
Uns., has no scores, and is named below. Sweeps: median of the runs that converged. Error (mean and sd over
splits) and NLL are of the test part, of every other run at its last proper posterior. Length: chosen
lengthscale; it and the parameter are chosen once for a data set."""
ALIKE = """\
Errors by three-fold cross-validation on the training part of split 0, whence every method has its
lengthscale: at its own, and at EP's (each with its best parameter there). How much of a difference between
test errors is that choice; the folds are few, and one label more or less is no difference."""


def write(found: Mapping[str, pd.DataFrame | None], folder: str | Path, provenance: list[str]) -> list[Path]:
    """Write `FILES`.

    Parameters
    ----------
    found : mapping
        Kind of record (`records.KINDS`) -> its table, or None.
    folder : path
    provenance : list of str
        Lines at the end.
    """
    import pandas as pd

    csv = pd.DataFrame(list(lines(found["fits"])), columns=list(COLUMNS))
    return [
        write_text(Path(folder, FILES[0]), csv.to_csv(index=False, lineterminator="\n", float_format="%.6g")),
        write_text(Path(folder, FILES[1]), markdown(found, provenance)),
    ]


def lines(fits: pd.DataFrame | None) -> Iterator[tuple[Any, ...]]:
    """A line with `COLUMNS` for each data set, share of flips and method."""
    fits = once(fits)
    if fits is None:
        return
    groups = dict(list(fits.groupby(["dataset", "flips", "method"])))
    for dataset, flips, method in sorted(groups, key=_place):
        part = groups[dataset, flips, method]
        counts = [int((part["outcome"] == name).sum()) for name in (CONVERGED, DIVERGED, UNSETTLED, FAILED)]
        scored = part[part["outcome"] != FAILED]
        sweeps = part[part["outcome"] == CONVERGED]["sweeps"]
        yield (
            dataset, flips, method, part["value"].iloc[0], part["lengthscale"].iloc[0], len(part), *counts,
            float(sweeps.median()) if len(sweeps) else np.nan,
            scored["error"].mean(), scored["error"].std(), scored["nll"].mean(), scored["nll"].std(),
            part["seconds"].mean(),
        )  # fmt: skip


def _place(key: tuple[str, float, str]) -> tuple[int, float, int]:
    dataset, flips, method = key
    return ORDER.index(dataset), flips, list(RUN).index(method)


def name(dataset: str, flips: float) -> str:
    """A data set with its share of flipped labels."""
    return NAMES.get(dataset, "Made-up") + (f" {100 * flips:g} %" if flips else "")


def cells(fits: pd.DataFrame | None) -> list[tuple[str, ...]]:
    """Rows under `HEADER`."""
    rows: list[tuple[str, ...]] = []
    for line in lines(fits):
        of = dict(zip(COLUMNS, line, strict=True))
        parameter = RUN[of["method"]].name
        rows.append((
            name(of["dataset"], of["flips"]), of["method"],
            f"{parameter} = {of['value']:g}" if parameter else "", f"{of['lengthscale']:.3g}",
            f"{of['n_converged']}", f"{of['n_diverged']}", f"{of['n_unsettled'] + of['n_failed']}",
            f"{of['sweeps']:g}" if of["sweeps"] == of["sweeps"] else "-",
            f"{100 * of['error']:.2f} ± {100 * of['error_sd']:.2f}", f"{of['nll']:.4f}",
            f"{of['seconds']:.2f}",
        ))  # fmt: skip
    return rows


def markdown(found: Mapping[str, pd.DataFrame | None], provenance: list[str]) -> str:
    """Everything to read, legible as plain text."""
    about = [f"`{method}`: {what}" for method, what in words.METHODS.items()]
    text = [f"# {words.TITLE}", "", *words.INTRODUCTION.splitlines(), "", *items(about), ""]
    for title, part in (
        ("Test errors", _errors(found["fits"])),
        ("All methods at EP's lengthscale", _alike(found["choices"], found["fits"])),
        ("Five points", _points(found["points"])),
        ("Beside the exact posterior", _exact(found["exact"])),
        ("Parameters chosen once, or on every split", _own(found["fits"])),
        ("Failures", items(_failures(found["fits"]))),
        ("Provenance", provenance),
    ):
        if part:
            text += [f"## {title}", "", *part, ""]
    return "\n".join(text).rstrip() + "\n"


def _errors(fits: pd.DataFrame | None) -> list[str]:
    if fits is None:
        return []
    return [*LEGEND.splitlines(), "", *grid(HEADER, "llrrrrrrrrr", cells(fits))]


def _alike(choices: pd.DataFrame | None, fits: pd.DataFrame | None) -> list[str]:
    """Cross-validated errors of all methods at their own lengthscale and at EP's."""
    fits = once(fits)
    if choices is None or fits is None:
        return []
    chosen = fits.groupby(["dataset", "flips", "method"])["lengthscale"].first()
    tried = dict(
        list(choices[choices["split"] == 0].dropna(subset="error").groupby(["dataset", "flips", "method"]))
    )
    rows = []
    for key in sorted(chosen.index, key=_place):
        dataset, flips, method = key
        if key not in tried or (dataset, flips, EP) not in chosen.index:
            continue
        lengths = chosen[key], chosen[dataset, flips, EP]
        errors = [_best_error(tried[key], length) for length in lengths]
        texts = [f"{text:.3g}" for text in lengths]
        rows.append((name(dataset, flips), method, texts[0], errors[0], texts[1], errors[1]))
    header = ("Data", "Method", "Length", "Error, %", "EP's length", "Error there, %")
    return [*ALIKE.splitlines(), "", *grid(header, "llrrrr", rows)] if rows else []


def _best_error(tried: pd.DataFrame, lengthscale: float) -> str:
    """The smallest error of any parameter at a lengthscale, in percent; "-" without any."""
    errors = tried[np.isclose(tried["lengthscale"], lengthscale)]["error"]
    return f"{100 * errors.min():.2f}" if len(errors) else "-"


def _points(table: pd.DataFrame | None) -> list[str]:
    """Outcomes and mean log errors of the random sets, and errors of the base set, at every parameter."""
    if table is None:
        return []
    part = table[table["method"] != EXACT]
    rows = []
    for (method, value), of in part.groupby(["method", "value"], sort=False):
        drawn, base = of[of["set"] >= 0], of[of["set"] < 0]
        counts = [f"{int((drawn['outcome'] == name).sum())}" for name in (CONVERGED, DIVERGED, UNSETTLED)]
        means = [np.exp(np.log(which[error]).mean()) for which in (drawn, base) for error in ERRORS]
        ended = ", ".join(base["outcome"])
        rows.append((method, f"{value:g}", *counts, *(f"{mean:.2e}" for mean in means), ended))
    n = table[table["set"] >= 0]["set"].nunique()
    intro = (
        f"Mean squared errors of the posterior mean and covariance of the weights on {n} random sets "
        "(geometric means) and on the base set."
    )
    header = ("Method", "c or u", "Conv.", "Div.", "Uns.", "Mean", "Cov.", "Base: mean", "cov.", "outcome")
    return [*_wrapped(intro), "", *grid(header, "lrrrrrrrrl", rows)]


def _exact(table: pd.DataFrame | None) -> list[str]:
    if table is None:
        return []
    rows = [
        (f"{100 * of.flips:g} %", of.method, of.outcome, f"{of.mean_error:.3f}", f"{of.variance_error:.3f}",
         f"{100 * of.wrong_sign:.1f}", f"{of.monte_carlo_error:.3f}", f"{of.r_hat_max:.3f}")
        for of in table.itertuples()
    ]  # fmt: skip
    intro = (
        "Root mean square errors of the latents at 400 training points, means in exact standard deviations "
        "and log variances; percent of the means with the wrong sign; what the mean's error would be of an "
        "exact method (Monte Carlo); largest R-hat. All at EP's lengthscale."
    )
    header = ("Flipped", "Method", "Outcome", "Mean", "Variance", "Sign, %", "M. C.", "R-hat")
    return [*_wrapped(intro), "", *grid(header, "lllrrrrr", rows)]


def _wrapped(text: str) -> list[str]:
    return [line.removeprefix("- ").strip() for line in items([text])]


def _own(fits: pd.DataFrame | None) -> list[str]:
    """Errors with parameters of the split's own training part, beside those chosen on split 0."""
    if fits is None or not (fits["chosen_on"] > 0).any():
        return []
    own = fits[fits["chosen_on"] > 0]
    key = ["dataset", "flips", "split", "method"]
    both = own.merge(once(fits), on=key, suffixes=("", "_once"))
    rows = [
        (name(dataset, flips), method, f"{len(of)}", f"{100 * of['error_once'].mean():.2f}",
         f"{100 * of['error'].mean():.2f}")
        for (dataset, flips, method), of in both.groupby(["dataset", "flips", "method"], sort=False)
    ]  # fmt: skip
    return grid(("Data", "Method", "Splits", "Once, %", "Own, %"), "llrrr", rows)


def _failures(fits: pd.DataFrame | None) -> list[str]:
    if fits is None:
        return []
    return [
        f"{name(of.dataset, of.flips)}, split {of.split}, {of.method}: {of.reason}"
        for of in fits[fits["outcome"] == FAILED].itertuples()
    ]
