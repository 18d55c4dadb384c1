"""The page of ground truth.

A table maps each heading to a function from a row's methods, by name, to the text of the cell.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core.grid import WIDTH, grid
from papers.core.store import write_text
from papers.qp.published import ROWS
from papers.qp.truth.tables import DECIDED, PARTS, by_dataset

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.qp.truth.tables import Record

    ByMethod = Mapping[str, Any]
    Columns = dict[str, Callable[[ByMethod], str]]

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


def _each(heading: str, text: Callable[[Any], str]) -> Columns:
    """Return one column for each method; its name replaces ``{}`` in the heading."""

    def cell(method: str) -> Callable[[ByMethod], str]:
        return lambda lines: text(lines[method])

    return {heading.format(label): cell(method) for method, label in LABELS.items()}


RATIOS = _each("{}", lambda line: f"{np.exp(line.log_variance_bias):.4f}")
"""Variance over exact variance, geometric mean over the latents."""

ERRORS = _each("rms {}", lambda line: f"{line.log_variance_rms:.4f}")
VERDICT: Columns = {"Verdict": lambda lines: verdict(lines["qp"])}
VARIANCES = {
    "Splits": lambda lines: str(lines["qp"].splits),
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


def _of(block: str, name: str, shown: str, pick: Callable[..., Any] = min) -> Callable[[Any], str]:
    """Return the function that formats a number of the sampler, if that kind of sampler has it."""

    def text(truths: Any) -> str:
        numbers = [each[block][name] for each in truths if each[block] and name in each[block]]
        return format(pick(numbers), shown) if numbers else "-"

    return text


def _r_hat(truths: Any) -> str:
    values = [each[half]["r_hat_max"] for each in truths for half in PARTS]
    return "-" if None in values else f"{max(values):.3f}"


SAMPLER: dict[str, Callable[[Any], str]] = {
    "Splits": lambda truths: str(len(truths)),
    "Draws": _of("sampler", "draws", ","),
    "Eff. draws": _of("sampler", "effective", ",.0f"),
    "Chains": _of("sampler", "chains", "d"),
    "Iterations": _of("sampler", "iterations", ","),
    "Sweeps": lambda truths: "yes" if any(each["sampler"].get("sweeps") for each in truths) else "no",
    "R-hat": _r_hat,
    "Min. size": lambda truths: (
        f"{min(min(each[p]['effective_size']) for each in truths for p in PARTS):,.0f}"
    ),
    "Steps": _of("annealing", "steps", "d"),
    "Runs": _of("annealing", "runs", ","),
    "Eff. runs": _of("annealing", "effective", ",.0f"),
    "Heaviest": _of("annealing", "share_of_heaviest", ".4f", max),
    "Core-seconds": lambda truths: f"{sum(sum(each['seconds'].values()) for each in truths):.0f}",
}
"""Heading -> function from the truths of a data set's records to the cell's text."""


def _rows(table: pd.DataFrame, half: str) -> list[tuple[str, ByMethod]]:
    """Return each row of the paper's table with its methods by name."""
    return [
        (row, {line.method: line for line in lines.itertuples(index=False)})
        for row, lines in table[table["part"] == half].groupby("row", sort=False)
    ]


def _grid(rows: Iterable[tuple[str, Any]], columns: Mapping[str, Callable[[Any], str]]) -> list[str]:
    cells = [(row, *(text(by_method) for text in columns.values())) for row, by_method in rows]
    return grid(("Data", *columns), "l" + "r" * len(columns), cells)


def write_markdown(
    records: Sequence[dict[str, Any]], table: pd.DataFrame, path: str | Path, note: Sequence[str] = ()
) -> Path:
    """Write the summary as Markdown that is legible as plain text, with the sampler's diagnostics.

    ``note`` has lines about repeated records (`papers.core.provenance.note`).
    """
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), "", *([*note, ""] if note else [])]
    for half, name in (("test", "Test latents"), ("train", "Training latents")):
        rows = _rows(table, half)
        lines += [f"## {name}: variance over exact variance", "", *_grid(rows, VARIANCES), ""]
        lines += [f"## {name}: error of the mean, in exact posterior standard deviations", ""]
        lines += [*_grid(rows, MEANS), ""]
    for title, (half, columns) in SCORES.items():
        lines += [f"## {title}", "", *_grid(_rows(table, half), columns), ""]
    samplers = [
        (ROWS[name], [record["truth"] for record in splits]) for name, splits in by_dataset(records).items()
    ]
    lines += ["## How it was sampled", "", *textwrap.wrap(SAMPLER_LEGEND, WIDTH), ""]
    lines += [*_grid(samplers, SAMPLER), ""]
    lines += [line for splits in by_dataset(records).values() for line in _mirror(splits)]
    return write_text(path, "\n".join(lines).rstrip() + "\n")


def _mirror(splits: Sequence[Record]) -> list[str]:
    """Describe the effect of the sign symmetry of f^2 on a data set of counts, on its most affected split."""
    mirrors = [record["truth"]["mirror"] for record in splits if "mirror" in record["truth"]]
    if not mirrors:
        return []
    most = max(mirrors, key=lambda mirror: float(mirror["log_odds"]))
    odds = f"{most['log_odds']:+.2f} ± {most['se_log_odds']:.2f}"
    text = (
        f"{ROWS[splits[0]['dataset']]}: the likelihood cannot tell f from -f. The mode at negative f, which "
        f"is not sampled, has a log evidence of {odds} relative to the other where it has most. Of 32 chains "
        f"started there in the two modes in equal parts, {most['ended_at_other_sign']} ended at negative f "
        f"(R-hat {most['r_hat_both_signs']:.2f})."
    )
    return textwrap.wrap(text, WIDTH)
