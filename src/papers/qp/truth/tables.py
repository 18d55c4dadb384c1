"""Comparison of QP's smaller variances with the exact ones: closer to them, or merely smaller?

A record (`papers.qp.truth.experiment`) holds the latent means and variances of EP, QP and VB at the training
and test inputs of one split, and the exact ones with their Monte-Carlo standard errors. A row of the summary
is about all splits of a data set. Errors of variances are those of their logarithms: 0.01 is one per cent.

Monte-Carlo errors of the latents of a split come from the same chains and are correlated. The error of a mean
over them is therefore taken as the mean of their errors. This is its value under full correlation and an
upper bound otherwise. Different splits have independent chains.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from papers.core.claims import load
from papers.qp.published import ROWS
from papers.qp.truth.experiment import METHODS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    Record = dict[str, Any]

PARTS = ("train", "test")
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


def summary(records: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Return one row for each data set, method and part, with `COLUMNS`; NaN where no number exists."""
    import pandas as pd

    lines = [
        _line(splits, method, half)
        for splits in by_dataset(records).values()
        for method in METHODS
        for half in PARTS
    ]
    return pd.DataFrame(lines, columns=COLUMNS)


def by_dataset(records: Sequence[Record]) -> dict[str, list[Record]]:
    """Group the records by data set, in their order."""
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(record["dataset"], []).append(record)
    return grouped


def exact(splits: Sequence[Record], part: str, name: str) -> np.ndarray:
    """Return numbers of the exact posterior at the latents of a part, of all splits."""
    return np.concatenate([record["truth"][part][name] for record in splits])


def exact_densities(splits: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Return log densities of the test outputs under the exact posterior and their errors, of all splits."""
    density, error = (
        np.concatenate([record["truth"][name] for record in splits])
        for name in ("log_density", "se_log_density")
    )
    return density, error


def exact_evidences(splits: Sequence[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Return exact log evidences and their errors, one for each split."""
    evidence, error = (
        np.array([record["truth"][name] for record in splits]) for name in ("log_evidence", "se_log_evidence")
    )
    return evidence, error


def said(splits: Sequence[Record], method: str, part: str, name: str) -> np.ndarray:
    """Return a method's numbers at the latents of a part, of all splits."""
    return np.concatenate([record["methods"][method][part][name] for record in splits])


def log_ratios(splits: Sequence[Record], method: str, part: str) -> np.ndarray:
    """Return the log of a method's variance over the exact one, for each latent of a part."""
    return np.log(said(splits, method, part, "variance") / exact(splits, part, "variance"))


def log_variance_errors(splits: Sequence[Record], part: str) -> np.ndarray:
    """Return Monte-Carlo standard errors of the logarithms of the exact variances."""
    return exact(splits, part, "se_variance") / exact(splits, part, "variance")


def mean_errors(splits: Sequence[Record], method: str, part: str) -> np.ndarray:
    """Return errors of the latent means, in exact posterior standard deviations."""
    difference = said(splits, method, part, "mean") - exact(splits, part, "mean")
    return difference / np.sqrt(exact(splits, part, "variance"))


def error_of_mean(errors: np.ndarray, sizes: Sequence[int]) -> float:
    """Return the standard error of the mean of latents with these errors [N], of splits of these sizes."""
    sums = [np.sum(each) for each in np.split(errors, np.cumsum(sizes)[:-1])]
    return float(np.sqrt(np.sum(np.square(sums))) / len(errors))


def _line(splits: Sequence[Record], method: str, part: str) -> dict[str, Any]:
    ratios, noise = log_ratios(splits, method, part), log_variance_errors(splits, part)
    sizes = [len(record["truth"][part]["mean"]) for record in splits]
    dataset = splits[0]["dataset"]
    line = {
        "row": ROWS[dataset],
        "dataset": dataset,
        "method": method,
        "part": part,
        "splits": len(splits),
        "n": len(ratios),
        "mean_rms": rms(mean_errors(splits, method, part)),
        "mean_noise": rms(exact(splits, part, "se_mean") / np.sqrt(exact(splits, part, "variance"))),
        "log_variance_bias": ratios.mean(),
        "log_variance_bias_se": error_of_mean(noise, sizes),
        "log_variance_rms": rms(ratios),
        "log_variance_noise": rms(noise),
        "above_exact": np.mean(ratios > DECIDED * noise),
        "below_exact": np.mean(ratios < -DECIDED * noise),
        "r_hat_max": max(
            np.nan if (r := record["truth"][part]["r_hat_max"]) is None else r for record in splits
        ),
        "effective_size_min": min(exact(splits, part, "effective_size")),
    }
    if method != "ep":
        line |= _against_ep(ratios, log_ratios(splits, "ep", part), noise, sizes)
    return line | (_evidence(splits, method) if part == "train" else _density(splits, method))


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


def _density(splits: Sequence[Record], method: str) -> dict[str, Any]:
    density, errors = exact_densities(splits)
    predicted = np.concatenate([record["methods"][method]["log_density"] for record in splits])
    return {
        "ntll_exact": -density.mean(),
        "ntll_difference": np.mean(density - predicted),
        "ntll_se": error_of_mean(errors, [len(record["truth"]["log_density"]) for record in splits]),
    }


def _evidence(splits: Sequence[Record], method: str) -> dict[str, Any]:
    """Return means over splits."""
    evidence, errors = exact_evidences(splits)
    approximate = np.array([record["methods"][method]["log_evidence"] for record in splits])
    return {
        "evidence_exact": evidence.mean(),
        "evidence_error": np.mean(approximate - evidence),
        "evidence_se": error_of_mean(errors, [1] * len(errors)),
    }


def rms(values: np.ndarray) -> float:
    """Return the root mean square."""
    return float(np.sqrt(np.mean(np.square(values))))
