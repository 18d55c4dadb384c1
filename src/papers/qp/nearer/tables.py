"""Errors of seven approximations against the exact posterior, and the page about them.

Errors are those at the test latents of all splits of a data set, against the sampled posterior, by the
conventions of `papers.qp.truth.tables`. They are errors of the log variance, of the mean in exact standard
deviations, of the log predictive density in nats, and of the log evidence, one number for each split. Each
error has the Monte-Carlo error of the exact numbers next to it; smaller differences are not measurable.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.core import render
from papers.core.claims import load
from papers.core.render import Column, text
from papers.core.store import RecordError, write_csv, write_text
from papers.qp.nearer.experiment import METHODS
from papers.qp.published import ROWS, is_counts
from papers.qp.table1 import exact_and_learned
from papers.qp.truth.records import SPLIT
from papers.qp.truth.tables import error_of_mean, rms
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT, SAMPLED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    import pandas as pd

COLUMNS = tuple(
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

QUARTER = load()["OURS2"].margin["share"]


def summary(
    fits: pd.DataFrame, latents: pd.DataFrame, truth: pd.DataFrame, exact: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each (data set, method), over the splits with approximations and an exact posterior.

    Parameters
    ----------
    fits, latents : pandas.DataFrame
        `papers.qp.records.NEARER_FITS`, `NEARER_LATENTS`.
    truth, exact : pandas.DataFrame
        `papers.qp.truth.records.TRUTH`, `TRUTH_LATENTS`.

    Raises
    ------
    RecordError
        Approximations at other hyperparameters than the exact posterior's.
    """
    import pandas as pd

    keys = list(SPLIT)
    truth = truth.merge(fits[keys].drop_duplicates(), on=keys)
    both = truth.merge(fits, on=keys, suffixes=("", "_own"))
    for name in ("variance", "lengthscale"):
        moved = both[~np.isclose(both[f"{name}_own"], both[name], rtol=1e-12, atol=0.0)]
        if len(moved):
            where = ", ".join(f"{key} {moved.iloc[0][key]}" for key in keys)
            raise RecordError(f"qp/nearer.csv: {where}: {name} is not that of the exact posterior")
    points = exact[exact["part"] == "test"].merge(latents, on=[*keys, "point"], suffixes=("", "_own"))
    lines = []
    for dataset, splits in truth.groupby("dataset", sort=False):
        of_dataset = both[both["dataset"] == dataset], points[points["dataset"] == dataset]
        errors = {}
        for method in METHODS:
            of_fits, of_latents = (frame[frame["method"] == method] for frame in of_dataset)
            if len(of_fits) == len(splits):
                errors[method] = _errors(of_fits, of_latents)
        lines += [_line(str(dataset), splits, own, errors["ep"]) for own in errors.values()]
    return pd.DataFrame(lines, columns=COLUMNS)


def _errors(fits: pd.DataFrame, points: pd.DataFrame) -> dict[str, Any]:
    """Return the errors of a method at each latent, and of the evidence of each split."""
    return {
        "fits": fits,
        "points": points,
        "variance": np.log(points["variance_own"] / points["variance"]).to_numpy(),
        "mean": ((points["mean_own"] - points["mean"]) / np.sqrt(points["variance"])).to_numpy(),
        "density": np.abs(points["log_density_own"] - points["log_density"]).to_numpy(),
        "evidence": np.abs(fits["log_evidence_own"] - fits["log_evidence"]).to_numpy(),
    }


def _line(
    dataset: str, splits: pd.DataFrame, own: Mapping[str, Any], ep: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the row of a method on a data set."""
    fits, points, sizes = own["fits"], own["points"], splits["n_test"].tolist()
    log_se = (points["se_variance"] / points["variance"]).to_numpy()
    se_density, se_evidence = points["se_log_density"].to_numpy(), fits["se_log_evidence"].to_numpy()
    gap = own["variance"] - ep["variance"]
    moved = np.abs(points["log_density_own"].to_numpy() - ep["points"]["log_density_own"].to_numpy())
    probabilities = np.exp(points["log_density_own"].to_numpy())
    return {
        "row": ROWS[dataset],
        "dataset": dataset,
        "method": fits["method"].iloc[0],
        "splits": len(splits),
        "n": len(points),
        "n_train": splits["n_train"].iloc[0],
        "not_trusted": int((~points["trusted"]).sum()),
        "evidences_not_trusted": int((~fits["trusted"]).sum()),
        "variance_rms": rms(own["variance"]),
        "variance_noise": rms(log_se),
        "mean_rms": rms(own["mean"]),
        "mean_noise": rms(points["se_mean"] / np.sqrt(points["variance"])),
        "density_error": own["density"].mean(),
        "density_noise": se_density.mean(),
        "evidence_error": own["evidence"].mean(),
        "evidence_noise": se_evidence.mean(),
        "variance_excess": np.mean(gap * (own["variance"] + ep["variance"])),
        "variance_excess_se": error_of_mean(2.0 * np.abs(gap) * log_se, sizes),
        "density_gap": np.mean(own["density"] - ep["density"]),
        # an error of the exact density moves the difference of two distances by at most twice itself,
        # and by at most twice what lies between the two densities
        "density_gap_se": error_of_mean(2.0 * np.minimum(se_density, moved), sizes),
        "evidence_gap": np.mean(own["evidence"] - QUARTER * ep["evidence"]),
        "evidence_gap_se": error_of_mean((1.0 + QUARTER) * se_evidence, [1] * len(splits)),
        "ntll": -points["log_density_own"].mean(),
        "overconfidence": np.nan if is_counts(dataset) else overconfidence(probabilities),
        "seconds": fits["seconds_own"].median(),
        "milliseconds": np.median(1e3 * fits["latent_seconds"].to_numpy() / np.array(sizes)),
    }


def confidence(own: np.ndarray) -> np.ndarray:
    """Return the probabilities [N] of the likelier labels, from those of the true labels."""
    return np.maximum(own, 1.0 - own)


def overconfidence(own: np.ndarray) -> float:
    """Return the mean probability of the likelier label minus the share of right ones.

    ``own`` has the probabilities [N] of the true labels.
    """
    return float(confidence(own).mean() - np.mean(own > 0.5))


# The page

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

TITLE = "Nearer to the exact posterior than EP"
LEGEND = """\
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


def write(table: pd.DataFrame, fits: pd.DataFrame, folder: Path) -> None:
    """Write ``qp_nearer.csv`` and ``qp_nearer.md``.

    Parameters
    ----------
    table : pandas.DataFrame
        `papers.qp.nearer.tables.summary`.
    fits : pandas.DataFrame
        Records of Table 1.
    """
    write_csv(folder / "qp_nearer.csv", table)
    lines = [f"# {TITLE}", "", *LEGEND.splitlines(), ""]
    for title, (column, noise, number_format) in ERRORS.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format, noise), ""]
    for title, (column, number_format) in PLAIN.items():
        lines += [f"## {title}", "", *_of_methods(table, column, number_format), ""]
    lines += exact_and_learned.sections(fits)
    write_text(folder / "qp_nearer.md", "\n".join(lines).rstrip() + "\n")


def _of_method(heading: str, method: str, column: str, form: str) -> Column:
    return Column(heading, lambda lines: float(getattr(lines.get(method), column, np.nan)), form)


def _of_methods(table: pd.DataFrame, column: str, form: str, noise: str = "") -> list[str]:
    """Return a table with a row for each data set and a column for each method."""

    def untrusted(lines: Mapping[str, Any]) -> str:
        best = lines[NEARLY_EXACT]
        if column.startswith("evidence"):
            return f"{best.evidences_not_trusted} of {best.splits}"
        return f"{best.not_trusted} of {best.n}"

    columns = [
        text("Data", lambda lines: lines["ep"].row),
        Column("Splits", lambda lines: lines["ep"].splits),
        *(_of_method(name, method, column, form) for method, name in SHORT.items()),
    ]
    if noise:
        columns += [
            Column("noise", lambda lines: getattr(lines["ep"], noise), form),
            Column("not trusted", untrusted),
        ]
    rows = [
        {line.method: line for line in lines.itertuples(index=False)}
        for _, lines in table.groupby("row", sort=False)
    ]
    return render.markdown(columns, rows)
