"""Are QP's smaller variances closer to the exact ones, or merely smaller? Records to tables.

A record (`papers.qp.truth`) holds the latent means and variances of EP, QP and VB at the training and
test inputs of one fold, and the exact ones with their Monte-Carlo standard errors. Errors of variances are
those of their logarithms: 0.01 is one per cent.

Monte-Carlo errors of different latents come from the same chains and are correlated. The error of a mean
over latents is therefore taken as the mean of their errors, its value under full correlation and an upper
bound under any.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence.grid import WIDTH, grid
from papers.evidence.store import write_text
from papers.qp.published import ROWS
from papers.qp.truth import METHODS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

PARTS = ("train", "test")
DECIDED = 2.0
"""Standard errors beyond which a comparison counts as decided."""

COLUMNS = tuple(
    "row dataset method part n mean_rms mean_noise log_variance_bias log_variance_bias_se log_variance_rms "
    "log_variance_noise closer_than_ep closer_low closer_high excess_over_ep excess_se ntll_exact "
    "ntll_difference ntll_se evidence_exact evidence_error evidence_se r_hat_max effective_size_min".split()
)
"""Columns of the summary. ``closer_than_ep``: share of latents whose variance is closer to the exact one
than EP's, and the same counting only what is decided (low) or adding all that is not (high);
``excess_over_ep``: mean squared log-variance error minus EP's; ``ntll_exact`` (test rows) and
``evidence_exact`` (train rows): under the exact posterior, nats; ``ntll_difference`` and ``evidence_error``:
the method's minus these."""


def summary(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """One line for each data set, method and part, with `COLUMNS`; a number that does not exist is NaN."""
    import pandas as pd

    lines = [_line(record, m, part) for record in records for m in METHODS for part in PARTS]
    return pd.DataFrame(lines, columns=COLUMNS)


def log_ratios(record: dict[str, Any], method: str, part: str) -> np.ndarray:
    """log of a method's variance over the exact one, for each latent of a part."""
    variance = np.asarray(record["methods"][method][part]["variance"])
    return np.log(variance / np.asarray(record["truth"][part]["variance"]))


def log_variance_errors(record: dict[str, Any], part: str) -> np.ndarray:
    """Monte-Carlo standard errors of the logarithms of the exact variances."""
    truth = record["truth"][part]
    return np.asarray(truth["se_variance"]) / np.asarray(truth["variance"])


def mean_errors(record: dict[str, Any], method: str, part: str) -> np.ndarray:
    """Errors of the latent means, in exact posterior standard deviations."""
    truth = record["truth"][part]
    difference = np.asarray(record["methods"][method][part]["mean"]) - np.asarray(truth["mean"])
    return difference / np.sqrt(truth["variance"])


def _line(record: dict[str, Any], method: str, part: str) -> dict[str, Any]:
    truth = record["truth"][part]
    ratios, noise = log_ratios(record, method, part), log_variance_errors(record, part)
    line = {
        "row": ROWS[record["dataset"]],
        "dataset": record["dataset"],
        "method": method,
        "part": part,
        "n": len(ratios),
        "mean_rms": _rms(mean_errors(record, method, part)),
        "mean_noise": _rms(np.asarray(truth["se_mean"]) / np.sqrt(truth["variance"])),
        "log_variance_bias": ratios.mean(),
        "log_variance_bias_se": noise.mean(),
        "log_variance_rms": _rms(ratios),
        "log_variance_noise": _rms(noise),
        "r_hat_max": truth["r_hat_max"],
        "effective_size_min": min(truth["effective_size"]),
    }
    if method != "ep":
        line |= _against_ep(ratios, log_ratios(record, "ep", part), noise)
    return line | (_evidence(record, method) if part == "train" else _density(record, method))


def _against_ep(ratios: np.ndarray, ep: np.ndarray, noise: np.ndarray) -> dict[str, Any]:
    """Whose variance is closer to the exact one, latent by latent and in the mean square."""
    # the exact log variance lies on the method's side of the midpoint by so many standard errors
    side = np.sign(ep - ratios) * (ratios + ep) / 2.0 / noise
    gap = ratios - ep
    return {
        "closer_than_ep": np.mean(side > 0),
        "closer_low": np.mean(side > DECIDED),
        "closer_high": np.mean(side > -DECIDED),
        "excess_over_ep": np.mean(gap * (ratios + ep)),
        "excess_se": np.mean(2.0 * np.abs(gap) * noise),
    }


def _density(record: dict[str, Any], method: str) -> dict[str, Any]:
    truth = record["truth"]
    difference = np.asarray(truth["log_density"]) - np.asarray(record["methods"][method]["log_density"])
    return {
        "ntll_exact": -np.mean(truth["log_density"]),
        "ntll_difference": difference.mean(),
        "ntll_se": np.mean(truth["se_log_density"]),
    }


def _evidence(record: dict[str, Any], method: str) -> dict[str, Any]:
    exact = record["truth"]["log_evidence"]
    return {
        "evidence_exact": exact,
        "evidence_error": record["methods"][method]["log_evidence"] - exact,
        "evidence_se": record["truth"]["se_log_evidence"],
    }


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def write_csv(table: pd.DataFrame, path: str | Path) -> Path:
    """The summary as CSV, 6 significant digits; an empty cell is a number that does not exist."""
    return write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))


def write_markdown(
    records: Sequence[dict[str, Any]], table: pd.DataFrame, path: str | Path, note: Sequence[str] = ()
) -> Path:
    """The summary as Markdown that is legible as plain text, with the sampler's diagnostics.

    ``note``: lines about what of the records was made again (`papers.evidence.standing.note`).
    """
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), "", *([*note, ""] if note else [])]
    for half, name in (("test", "Test latents"), ("train", "Training latents")):
        lines += [f"## {name}: variance over exact variance", ""]
        lines += [*grid(VARIANCE_HEADER, _aligned(VARIANCE_HEADER), _variances(table, half)), ""]
        lines += [f"## {name}: error of the mean, in exact posterior standard deviations", ""]
        lines += [*grid(MEAN_HEADER, _aligned(MEAN_HEADER), _means(table, half)), ""]
    lines += [f"## {SCORES['density']}", "", *_score_table(table, "density"), ""]
    lines += [f"## {SCORES['evidence']}", "", *_score_table(table, "evidence"), ""]
    lines += ["## How it was sampled", "", *textwrap.wrap(SAMPLER_LEGEND, WIDTH), ""]
    lines += [*grid(SAMPLER_HEADER, _aligned(SAMPLER_HEADER), _samplers(records)), ""]
    lines += [line for record in records for line in _mirror(record)]
    return write_text(path, "\n".join(lines).rstrip() + "\n")


def _aligned(header: Sequence[str]) -> str:
    """First column left, the others right."""
    return "l" + "r" * (len(header) - 1)


TITLE = "The exact posterior beside EP, QP and VB"

LEGEND = """\
One fold a data set (as-released, seed 0, fold 0); every method and the exact posterior at the same
hyperparameters, those of EP's first tuning. The exact posterior is sampled by elliptical slice sampling, its
evidence by annealed importance sampling. Ratios: geometric mean over the latents; rms: of the log ratio.
"±" and "noise" are Monte-Carlo standard errors of the exact values (upper bounds for means over latents).
NTLL: mean over the fold's test points; one below the exact posterior's does better on these points but is no
nearer to what the model says.
"QP closer": share of latents where QP's variance is closer to the exact one than EP's, in brackets the share
that is decided by two standard errors, and that share with all undecided latents added.
"Verdict" compares EP and QP by mean squared log error: undecided within two standard errors."""

RMS = ("rms EP", "rms QP", "rms VB")
VARIANCE_HEADER = ("Data", "n", "EP", "QP", "VB", "±", *RMS, "noise", "QP closer", "Verdict")
MEAN_HEADER = ("Data", *RMS, "noise")
SCORE_HEADER = ("Data", "Exact", "±", "EP - exact", "QP - exact", "VB - exact")
SCORES = {"density": "Test log density: NTLL, x 10^-3 nats", "evidence": "Log evidence, nats"}
SAMPLER_HEADER = (
    *("Data", "Chains", "Iterations", "Sweeps", "R-hat", "Min. size"),
    *("Steps", "Runs", "Eff. runs", "Heaviest", "Core-seconds"),
)
SAMPLER_LEGEND = (
    "R-hat: the largest of any latent; min. size: the smallest effective sample. Steps, runs: of the "
    "annealing; eff. runs: how many equally weighted ones the weights are worth; heaviest: the largest "
    "weight's share. Where eff. runs are few the standard error of the log evidence is itself uncertain."
)
OVERVIEW_HEADER = ("Data", "EP", "QP", "VB", *RMS, "Verdict")


def overview(records: Sequence[dict[str, Any]], note: Sequence[str] = ()) -> str:
    """What the ground truth says: variances, means, test log densities, evidence; a section of the audit."""
    table = summary(records)
    lines = ["## Ground truth: are QP's smaller variances closer to the exact ones, or merely smaller?", ""]
    lines += [*textwrap.wrap(OVERVIEW_LEGEND, WIDTH), *(["", *note] if note else [])]
    for half, name in (("test", "test"), ("train", "training")):
        verdicts, cells = [], []
        for row, by_method in _rows(table, half):
            verdicts.append(verdict(by_method["qp"]))
            cells.append((row, *_ratios(by_method), *_rms_cells(by_method), verdicts[-1]))
        counted = ", ".join(f"{v} on {verdicts.count(v)}" for v in VERDICTS)
        lines += ["", f"**Variances at {name} inputs**: {counted} of {len(verdicts)} rows.", ""]
        lines += grid(OVERVIEW_HEADER, _aligned(OVERVIEW_HEADER), cells)
    lines += ["", "**Means at test inputs**: rms error, in exact posterior standard deviations.", ""]
    lines += grid(MEAN_HEADER, _aligned(MEAN_HEADER), _means(table, "test"))
    for name, title in SCORES.items():
        lines += ["", f"**{title}**: of the exact posterior, then each method's minus it.", ""]
        lines += _score_table(table, name)
    return "\n".join(["", *lines, ""])


OVERVIEW_LEGEND = (
    "One fold a data set, EP, QP, VB and the exact posterior (elliptical slice sampling) at the same "
    "hyperparameters. Variance over exact variance, geometric mean over the latents, and the rms of the "
    "log ratio; the verdict compares EP and QP by the latter. NTLL is the mean over the fold's test "
    "points; one below the exact posterior's does better on these points but is no nearer to what the model "
    "says. ± and noise: Monte-Carlo standard errors of the exact numbers, upper bounds for "
    "means over points. The sampler's diagnostics are in `qp_truth.md`."
)


def _rows(table: pd.DataFrame, half: str) -> Iterable[tuple[str, dict[str, Any]]]:
    """Row of the paper's table -> the lines of its methods."""
    for row, lines in table[table["part"] == half].groupby("row", sort=False):
        yield row, {line.method: line for line in lines.itertuples(index=False)}


def _ratios(by_method: Mapping[str, Any]) -> list[str]:
    """Variance over exact variance of each method, geometric mean over the latents."""
    return [f"{np.exp(by_method[method].log_variance_bias):.4f}" for method in METHODS]


def _rms_cells(by_method: Mapping[str, Any]) -> list[str]:
    return [f"{by_method[method].log_variance_rms:.4f}" for method in METHODS]


def _variances(table: pd.DataFrame, half: str) -> list[tuple[str, ...]]:
    cells = []
    for row, by_method in _rows(table, half):
        qp = by_method["qp"]
        spread = f"{qp.log_variance_bias_se:.4f}", *_rms_cells(by_method), f"{qp.log_variance_noise:.4f}"
        closer = f"{qp.closer_than_ep:.2f} ({qp.closer_low:.2f}-{qp.closer_high:.2f})"
        cells.append((row, str(qp.n), *_ratios(by_method), *spread, closer, verdict(qp)))
    return cells


VERDICTS = ("QP closer", "EP closer", "undecided")


def verdict(qp: Any) -> str:
    """Which of EP and QP has the smaller mean squared log-variance error."""
    if abs(qp.excess_over_ep) <= DECIDED * qp.excess_se:
        return "undecided"
    return "EP closer" if qp.excess_over_ep > 0 else "QP closer"


def _means(table: pd.DataFrame, half: str) -> list[tuple[str, ...]]:
    return [
        (row, *(f"{lines[m].mean_rms:.4f}" for m in METHODS), f"{lines['ep'].mean_noise:.4f}")
        for row, lines in _rows(table, half)
    ]


def _score_table(table: pd.DataFrame, name: str) -> list[str]:
    """The exact NTLL or log evidence, and each method's minus it."""
    half, stem, scale = {"density": ("test", "ntll", 1e3), "evidence": ("train", "evidence", 1.0)}[name]
    difference = {"density": "ntll_difference", "evidence": "evidence_error"}[name]
    cells = []
    for row, lines in _rows(table, half):
        exact = [f"{scale * getattr(lines['ep'], f'{stem}_{number}'):.3f}" for number in ("exact", "se")]
        errors = [f"{scale * getattr(lines[m], difference):+z.3f}" for m in METHODS]
        cells.append((row, *exact, *errors))
    return grid(SCORE_HEADER, _aligned(SCORE_HEADER), cells)


def _samplers(records: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    cells: list[tuple[str, ...]] = []
    for record in records:
        truth = record["truth"]
        sampler, annealing = truth["sampler"], truth["annealing"]
        worst = max(truth[part]["r_hat_max"] for part in PARTS)
        smallest = min(min(truth[part]["effective_size"]) for part in PARTS)
        cells.append(
            (
                ROWS[record["dataset"]],
                str(sampler["chains"]),
                f"{sampler['iterations']:,}",
                "yes" if sampler["sweeps"] else "no",
                f"{worst:.3f}",
                f"{smallest:,.0f}",
                str(annealing["steps"]),
                f"{annealing['runs']:,}",
                f"{annealing['effective']:,.0f}",
                f"{annealing['share_of_heaviest']:.4f}",
                f"{sum(truth['seconds'].values()):.0f}",
            )
        )
    return cells


def _mirror(record: dict[str, Any]) -> list[str]:
    """What the sign symmetry of f^2 does to a data set of counts."""
    mirror = record["truth"].get("mirror")
    if mirror is None:
        return []
    odds = f"{mirror['log_odds']:+.2f} ± {mirror['se_log_odds']:.2f}"
    text = (
        f"{ROWS[record['dataset']]}: the likelihood cannot tell f from -f. The mode at negative f, which is "
        f"not sampled, has a log evidence of {odds} relative to the other. Of 32 chains started in the two "
        f"modes in equal parts, {mirror['ended_at_other_sign']} ended at negative f "
        f"(R-hat {mirror['r_hat_both_signs']:.2f})."
    )
    return textwrap.wrap(text, WIDTH)
