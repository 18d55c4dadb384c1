"""Summarise the outcomes of all folds as an answer in sentences, and write one page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.compare.methods import BASELINE, SLOW, TITLES, names
from papers.compare.table import Table
from papers.core import runs
from papers.core.statistics import ALPHA, corrected_resampled_t, holm
from papers.data.table import CLASSIFICATION

FEWEST_FOLDS, BINS, R_HAT = 3, 10, 1.05
ERROR_MARGIN = 0.01
"""Smallest difference of errors that matters: one label in a hundred, or this share of the targets' sd."""
VERDICTS = ("alike", "better", "worse", "undecided")
METHOD = """\
Squared-exponential kernel; each method has the hyperparameters that maximise its own evidence. Features are
standardised on the training rows. Intervals (95 %) and p-values are those of the corrected resampled t test
(Nadeau and Bengio 2003), because folds share training rows; Holm's method adjusts the p-values. *Better* and
*worse*: the difference is significant. *Alike*: it is significantly smaller than the margin. *Undecided*:
neither. All this holds for this table and this kernel."""
PAGE = """\
<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>
body {{font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto}}
td, th {{padding: .2em .8em; border-bottom: 1px solid #ccc}}
</style>
{body}</html>
"""
Row = dict[str, Any]


def summarise(data: Table, outcomes: Sequence[Row], failures: list[Row], margin: float) -> Row:
    """Return the means of each method, its differences from the first, and the answer, as JSON values.

    A mean is over the folds on which the method did not fail; ``seconds`` is a median.
    """
    frame = pd.DataFrame(outcomes)
    rows = {}
    for name, own in frame.groupby("method", sort=False):
        failed = sum(x["method"] == name for x in failures)
        rows[name] = {
            "method": name,
            "loss": float(own["loss"].mean()),
            "error": float(own["error"].mean()),
            "calibration": calibration(own, data.task),
            "seconds": float(own["seconds"].median()),
            "unconverged": int((~own["converged"]).sum()),
            "failed": failed,
            "folds": len(own) + failed,
        }
    first, *rivals = [name for name in TITLES if name in rows] or [""]
    if not first:
        raise ValueError(f"every method failed on every fold: {failures[0]['reason']}")
    spread = 1.0 if data.task == CLASSIFICATION else float(np.std(data.y))
    differences = compare(frame, rivals, first, "loss", margin)
    take, sentence = recommend(rows, first, differences, margin)
    differences += compare(frame, rivals, first, "error", ERROR_MARGIN * spread)
    (guess,) = compare(frame, [BASELINE], take, "loss", margin)
    p_value = 1.0 if guess["p"] is None else guess["p"]
    if guess["folds"] >= FEWEST_FOLDS and not (guess["mean"] > 0 and p_value < ALPHA):
        sentence = (
            f"**{take} is not shown to predict better than a guess without the features** (log loss "
            f"{rows[take]['loss']:.3g} against {rows[BASELINE]['loss']:.3g}, p = {p_value:.2g}). {sentence}"
        )
    about = {name: getattr(data, name) for name in ("name", "file", "sha256", "task", "target", "remarks")}
    return {
        "answer": {"take": take, "sentence": sentence},
        "table": about | {"rows": len(data.y), "features": [*data.X]},
        "methods": [*rows.values()],
        "differences": differences,
        "outcomes": frame.drop(columns=["predicted", "y"]).to_dict("records"),
        "failures": failures,
        "environment": runs.stamp(),
    }


def calibration(own: pd.DataFrame, task: str) -> float:
    """Return the mean distance of predicted probabilities from frequencies, or the share in intervals."""
    predicted, y = np.concatenate([*own["predicted"]]), np.concatenate([*own["y"]])
    if task != CLASSIFICATION:
        return float(np.mean(predicted))
    bins = np.minimum((predicted * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, (y > 0) - predicted)).sum() / len(y))


def compare(frame: pd.DataFrame, methods: list[str], first: str, score: str, margin: float) -> list[Row]:
    """Test methods against the first by the corrected resampled t test, on the folds of both."""
    scores = frame.pivot(index="fold", columns="method", values=score)
    sizes = frame[["n_train", "n_test"]].mean()
    values = {name: (scores[name] - scores[first]).dropna().to_numpy() for name in methods}
    enough = {name: x for name, x in values.items() if len(x) >= FEWEST_FOLDS and np.ptp(x) > 0}
    tests = {name: corrected_resampled_t(x, *sizes) for name, x in enough.items()}
    p = dict(zip(tests, holm([x.p_different() for x in tests.values()]).tolist(), strict=True))
    p_alike = dict(zip(tests, holm([x.p_equivalent(margin) for x in tests.values()]).tolist(), strict=True))
    differences = []
    for name, x in values.items():
        mean, verdict = float(x.mean()) if len(x) else None, "undecided"
        low, high = tests[name].interval() if name in tests else (None, None)
        if p_alike.get(name, 1.0) < ALPHA or (len(x) and not x.any()):
            verdict = "alike"
        elif p.get(name, 1.0) < ALPHA:
            verdict = "worse" if x.mean() > 0 else "better"
        row = {"method": name, "score": score, "verdict": verdict, "mean": mean, "low": low, "high": high}
        differences.append(row | {"p": p.get(name), "folds": len(x)})
    return differences


def recommend(rows: dict[str, Row], first: str, differences: list[Row], margin: float) -> tuple[str, str]:
    """Recommend the best of the methods that are shown to be better than the first, or else the first."""
    verdicts = {x["method"]: x["verdict"] for x in differences}
    better = [name for name in verdicts if verdicts[name] == "better" and not rows[name]["failed"]]
    take = min(better, key=lambda name: rows[name]["loss"], default=first)
    sentence = f"Only **{first}** was compared."
    if better:
        gain = rows[first]["loss"] - rows[take]["loss"]
        sentence = f"Take **{take}**: it is shown to be better than {first}, by {gain:.3g} nats a test row."
    elif verdicts:
        sentence = f"Take **{take}**: no other is shown to be better by as much as matters ({margin:g} nats)."
        equivalent = [name for name in verdicts if verdicts[name] == "alike"]
        fast = min(equivalent, key=lambda name: rows[name]["seconds"], default=first)
        if (share := rows[fast]["seconds"] / rows[first]["seconds"]) < 1.0:
            sentence += f" **{fast}** predicts alike in {share:.2g} of the time."
    lists = {verdict: [n for n, v in verdicts.items() if v == verdict and n != take] for verdict in VERDICTS}
    lists["not converged on some fold"] = [n for n in rows if rows[n]["unconverged"]]
    lists["failed on some fold"] = [n for n in rows if rows[n]["failed"]]
    return take, sentence + "".join(f" {k.capitalize()}: {', '.join(of)}." for k, of in lists.items() if of)


def write(result: Row, folder: Path) -> None:
    """Write the page as HTML and Markdown, and its numbers as JSON."""
    from markdown_it import MarkdownIt

    text, title = markdown(result), escape(f"Which method for {result['table']['name']}?")
    page = PAGE.format(title=title, body=MarkdownIt("js-default").render(text))
    numbers = json.dumps(result, indent=1, allow_nan=False) + "\n"
    for suffix, content in {"md": text, "html": page, "json": numbers}.items():
        (folder / f"comparison.{suffix}").write_text(content, encoding="utf-8")


def markdown(result: Row) -> str:
    """Return the page."""
    about, rows, exact = result["table"], result["methods"], result["exact"]
    labels, methods = about["task"] == CLASSIFICATION, [x["method"] for x in rows]
    lines = [f"# Which method for {about['name']}?", "", result["answer"]["sentence"], ""]
    if result["folds"] < result["folds_planned"]:
        lines += [
            f"**Interrupted: {result['folds']} of {result['folds_planned']} folds.**",
            "",
        ]
    shape = f"{about['rows']} rows, {len(about['features'])} features, {about['task']} of {about['target']}."
    lines += [shape, "", *(f"- {remark}" for remark in about["remarks"]), "", "## Scores", ""]
    error, calibrated = (
        ("Wrong labels", "Calibration error") if labels else ("Mean absolute error", "In 90 % intervals")
    )
    columns = {"method": "Method", "loss": "Log loss, nats", "error": error, "calibration": calibrated}
    columns |= {
        "seconds": "Seconds a fold",
        "unconverged": "Not converged",
        "failed": "Failed",
        "folds": "Folds",
    }
    lines += grid(rows, columns)
    lines += [f"{name}: {TITLES.get(name, 'a guess')}.  " for name in methods]
    missing = [name for name in (*names(about["task"]), SLOW) if name not in methods]
    lines += [f"Not compared: {', '.join(missing)} (--methods)." if missing else "", ""]
    messages: dict[str, list[str]] = {}
    for x in [*result["outcomes"], *result["failures"]]:
        if message := x.get("message") or x.get("reason"):
            messages.setdefault(f"{x['method']}: {message}", []).append(str(x["fold"]))
    lines += [*(f"- {message} (fold {', '.join(folds)})" for message, folds in messages.items()), ""]
    columns = {"method": "Method", "score": "Score", "verdict": "Verdict", "mean": "Difference"}
    columns |= {"low": "From", "high": "To (95 %)", "p": "p (Holm)", "folds": "Folds"}
    lines += [f"## Differences from {methods[0]}", "", *grid(result["differences"], columns)]
    lines += ["Below 0: better.", "", "## Exact posterior", ""]
    if exact is None:
        lines += ["Not sampled: --iterations 0, more than 1000 rows (--rows), or EP failed.", ""]
    else:
        columns = {"method": "Method", "mean": "Error of means, exact sds", "variance": "Variance / exact"}
        lines += grid(exact["nearness"], columns | {"loss": "Log loss - exact, nats", "message": "Note"})
        quality = f"R-hat at most {exact['r_hat']:.3f}, at least {exact['effective']:.0f} independent draws"
        lines += [
            f"First fold, EP's hyperparameters, elliptical slice sampling: {quality}.",
            "",
        ]
        if exact["r_hat"] > R_HAT:
            lines += [f"**The chains do not agree (R-hat above {R_HAT}): take more --iterations first.**", ""]
    lengthscales = "One lengthscale a feature (ARD)" if result["ard"] else "One lengthscale for all features"
    stamp = "; ".join(filter(None, result["environment"].values()))
    return "\n".join(
        [*lines, "## Method", "", METHOD, "", f"{lengthscales}. Seed {result['seed']}. {stamp}.", ""]
    )


def grid(rows: Sequence[Row], columns: dict[str, str]) -> list[str]:
    """Return a Markdown table of some keys of the rows, with headings; missing values are empty."""
    values = [[row.get(key) for key in columns] for row in rows]
    cells = [
        ["" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x) for x in row] for row in values
    ]
    lines = [[*columns.values()], ["---"] * len(columns), *cells]
    return [*("| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines), ""]
