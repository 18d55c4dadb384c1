"""Tables and pages of the accuracy against the exact posterior: ``qp_truth`` and ``qp_nearer``.

``qp_truth`` asks whether QP's smaller variances are closer to the exact ones, or merely smaller.
``qp_nearer`` has the errors of seven approximations. A row of either is about all splits of a data set.
Errors of variances are those of their logarithms (0.01 is one per cent), of means in exact standard
deviations, of log densities and log evidences in nats. Each has the Monte-Carlo error of the exact numbers
next to it; smaller differences are not measurable.

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
from papers.core.store import write_csv, write_text
from papers.qp.accuracy.exact_posterior import SUBSETS
from papers.qp.accuracy.records import SPLIT
from papers.qp.published import ROWS, TRUTH_METHODS, is_counts
from papers.qp.table1 import exact_and_learned
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, SAMPLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    ByMethod = Mapping[str, Any]
    Sampler = tuple[pd.DataFrame, list[dict[str, Any]]]

TEN = 10
"""Splits that make a row complete."""
DECIDED = load()["QP10"].margin["standard_errors"]
"""Standard errors beyond which a comparison counts as decided."""
QUARTER = load()["OURS2"].margin["share"]


# Numbers


def error_of_mean(errors: np.ndarray, sizes: Sequence[int]) -> float:
    """Return the standard error of the mean of latents with these errors [N], of splits of these sizes."""
    sums = [np.sum(each) for each in np.split(errors, np.cumsum(sizes)[:-1])]
    return float(np.sqrt(np.sum(np.square(sums))) / len(errors))


def rms(values: np.ndarray | pd.Series) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))


TRUTH_COLUMNS = tuple(
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


def summarise_truth(splits: pd.DataFrame, latents: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each data set, method and part, with `TRUTH_COLUMNS`; NaN where no number exists.

    Parameters
    ----------
    splits, latents : pandas.DataFrame
        `papers.qp.accuracy.records.TRUTH` and `TRUTH_LATENTS`.
    """
    import pandas as pd

    by_part = dict(iter(latents.groupby(["dataset", "part"])))
    lines = [
        _truth_line(of_dataset, by_part[dataset, subset], method, subset)
        for dataset, of_dataset in splits.groupby("dataset", sort=False)
        for method in TRUTH_METHODS
        for subset in SUBSETS
    ]
    return pd.DataFrame(lines, columns=TRUTH_COLUMNS)


def details(splits: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the sampler's diagnostics of each split."""
    return [json.loads(text) for text in splits["details"]]


def log_ratios(latents: pd.DataFrame, method: str) -> np.ndarray:
    """Return the log of a method's variance over the exact one, for each latent."""
    return np.log((latents[f"variance_{method}"] / latents["variance"]).to_numpy())


def log_variance_errors(latents: pd.DataFrame) -> np.ndarray:
    """Return Monte-Carlo standard errors of the logarithms of the exact variances."""
    return (latents["se_variance"] / latents["variance"]).to_numpy()


def _truth_line(splits: pd.DataFrame, latents: pd.DataFrame, method: str, subset: str) -> dict[str, Any]:
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


NEARER_COLUMNS = tuple(
    "row dataset method splits n n_train not_trusted evidences_not_trusted variance_rms variance_noise "
    "mean_rms mean_noise density_error density_noise evidence_error evidence_noise variance_excess "
    "variance_excess_se density_gap density_gap_se evidence_gap evidence_gap_se ntll overconfidence seconds "
    "milliseconds".split()
)
"""Columns of the summary, a row for each (data set, method). ``*_rms``, ``*_error``: root mean square, mean
absolute error; ``*_noise``: the Monte-Carlo error of the exact numbers in the same mean.
``variance_excess``: mean squared log-variance error minus EP's; ``density_gap``: mean absolute error of
the log density minus EP's; ``evidence_gap``: mean absolute error of the evidence minus a quarter of
EP's. ``overconfidence``: of labels, mean probability of the likelier one minus the share of test points
that have it. ``seconds`` of inference and evidence a split, ``milliseconds`` a test point: of a
processor, medians over splits."""


def summarise_approximations(
    fits: pd.DataFrame, latents: pd.DataFrame, truth: pd.DataFrame, exact: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each (data set, method), over the splits with approximations and an exact posterior.

    Parameters
    ----------
    fits, latents : pandas.DataFrame
        `papers.qp.accuracy.records.NEARER_FITS`, `NEARER_LATENTS`.
    truth, exact : pandas.DataFrame
        `papers.qp.accuracy.records.TRUTH`, `TRUTH_LATENTS`.
    """
    import pandas as pd

    keys = list(SPLIT)
    splits = truth.merge(fits, on=keys, suffixes=("", "_own"))
    splits = splits.assign(evidence=np.abs(splits["log_evidence_own"] - splits["log_evidence"]))
    points = exact[exact["part"] == "test"].merge(latents, on=[*keys, "point"], suffixes=("", "_own"))
    points = points.assign(
        log_ratio=np.log(points["variance_own"] / points["variance"]),
        distance=(points["mean_own"] - points["mean"]) / np.sqrt(points["variance"]),
        density=np.abs(points["log_density_own"] - points["log_density"]),
    )
    splits, points = _beside_ep(splits, keys), _beside_ep(points, [*keys, "point"])
    points_of = points.groupby(["dataset", "method"])
    lines = [
        _approximation_line(of_method, points_of.get_group(name))
        for name, of_method in splits.groupby(["dataset", "method"], sort=False)
    ]
    return pd.DataFrame(lines, columns=NEARER_COLUMNS)


def _beside_ep(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return rows with the columns of EP's row of the same keys, whose names end in ``_ep``."""
    return rows.merge(rows[rows["method"] == "ep"], on=keys, suffixes=("", "_ep"))


def _approximation_line(splits: pd.DataFrame, points: pd.DataFrame) -> dict[str, Any]:
    """Return the row of a method on a data set."""
    dataset, sizes = splits["dataset"].iloc[0], splits["n_test"].tolist()
    own = {name: points[name].to_numpy() for name in points.columns}
    log_se, gap = own["se_variance"] / own["variance"], own["log_ratio"] - own["log_ratio_ep"]
    moved = np.abs(own["log_density_own"] - own["log_density_own_ep"])
    evidence, se_evidence = splits["evidence"].to_numpy(), splits["se_log_evidence"].to_numpy()
    return {
        "row": ROWS[dataset],
        "dataset": dataset,
        "method": splits["method"].iloc[0],
        "splits": len(splits),
        "n": len(points),
        "n_train": splits["n_train"].iloc[0],
        "not_trusted": int((~own["trusted"]).sum()),
        "evidences_not_trusted": int((~splits["trusted"]).sum()),
        "variance_rms": rms(own["log_ratio"]),
        "variance_noise": rms(log_se),
        "mean_rms": rms(own["distance"]),
        "mean_noise": rms(own["se_mean"] / np.sqrt(own["variance"])),
        "density_error": own["density"].mean(),
        "density_noise": own["se_log_density"].mean(),
        "evidence_error": evidence.mean(),
        "evidence_noise": se_evidence.mean(),
        "variance_excess": np.mean(gap * (own["log_ratio"] + own["log_ratio_ep"])),
        "variance_excess_se": error_of_mean(2.0 * np.abs(gap) * log_se, sizes),
        "density_gap": np.mean(own["density"] - own["density_ep"]),
        # an error of the exact density moves the difference of two distances by at most twice itself,
        # and by at most twice what lies between the two densities
        "density_gap_se": error_of_mean(2.0 * np.minimum(own["se_log_density"], moved), sizes),
        "evidence_gap": np.mean(evidence - QUARTER * splits["evidence_ep"].to_numpy()),
        "evidence_gap_se": error_of_mean((1.0 + QUARTER) * se_evidence, [1] * len(splits)),
        "ntll": -own["log_density_own"].mean(),
        "overconfidence": np.nan if is_counts(dataset) else overconfidence(np.exp(own["log_density_own"])),
        "seconds": splits["seconds_own"].median(),
        "milliseconds": np.median(1e3 * splits["latent_seconds"].to_numpy() / np.array(sizes)),
    }


def confidence(own: np.ndarray) -> np.ndarray:
    """Return the probabilities [N] of the likelier labels, from those of the true labels."""
    return np.maximum(own, 1.0 - own)


def overconfidence(own: np.ndarray) -> float:
    """Return the mean probability of the likelier label minus the share of right ones.

    ``own`` has the probabilities [N] of the true labels.
    """
    return float(confidence(own).mean() - np.mean(own > 0.5))


# Columns of both pages

LABELS = {
    "ep": "EP",
    "qp": "QP",
    "vb": "VB",
    "pep": "Power EP 1/2",
    "laplace": "Laplace",
    CHEAP: "EP, cheap correction",
    NEARLY_EXACT: "EP, nearly exact",
    SAMPLED: "weighted draws",
}
SHORT = {**LABELS, "pep": "PEP 1/2", CHEAP: "cheap", NEARLY_EXACT: "nearly exact", SAMPLED: "draws"}


def _by_method(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return method -> row of the summary, for each data set."""
    return [
        {line.method: line for line in lines.itertuples(index=False)}
        for _, lines in table.groupby("row", sort=False)
    ]


def _of_method(heading: str, method: str, name: str, form: str, factor: float = 1.0) -> Column:
    return Column(heading, lambda lines: factor * getattr(lines.get(method), name, np.nan), form)


DATA = text("Data", lambda lines: lines["ep"].row)


# The page of the exact posterior

TRUTH_TITLE = "The exact posterior beside EP, QP and VB"

TRUTH_LEGEND = """\
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


def verdict(qp: Any) -> str:
    """Name the method, EP or QP, with the smaller mean squared log-variance error."""
    if abs(qp.excess_over_ep) <= DECIDED * qp.excess_se:
        return "undecided"
    return "EP closer" if qp.excess_over_ep > 0 else "QP closer"


def _closer(lines: ByMethod) -> str:
    qp = lines["qp"]
    return f"{qp.closer_than_ep:.2f} ({qp.closer_low:.2f}-{qp.closer_high:.2f})"


def _of_each(heading: str, name: str, form: str, factor: float = 1.0) -> list[Column]:
    """Return one column for each method; its name replaces ``{}`` in the heading."""
    return [
        _of_method(heading.format(LABELS[method]), method, name, form, factor) for method in TRUTH_METHODS
    ]


def _ratio(heading: str, method: str) -> Column:
    return Column(heading, lambda lines: np.exp(lines[method].log_variance_bias), ".4f")


VARIANCES = (
    DATA,
    Column("Splits", lambda lines: lines["qp"].splits),
    Column("n", lambda lines: lines["qp"].n),
    *(_ratio(LABELS[method], method) for method in TRUTH_METHODS),
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


def write_truth_page(
    splits: pd.DataFrame,
    latents: pd.DataFrame,
    table: pd.DataFrame,
    path: str | Path,
    note: Sequence[str] = (),
) -> Path:
    """Write the summary as Markdown that is legible as plain text, with the sampler's diagnostics.

    ``note`` has lines about repeated records (`papers.core.provenance.note`).
    """
    by_part = {subset: _by_method(of_part) for subset, of_part in table.groupby("part")}
    lines = [f"# {TRUTH_TITLE}", "", *TRUTH_LEGEND.splitlines(), "", *([*note, ""] if note else [])]
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


# The page of seven approximations

NEARER_TITLE = "Nearer to the exact posterior than EP"
NEARER_LEGEND = """\
Seven approximations at the same hyperparameters (EP's first tuning, as-released) beside the sampled exact
posterior, at all test latents of the folds of seed 0 (Mining: seeds 0 to 9), as many as "Splits" says.
"Noise": the Monte-Carlo error of the exact numbers, below which nothing can be told. A latent whose
correction is not to be trusted is EP's ("not trusted": how many). "Draws" are no approximation but the exact
posterior of labels once more, by another sampler, ten thousand effective draws if they can be had: how far
two samplers differ. (Pima's exact numbers are of such draws themselves, of other ones.)"""

ERRORS: dict[str, tuple[str, str, str]] = {
    "Variances of test latents: rms of log(v / exact)": ("variance_rms", "variance_noise", ".4f"),
    "Means of test latents: rms error, in exact standard deviations": ("mean_rms", "mean_noise", ".4f"),
    "Predictive log densities: mean absolute error, nats": ("density_error", "density_noise", ".5f"),
    "Log evidence: mean absolute error over splits, nats": ("evidence_error", "evidence_noise", ".3f"),
}
"""Title -> column, column of its noise, format."""

PLAIN = {
    "Test NTLL, nats": ("ntll", ".5f"),
    "Overconfidence: mean probability of the likelier label minus the share of right ones": (
        "overconfidence",
        "+.4f",
    ),
    "Inference and evidence: processor seconds a split": ("seconds", ".3g"),
    "Prediction: processor milliseconds a test point": ("milliseconds", ".3g"),
}


def write_approximations(table: pd.DataFrame, fits: pd.DataFrame, folder: Path) -> None:
    """Write ``qp_nearer.csv`` and ``qp_nearer.md``.

    Parameters
    ----------
    table : pandas.DataFrame
        `summarise_approximations`.
    fits : pandas.DataFrame
        Records of Table 1.
    """
    write_csv(folder / "qp_nearer.csv", table)
    lines = [f"# {NEARER_TITLE}", "", *NEARER_LEGEND.splitlines(), ""]
    for title, (column, noise, number_format) in ERRORS.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format, noise), ""]
    for title, (column, number_format) in PLAIN.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format), ""]
    lines += exact_and_learned.sections(fits)
    write_text(folder / "qp_nearer.md", "\n".join(lines).rstrip() + "\n")


def _of_methods(table: pd.DataFrame, column: str, form: str, noise: str = "") -> list[str]:
    """Return a table with a row for each data set and a column for each method."""

    def untrusted(lines: Mapping[str, Any]) -> str:
        best = lines[NEARLY_EXACT]
        if column.startswith("evidence"):
            return f"{best.evidences_not_trusted} of {best.splits}"
        return f"{best.not_trusted} of {best.n}"

    columns = [
        DATA,
        Column("Splits", lambda lines: lines["ep"].splits),
        *(_of_method(name, method, column, form) for method, name in SHORT.items()),
    ]
    if noise:
        columns += [
            Column("noise", lambda lines: getattr(lines["ep"], noise), form),
            Column("not trusted", untrusted),
        ]
    return render.markdown(columns, _by_method(table))
