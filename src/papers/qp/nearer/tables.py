"""Errors of seven approximations against the exact posterior, and our own claims about them.

Errors are those at the test latents of all splits of a data set, against the sampled posterior, by the
conventions of `papers.qp.truth.tables`. They are errors of the log variance, of the mean in exact standard
deviations, of the log predictive density in nats, and of the log evidence, one number for each split. Each
error has the Monte-Carlo error of the exact numbers next to it; smaller differences are not measurable. The
claims OURS1 to OURS3 are ours, not a paper's: they state of EP's correction what the QP paper states of QP.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from papers.core.claims import load
from papers.core.store import RecordError
from papers.core.verdicts import NO, UNDECIDED, YES, Block, Inference, Line
from papers.qp.nearer.experiment import METHODS
from papers.qp.published import ROWS, is_counts
from papers.qp.truth import experiment as truth
from papers.qp.truth.records import split_of
from papers.qp.truth.tables import (
    DECIDED,
    TEN,
    by_dataset,
    error_of_mean,
    exact,
    exact_densities,
    exact_evidences,
    rms,
)
from tilted.corrections.marginals import CHEAP, NEARLY_EXACT

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.qp.truth.tables import Record

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
NO_WORSE = load()["OURS3"].margin["nats"]


def summary(fits: pd.DataFrame, latents: pd.DataFrame, sampled: Sequence[Record]) -> pd.DataFrame:
    """Return a row for each (data set, method), over the splits with approximations and an exact posterior.

    Parameters
    ----------
    fits, latents : pandas.DataFrame
        `papers.qp.records.NEARER_FITS`, `NEARER_LATENTS`.
    sampled : sequence of dict
        Records of `papers.qp.truth.records.read`.

    Raises
    ------
    RecordError
        Approximations at other hyperparameters than the exact posterior's.
    """
    import pandas as pd

    keys = ["dataset", "seed", "fold"]
    by_fit = {key: group.set_index("method") for key, group in fits.groupby(keys)}
    by_point = {key: dict(iter(group.groupby("method"))) for key, group in latents.groupby(keys)}
    lines = []
    for dataset, records in by_dataset(sampled).items():
        splits = [record for record in records if _key(record) in by_fit]
        for record in splits:
            _require_same(record, by_fit[_key(record)])
        if splits:
            here = [(by_fit[_key(record)], by_point[_key(record)]) for record in splits]
            lines += _lines(dataset, splits, here)
    return pd.DataFrame(lines, columns=COLUMNS)


def _key(record: Record) -> tuple[str, int, int]:
    return record["dataset"], record["seed"], record["fold"]


def _require_same(record: Record, ours: pd.DataFrame) -> None:
    for name, value in record["hyperparameters"].items():
        if not np.allclose(ours[name], value, rtol=1e-12, atol=0.0):
            raise RecordError(
                f"qp/nearer.csv: {record['dataset']}, split {split_of(record)}: {name} is not that of the "
                "exact posterior"
            )


def _lines(dataset: str, splits: Sequence[Record], here: Sequence[tuple[Any, Any]]) -> list[dict[str, Any]]:
    """Return the rows of a data set; ``here`` has the fits and the latents of each split, by method."""
    sizes = [record["n_test"] for record in splits]
    variance, se_variance = exact(splits, "test", "variance"), exact(splits, "test", "se_variance")
    mean, se_mean = exact(splits, "test", "mean"), exact(splits, "test", "se_mean")
    density, se_density = exact_densities(splits)
    evidence, se_evidence = exact_evidences(splits)
    sd, log_se = np.sqrt(variance), se_variance / variance
    errors = {}
    for method in METHODS:
        if any(method not in by_fit.index for by_fit, _ in here):
            continue
        points = {
            name: np.concatenate([by_point[method][name] for _, by_point in here])
            for name in ("mean", "variance", "log_density", "trusted")
        }
        by_split = {
            name: np.array([by_fit.loc[method, name] for by_fit, _ in here])
            for name in ("log_evidence", "trusted", "seconds", "latent_seconds")
        }
        errors[method] = {
            "points": points,
            "by_split": by_split,
            "variance": np.log(points["variance"] / variance),
            "mean": (points["mean"] - mean) / sd,
            "density": np.abs(points["log_density"] - density),
            "evidence": np.abs(by_split["log_evidence"] - evidence),
        }
    ep, lines = errors["ep"], []
    for method, values in errors.items():
        gap = values["variance"] - ep["variance"]
        moved = np.abs(values["points"]["log_density"] - ep["points"]["log_density"])
        lines.append(
            {
                **{"row": ROWS[dataset], "dataset": dataset, "method": method},
                **{"splits": len(splits), "n": len(variance), "n_train": splits[0]["n_train"]},
                "not_trusted": int(np.sum(~values["points"]["trusted"].astype(bool))),
                "evidences_not_trusted": int(np.sum(~values["by_split"]["trusted"].astype(bool))),
                **{"variance_rms": rms(values["variance"]), "variance_noise": rms(log_se)},
                **{"mean_rms": rms(values["mean"]), "mean_noise": rms(se_mean / sd)},
                **{"density_error": values["density"].mean(), "density_noise": se_density.mean()},
                **{"evidence_error": values["evidence"].mean(), "evidence_noise": se_evidence.mean()},
                "variance_excess": np.mean(gap * (values["variance"] + ep["variance"])),
                "variance_excess_se": error_of_mean(2.0 * np.abs(gap) * log_se, sizes),
                "density_gap": np.mean(values["density"] - ep["density"]),
                # an error of the exact density moves the difference of two distances by at most twice itself,
                # and by at most twice what lies between the two densities
                "density_gap_se": error_of_mean(2.0 * np.minimum(se_density, moved), sizes),
                "evidence_gap": np.mean(values["evidence"] - QUARTER * ep["evidence"]),
                "evidence_gap_se": error_of_mean((1.0 + QUARTER) * se_evidence, [1] * len(splits)),
                "ntll": -np.mean(values["points"]["log_density"]),
                "overconfidence": np.nan
                if is_counts(dataset)
                else overconfidence(np.exp(values["points"]["log_density"])),
                "seconds": np.median(values["by_split"]["seconds"]),
                "milliseconds": np.median(1e3 * values["by_split"]["latent_seconds"] / np.array(sizes)),
            }
        )
    return lines


def confidence(own: np.ndarray) -> np.ndarray:
    """Return the probabilities [N] of the likelier labels, from those of the true labels."""
    return np.maximum(own, 1.0 - own)


def overconfidence(own: np.ndarray) -> float:
    """Return the mean probability of the likelier label minus the share of right ones.

    ``own`` has the probabilities [N] of the true labels.
    """
    return float(confidence(own).mean() - np.mean(own > 0.5))


# Our own claims

GRADES = (NEARLY_EXACT, CHEAP)


def nearer_variances(table: pd.DataFrame | None, protocol: str) -> list[Block]:
    """Judge OURS1: corrected variances are nearer to the exact ones than EP's."""

    def line(ours: Any, ep: Any) -> Line:
        both = ours.variance_rms + ep.variance_rms
        effect, error = -ours.variance_excess / both, ours.variance_excess_se / both
        note = f"{ours.variance_rms:.4f} for {ep.variance_rms:.4f} of EP, noise {ours.variance_noise:.4f}"
        note += _untrusted(ours)
        return _judged(ours, "rms of log(v / exact), EP - corrected", "relative", effect, error, note)

    return _blocks(table, protocol, "interval of two Monte-Carlo standard errors", line)


def better_evidence(table: pd.DataFrame | None, protocol: str) -> list[Block]:
    """Judge OURS2: the corrected evidence's error is at most a quarter of EP's."""

    def line(ours: Any, ep: Any) -> Line:
        note = f"{ours.evidence_error:.4f} for {ep.evidence_error:.4f} of EP, noise {ours.evidence_noise:.4f}"
        if ours.evidences_not_trusted:
            note += f"; not to be trusted on {ours.evidences_not_trusted} of {ours.splits}"
        quantity = "EP's error / 4 - corrected one's"
        line = _judged(ours, quantity, "nats", -ours.evidence_gap, ours.evidence_gap_se, note)
        return replace(line, n=ours.splits)

    return _blocks(table, protocol, "interval of two Monte-Carlo standard errors", line)[:1]


def no_worse_predictions(table: pd.DataFrame | None, protocol: str) -> list[Block]:
    """Judge OURS3: predictive log densities are no further from the exact ones than EP's."""

    def line(ours: Any, ep: Any) -> Line:
        note = f"{ours.density_error:.6f} for {ep.density_error:.6f} of EP, noise {ours.density_noise:.6f}"
        note += _untrusted(ours)
        quantity = "error of log p(y), EP - corrected"
        return _judged(ours, quantity, "nats", -ours.density_gap, ours.density_gap_se, note, NO_WORSE)

    test = f"interval of two Monte-Carlo standard errors beside -{NO_WORSE:g} nats"
    return _blocks(table, protocol, test, line)


def _untrusted(ours: Any) -> str:
    """Count the latents whose correction is not trusted and whose answer is EP's."""
    return f"; {ours.not_trusted} of {ours.n} latents not to be trusted, and EP's" if ours.not_trusted else ""


def _judged(
    ours: Any, quantity: str, unit: str, effect: float, error: float, note: str, margin: float = 0.0
) -> Line:
    """Decide yes if the effect is above minus the margin beyond the error, no if below."""
    low, high = effect - DECIDED * error, effect + DECIDED * error
    status = YES if low > -margin else NO if high < -margin else UNDECIDED
    sample = Inference(status, low, high)
    return Line(ours.row, quantity, unit, effect, sample=sample, n=ours.n, note=note, margin=margin)


def _blocks(table: pd.DataFrame | None, protocol: str, test: str, line: Any) -> list[Block]:
    sampled = table if protocol == truth.PROTOCOL else None
    blocks = []
    for grade in GRADES:
        lines, complete = [], 0
        if sampled is not None:
            by_method = {method: sampled[sampled["method"] == method] for method in ("ep", grade)}
            pairs = zip(*(frame.itertuples(index=False) for frame in by_method.values()), strict=True)
            lines = [line(corrected, ep) for ep, corrected in pairs]
            complete = int((by_method[grade]["splits"] >= TEN).sum())
        done = {judged.row for judged in lines}
        lines += [
            Line(row, "not compared", "nats", note="no nearly exact answer was made")
            for row in ROWS.values()
            if row not in done
        ]
        remark = "" if sampled is not None else f"ground truth was sampled under {truth.PROTOCOL} alone"
        blocks.append(Block(f"EP, {grade}", test, tuple(lines), remark, {"rows of ten splits": complete}))
    return blocks
