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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence.claims import load
from papers.evidence.grid import WIDTH, grid
from papers.evidence.store import write_text
from papers.qp.published import ROWS
from papers.qp.truth import METHODS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    ByMethod = Mapping[str, Any]
    Columns = dict[str, Callable[[ByMethod], str]]

PARTS = ("train", "test")
DECIDED = load()["QP10"].margin["standard_errors"]
"""Standard errors beyond which a comparison counts as decided."""

COLUMNS = tuple(
    "row dataset method part n mean_rms mean_noise log_variance_bias log_variance_bias_se log_variance_rms "
    "log_variance_noise above_exact below_exact closer_than_ep closer_low closer_high excess_over_ep "
    "excess_se ntll_exact ntll_difference ntll_se evidence_exact evidence_error evidence_se "
    "r_hat_max effective_size_min".split()
)
"""Columns of the summary. ``above_exact``, ``below_exact``: share of latents whose variance is shown to lie
there, by more than `DECIDED` standard errors; ``closer_than_ep``: share of latents whose variance is closer
to the exact one than EP's, and the same counting only what is decided (low) or adding all that is not (high);
``excess_over_ep``: mean squared log-variance error minus EP's; ``ntll_exact`` (test rows) and
``evidence_exact`` (train rows): under the exact posterior, nats; ``ntll_difference`` and ``evidence_error``:
the method's minus these."""


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

SAMPLER_LEGEND = (
    "R-hat: the largest of any latent; min. size: the smallest effective sample. Steps, runs: of the "
    "annealing; eff. runs: how many equally weighted ones the weights are worth; heaviest: the largest "
    "weight's share. Where eff. runs are few the standard error of the log evidence is itself uncertain."
)

OVERVIEW_LEGEND = (
    "One fold a data set, EP, QP, VB and the exact posterior (elliptical slice sampling) at the same "
    "hyperparameters. Variance over exact variance, geometric mean over the latents, and the rms of the "
    "log ratio; the verdict compares EP and QP by the latter. NTLL is the mean over the fold's test "
    "points; one below the exact posterior's does better on these points but is no nearer to what the model "
    "says. ± and noise: Monte-Carlo standard errors of the exact numbers, upper bounds for "
    "means over points. The sampler's diagnostics are in `qp_truth.md`."
)


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
        "above_exact": np.mean(ratios > DECIDED * noise),
        "below_exact": np.mean(ratios < -DECIDED * noise),
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


# Tables to read: a heading and what stands under it, given a row's lines of the summary by method

LABELS = {"ep": "EP", "qp": "QP", "vb": "VB"}
VERDICTS = ("QP closer", "EP closer", "undecided")


def verdict(qp: Any) -> str:
    """Which of EP and QP has the smaller mean squared log-variance error."""
    if abs(qp.excess_over_ep) <= DECIDED * qp.excess_se:
        return "undecided"
    return "EP closer" if qp.excess_over_ep > 0 else "QP closer"


def _closer(lines: ByMethod) -> str:
    qp = lines["qp"]
    return f"{qp.closer_than_ep:.2f} ({qp.closer_low:.2f}-{qp.closer_high:.2f})"


def _each(heading: str, text: Callable[[Any], str]) -> Columns:
    """A column a method, ``{}`` in the heading its name."""

    def cell(method: str) -> Callable[[ByMethod], str]:
        return lambda lines: text(lines[method])

    return {heading.format(label): cell(method) for method, label in LABELS.items()}


RATIOS = _each("{}", lambda line: f"{np.exp(line.log_variance_bias):.4f}")
"""Variance over exact variance, geometric mean over the latents."""

ERRORS = _each("rms {}", lambda line: f"{line.log_variance_rms:.4f}")
VERDICT: Columns = {"Verdict": lambda lines: verdict(lines["qp"])}
OVERVIEW = {**RATIOS, **ERRORS, **VERDICT}
VARIANCES = {
    "n": lambda lines: str(lines["qp"].n),
    **RATIOS,
    "±": lambda lines: f"{lines['qp'].log_variance_bias_se:.4f}",
    **ERRORS,
    "noise": lambda lines: f"{lines['qp'].log_variance_noise:.4f}",
    "QP closer": _closer,
    **VERDICT,
}
MEANS = {
    **_each("rms {}", lambda line: f"{line.mean_rms:.4f}"),
    "noise": lambda lines: f"{lines['ep'].mean_noise:.4f}",
}
SCORES: dict[str, tuple[str, Columns]] = {
    "Test log density: NTLL, x 10^-3 nats": (
        "test",
        {
            "Exact": lambda lines: f"{1e3 * lines['ep'].ntll_exact:.3f}",
            "±": lambda lines: f"{1e3 * lines['ep'].ntll_se:.3f}",
            **_each("{} - exact", lambda line: f"{1e3 * line.ntll_difference:+z.3f}"),
        },
    ),
    "Log evidence, nats": (
        "train",
        {
            "Exact": lambda lines: f"{lines['ep'].evidence_exact:.3f}",
            "±": lambda lines: f"{lines['ep'].evidence_se:.3f}",
            **_each("{} - exact", lambda line: f"{line.evidence_error:+z.3f}"),
        },
    ),
}
"""Title -> part of the summary, columns."""

SAMPLER: dict[str, Callable[[Any], str]] = {
    "Chains": lambda truth: str(truth["sampler"]["chains"]),
    "Iterations": lambda truth: f"{truth['sampler']['iterations']:,}",
    "Sweeps": lambda truth: "yes" if truth["sampler"]["sweeps"] else "no",
    "R-hat": lambda truth: f"{max(truth[part]['r_hat_max'] for part in PARTS):.3f}",
    "Min. size": lambda truth: f"{min(min(truth[part]['effective_size']) for part in PARTS):,.0f}",
    "Steps": lambda truth: str(truth["annealing"]["steps"]),
    "Runs": lambda truth: f"{truth['annealing']['runs']:,}",
    "Eff. runs": lambda truth: f"{truth['annealing']['effective']:,.0f}",
    "Heaviest": lambda truth: f"{truth['annealing']['share_of_heaviest']:.4f}",
    "Core-seconds": lambda truth: f"{sum(truth['seconds'].values()):.0f}",
}
"""Heading -> what stands under it, given the truth of a record."""


def _rows(table: pd.DataFrame, half: str) -> list[tuple[str, ByMethod]]:
    """Row of the paper's table, and its lines by method."""
    return [
        (row, {line.method: line for line in lines.itertuples(index=False)})
        for row, lines in table[table["part"] == half].groupby("row", sort=False)
    ]


def _grid(rows: Iterable[tuple[str, Any]], columns: Mapping[str, Callable[[Any], str]]) -> list[str]:
    cells = [(row, *(text(given) for text in columns.values())) for row, given in rows]
    return grid(("Data", *columns), "l" + "r" * len(columns), cells)


def write_markdown(
    records: Sequence[dict[str, Any]], table: pd.DataFrame, path: str | Path, note: Sequence[str] = ()
) -> Path:
    """The summary as Markdown that is legible as plain text, with the sampler's diagnostics.

    ``note``: lines about what of the records was made again (`papers.evidence.standing.note`).
    """
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), "", *([*note, ""] if note else [])]
    for half, name in (("test", "Test latents"), ("train", "Training latents")):
        rows = _rows(table, half)
        lines += [f"## {name}: variance over exact variance", "", *_grid(rows, VARIANCES), ""]
        lines += [f"## {name}: error of the mean, in exact posterior standard deviations", ""]
        lines += [*_grid(rows, MEANS), ""]
    for title, (half, columns) in SCORES.items():
        lines += [f"## {title}", "", *_grid(_rows(table, half), columns), ""]
    samplers = [(ROWS[record["dataset"]], record["truth"]) for record in records]
    lines += ["## How it was sampled", "", *textwrap.wrap(SAMPLER_LEGEND, WIDTH), ""]
    lines += [*_grid(samplers, SAMPLER), ""]
    lines += [line for record in records for line in _mirror(record)]
    return write_text(path, "\n".join(lines).rstrip() + "\n")


def overview(records: Sequence[dict[str, Any]], note: Sequence[str] = ()) -> str:
    """What the ground truth says: variances, means, test log densities, evidence; a section of the audit."""
    table = summary(records)
    lines = ["## Ground truth: are QP's smaller variances closer to the exact ones, or merely smaller?", ""]
    lines += [*textwrap.wrap(OVERVIEW_LEGEND, WIDTH), *(["", *note] if note else [])]
    for half, name in (("test", "test"), ("train", "training")):
        rows = _rows(table, half)
        verdicts = [verdict(by_method["qp"]) for _, by_method in rows]
        counted = ", ".join(f"{v} on {verdicts.count(v)}" for v in VERDICTS)
        lines += ["", f"**Variances at {name} inputs**: {counted} of {len(verdicts)} rows.", ""]
        lines += _grid(rows, OVERVIEW)
    lines += ["", "**Means at test inputs**: rms error, in exact posterior standard deviations.", ""]
    lines += _grid(_rows(table, "test"), MEANS)
    for title, (half, columns) in SCORES.items():
        lines += ["", f"**{title}**: of the exact posterior, then each method's minus it.", ""]
        lines += _grid(_rows(table, half), columns)
    return "\n".join(["", *lines, ""])


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
