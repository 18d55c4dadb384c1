"""Comparison of QP's smaller variances with the exact ones: closer to them, or merely smaller?

The records (`papers.qp.truth.records`) hold the latent means and variances of EP, QP and VB at the training
and test inputs of each split, and the exact ones with their Monte-Carlo standard errors. A row of the summary
is about all splits of a data set. Errors of variances are those of their logarithms: 0.01 is one per cent.

Monte-Carlo errors of the latents of a split come from the same chains and are correlated. The error of a mean
over them is therefore taken as the mean of their errors. This is its value under full correlation and an
upper bound otherwise. Different splits have independent chains.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import render
from papers.core.claims import load
from papers.core.grid import WIDTH
from papers.core.render import Column, text
from papers.core.store import write_text
from papers.qp.published import ROWS
from papers.qp.truth.experiment import METHODS, SUBSETS
from papers.qp.truth.records import SPLIT

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    ByMethod = Mapping[str, Any]
    Sampler = tuple[pd.DataFrame, list[dict[str, Any]]]

TEN = 10
"""Splits that make a row complete."""
DECIDED = load()["QP10"].margin["standard_errors"]
"""Standard errors beyond which a comparison counts as decided."""

COLUMNS = tuple(
    "row dataset method part splits n mean_rms mean_noise log_variance_bias log_variance_bias_se "
    "log_variance_rms log_variance_noise above_exact below_exact closer_than_ep closer_low closer_high "
    "excess_over_ep excess_se ntll_exact ntll_difference ntll_se evidence_exact evidence_error evidence_se "
    "r_hat_max effective_size_min".split()
)
"""Columns of the summary. ``above_exact``, ``below_exact``: share of latents whose variance is shown to lie
there, by more than `DECIDED` standard errors; ``closer_than_ep``: share of latents whose variance is closer
to the exact one than EP's, and the same counting only what is decided (low) or adding all that is not (high);
``excess_over_ep``: mean squared log-variance error minus EP's; ``ntll_exact`` (test rows) and
``evidence_exact`` (train rows): under the exact posterior, nats; ``ntll_difference`` and ``evidence_error``:
the method's minus these."""


def summary(splits: pd.DataFrame, latents: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each data set, method and part, with `COLUMNS`; NaN where no number exists.

    Parameters
    ----------
    splits, latents : pandas.DataFrame
        `papers.qp.truth.records.TRUTH` and `TRUTH_LATENTS`.
    """
    import pandas as pd

    by_part = dict(iter(latents.groupby(["dataset", "part"])))
    lines = [
        _line(of_dataset, by_part[dataset, subset], method, subset)
        for dataset, of_dataset in splits.groupby("dataset", sort=False)
        for method in METHODS
        for subset in SUBSETS
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def details(splits: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the sampler's diagnostics of each split."""
    return [json.loads(text) for text in splits["details"]]


def log_ratios(latents: pd.DataFrame, method: str) -> np.ndarray:
    """Return the log of a method's variance over the exact one, for each latent."""
    return np.log((latents[f"variance_{method}"] / latents["variance"]).to_numpy())


def log_variance_errors(latents: pd.DataFrame) -> np.ndarray:
    """Return Monte-Carlo standard errors of the logarithms of the exact variances."""
    return (latents["se_variance"] / latents["variance"]).to_numpy()


def error_of_mean(errors: np.ndarray, sizes: Sequence[int]) -> float:
    """Return the standard error of the mean of latents with these errors [N], of splits of these sizes."""
    sums = [np.sum(each) for each in np.split(errors, np.cumsum(sizes)[:-1])]
    return float(np.sqrt(np.sum(np.square(sums))) / len(errors))


def _line(splits: pd.DataFrame, latents: pd.DataFrame, method: str, subset: str) -> dict[str, Any]:
    ratios, noise = log_ratios(latents, method), log_variance_errors(latents)
    sizes = latents.groupby(list(SPLIT), sort=False).size().tolist()
    dataset, sd = splits["dataset"].iloc[0], np.sqrt(latents["variance"])
    line = {
        "row": ROWS[dataset],
        "dataset": dataset,
        "method": method,
        "part": subset,
        "splits": len(splits),
        "n": len(ratios),
        "mean_rms": rms((latents[f"mean_{method}"] - latents["mean"]) / sd),
        "mean_noise": rms(latents["se_mean"] / sd),
        "log_variance_bias": ratios.mean(),
        "log_variance_bias_se": error_of_mean(noise, sizes),
        "log_variance_rms": rms(ratios),
        "log_variance_noise": rms(noise),
        "above_exact": np.mean(ratios > DECIDED * noise),
        "below_exact": np.mean(ratios < -DECIDED * noise),
        "r_hat_max": max(each[subset]["r_hat_max"] or np.nan for each in details(splits)),
        "effective_size_min": latents["effective_size"].min(),
    }
    if method != "ep":
        line |= _against_ep(ratios, log_ratios(latents, "ep"), noise, sizes)
    if subset == "train":
        evidence, errors = splits["log_evidence"], splits["se_log_evidence"].to_numpy()
        return line | {
            "evidence_exact": evidence.mean(),
            "evidence_error": np.mean(splits[f"log_evidence_{method}"] - evidence),
            "evidence_se": error_of_mean(errors, [1] * len(errors)),
        }
    density, errors = latents["log_density"], latents["se_log_density"].to_numpy()
    return line | {
        "ntll_exact": -density.mean(),
        "ntll_difference": np.mean(density - latents[f"log_density_{method}"]),
        "ntll_se": error_of_mean(errors, sizes),
    }


def _against_ep(
    ratios: np.ndarray, ep: np.ndarray, noise: np.ndarray, sizes: Sequence[int]
) -> dict[str, Any]:
    """Compare a method's and EP's distances from the exact variances, by latent and in mean square."""
    # the exact log variance lies on the method's side of the midpoint by so many standard errors
    side = np.sign(ep - ratios) * (ratios + ep) / 2.0 / noise
    gap = ratios - ep
    return {
        "closer_than_ep": np.mean(side > 0),
        "closer_low": np.mean(side > DECIDED),
        "closer_high": np.mean(side > -DECIDED),
        "excess_over_ep": np.mean(gap * (ratios + ep)),
        "excess_se": error_of_mean(2.0 * np.abs(gap) * noise, sizes),
    }


def rms(values: np.ndarray | pd.Series) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


# The page

TITLE = "The exact posterior beside EP, QP and VB"

LEGEND = """\
The folds of seed 0 of a data set (as-released; Mining: seeds 0 to 9), as many as "Splits" says, all latents
together; every method and the exact posterior at the same hyperparameters, those of EP's first tuning. The
exact posterior is sampled by elliptical slice sampling, its evidence by annealed importance sampling.
Ratios: geometric mean over the latents; rms: of the log ratio.
"±" and "noise" are Monte-Carlo standard errors of the exact values (upper bounds for means over latents).
NTLL: mean over the test points; one below the exact posterior's does better on these points but is no
nearer to what the model says.
"QP closer": share of latents where QP's variance is closer to the exact one than EP's, in brackets the share
that is decided by two standard errors, and that share with all undecided latents added.
"Verdict" compares EP and QP by mean squared log error: undecided within two standard errors."""

SAMPLER_LEGEND = (
    "The worst of the splits. R-hat: the largest of any latent; min. size: the smallest effective sample. "
    "Draws are weighted instead of chained; eff. draws, runs: how many equally weighted ones they are worth. "
    "Steps, runs: of the annealing; "
    "heaviest: the largest weight's share. Core-seconds: of all. Where eff. runs are few the standard error "
    "of the log evidence is itself uncertain."
)

LABELS = {"ep": "EP", "qp": "QP", "vb": "VB"}


def verdict(qp: Any) -> str:
    """Name the method, EP or QP, with the smaller mean squared log-variance error."""
    if abs(qp.excess_over_ep) <= DECIDED * qp.excess_se:
        return "undecided"
    return "EP closer" if qp.excess_over_ep > 0 else "QP closer"


def _closer(lines: ByMethod) -> str:
    qp = lines["qp"]
    return f"{qp.closer_than_ep:.2f} ({qp.closer_low:.2f}-{qp.closer_high:.2f})"


def _of_method(heading: str, method: str, name: str, form: str, factor: float = 1.0) -> Column:
    return Column(heading, lambda lines: factor * getattr(lines[method], name), form)


def _of_each(heading: str, name: str, form: str, factor: float = 1.0) -> list[Column]:
    """Return one column for each method; its name replaces ``{}`` in the heading."""
    return [_of_method(heading.format(label), method, name, form, factor) for method, label in LABELS.items()]


def _ratio(heading: str, method: str) -> Column:
    return Column(heading, lambda lines: np.exp(lines[method].log_variance_bias), ".4f")


DATA = text("Data", lambda lines: lines["ep"].row)
VARIANCES = (
    DATA,
    Column("Splits", lambda lines: lines["qp"].splits),
    Column("n", lambda lines: lines["qp"].n),
    *(_ratio(label, method) for method, label in LABELS.items()),
    _of_method("±", "qp", "log_variance_bias_se", ".4f"),
    *_of_each("rms {}", "log_variance_rms", ".4f"),
    _of_method("noise", "qp", "log_variance_noise", ".4f"),
    Column("QP closer", _closer),
    Column("Verdict", lambda lines: verdict(lines["qp"])),
)
"""Variances over exact ones, geometric means over the latents, and their errors."""

MEANS = (DATA, *_of_each("rms {}", "mean_rms", ".4f"), _of_method("noise", "ep", "mean_noise", ".4f"))
SCORES = {
    "Test log density: NTLL, x 10^-3 nats": (
        "test",
        (
            DATA,
            _of_method("Exact", "ep", "ntll_exact", ".3f", 1e3),
            _of_method("±", "ep", "ntll_se", ".3f", 1e3),
            *_of_each("{} - exact", "ntll_difference", "+z.3f", 1e3),
        ),
    ),
    "Log evidence, nats": (
        "train",
        (
            DATA,
            _of_method("Exact", "ep", "evidence_exact", ".3f"),
            _of_method("±", "ep", "evidence_se", ".3f"),
            *_of_each("{} - exact", "evidence_error", "+z.3f"),
        ),
    ),
}
"""Title -> part of the summary, columns."""


def _of_sampler(heading: str, block: str, name: str, form: str, pick: Callable[..., Any] = min) -> Column:
    """Return the column of a number of the sampler, ``-`` if that kind of sampler has none."""

    def cell(sampler: Sampler) -> str:
        numbers = [each[block][name] for each in sampler[1] if each[block] and name in each[block]]
        return format(pick(numbers), form) if numbers else "-"

    return Column(heading, cell)


def _r_hat(sampler: Sampler) -> str:
    values = [each[subset]["r_hat_max"] for each in sampler[1] for subset in SUBSETS]
    return "-" if None in values else f"{max(values):.3f}"


SAMPLER = (
    text("Data", lambda sampler: ROWS[sampler[0]["dataset"].iloc[0]]),
    Column("Splits", lambda sampler: len(sampler[1])),
    _of_sampler("Draws", "sampler", "draws", ","),
    _of_sampler("Eff. draws", "sampler", "effective", ",.0f"),
    _of_sampler("Chains", "sampler", "chains", "d"),
    _of_sampler("Iterations", "sampler", "iterations", ","),
    Column("Sweeps", lambda sampler: "yes" if any(x["sampler"].get("sweeps") for x in sampler[1]) else "no"),
    Column("R-hat", _r_hat),
    Column("Min. size", lambda sampler: sampler[0]["effective_size"].min(), ",.0f"),
    _of_sampler("Steps", "annealing", "steps", "d"),
    _of_sampler("Runs", "annealing", "runs", ","),
    _of_sampler("Eff. runs", "annealing", "effective", ",.0f"),
    _of_sampler("Heaviest", "annealing", "share_of_heaviest", ".4f", max),
    Column("Core-seconds", lambda sampler: sum(sum(x["seconds"].values()) for x in sampler[1]), ".0f"),
)
"""Columns of the latents and the diagnostics of a data set."""


def write_page(
    splits: pd.DataFrame,
    latents: pd.DataFrame,
    table: pd.DataFrame,
    path: str | Path,
    note: Sequence[str] = (),
) -> Path:
    """Write the summary as Markdown that is legible as plain text, with the sampler's diagnostics.

    ``note`` has lines about repeated records (`papers.core.provenance.note`).
    """
    by_part = {
        subset: [
            {line.method: line for line in lines.itertuples(index=False)}
            for _, lines in of_part.groupby("row", sort=False)
        ]
        for subset, of_part in table.groupby("part")
    }
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), "", *([*note, ""] if note else [])]
    for subset, name in (("test", "Test latents"), ("train", "Training latents")):
        lines += [f"## {name}: variance over exact variance", ""]
        lines += [*render.markdown(VARIANCES, by_part[subset]), ""]
        lines += [f"## {name}: error of the mean, in exact posterior standard deviations", ""]
        lines += [*render.markdown(MEANS, by_part[subset]), ""]
    for title, (subset, columns) in SCORES.items():
        lines += [f"## {title}", "", *render.markdown(columns, by_part[subset]), ""]
    samplers = [
        (latents[latents["dataset"] == name], details(of_dataset))
        for name, of_dataset in splits.groupby("dataset", sort=False)
    ]
    lines += ["## How it was sampled", "", *textwrap.wrap(SAMPLER_LEGEND, WIDTH), ""]
    lines += [*render.markdown(SAMPLER, samplers), ""]
    lines += [line for sampler in samplers for line in _mirror(sampler)]
    return write_text(path, "\n".join(lines).rstrip() + "\n")


def _mirror(sampler: Sampler) -> list[str]:
    """Describe the effect of the sign symmetry of f^2 on a data set of counts, on its most affected split."""
    latents, of_splits = sampler
    mirrors = [each["mirror"] for each in of_splits if "mirror" in each]
    if not mirrors:
        return []
    most = max(mirrors, key=lambda mirror: float(mirror["log_odds"]))
    odds = f"{most['log_odds']:+.2f} ± {most['se_log_odds']:.2f}"
    text = (
        f"{ROWS[latents['dataset'].iloc[0]]}: the likelihood cannot tell f from -f. The mode at negative f, "
        f"which is not sampled, has a log evidence of {odds} relative to the other where it has most. Of 32 "
        f"chains started there in the two modes in equal parts, {most['ended_at_other_sign']} ended at "
        f"negative f (R-hat {most['r_hat_both_signs']:.2f})."
    )
    return textwrap.wrap(text, WIDTH)
