"""Repetition of rows of the relaxed-EP records (`papers.evidence.verification.outcome.Again`).

Fits, curves, choices, five points and boundaries are repeated at the recorded lengthscale and value; fits
from scratch too, with both chosen anew. The exact posterior is always sampled anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.data import relaxed
from papers.evidence import records
from papers.evidence.verification.again import compared
from papers.evidence.verification.outcome import FIXED, SCRATCH, reported
from papers.rep import boundary, choice, exact, fits, points
from tilted.inference.textbook import UNSETTLED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study
    from papers.data import Dataset
    from papers.evidence.verification.outcome import Again, Context, Outcome

    Line = dict[str, Any]
    Repeated = Iterator[tuple[Line, Sequence[Outcome] | str]]

ROUNDING = 1e-4
"""Largest relative difference between a lengthscale of the grid and its rounded value in a file."""

ROUNDED = 0.5 * 10.0**-boundary.DECIMALS
"""Largest difference between a probability and its rounded value in a file."""

ENGINE = "a long run of the engine is chaotic"
CHAOTIC = {
    "ep-engine": ENGINE,
    "rep-engine": ENGINE,
    "rep-as-described": "relaxations searched to the end jump, and a rounding decides where",
}
FEW = {"ep-engine": 50, "rep-engine": 50, "rep-as-described": 1}
"""Method -> sweeps after which runs may end elsewhere: the last bit of a lengthscale suffices."""

SIGMAS = 4.0
CHAINS = "chains part after a rounding, and agree to the Monte-Carlo error"


def _each(
    outcomes_of: Callable[[Line, Context], list[Outcome]], lines: pd.DataFrame, context: Context
) -> Repeated:
    """Repeat rows one by one."""
    for line in lines.to_dict("records"):
        yield line, outcomes_of(line, context)


def _of_fit(line: Line, context: Context) -> list[Outcome]:
    """Repeat a fit with its parameters; from scratch, with parameters by cross-validation."""
    repeated = _fitted(line, line, context.mirror)
    outcomes = [compared(FIXED, context.study, line, repeated)]
    if line["scratch"]:
        chosen = _chosen(line["dataset"], line["flips"], line["chosen_on"], line["method"], context.mirror)
        repeated = repeated if _is_same(line, chosen) else _fitted(line, chosen, context.mirror)
        outcomes.append(compared(SCRATCH, context.study, line, {**repeated, **chosen}))
    long = max(line["sweeps"], repeated["sweeps"]) > FEW.get(line["method"], 0)
    return [_explained(outcome, line) for outcome in outcomes] if long else outcomes


def _explained(outcome: Outcome, line: Line) -> Outcome:
    """Return the outcome, with an explanation if the method may be chaotic."""
    why = CHAOTIC.get(line["method"])
    return reported(outcome, why) if why else outcome


def _of_curve(of_fits: Study, line: Line, context: Context) -> list[Outcome]:
    """Repeat a change of the weights, of a fit with its recorded parameters."""
    sums = Path(context.folder, records.SUMS).stat().st_mtime_ns  # written with every record
    recorded = _recorded(of_fits, str(context.folder), sums).loc[tuple(line[name] for name in of_fits.key)]
    changes, sweep = _fitted(line, recorded, context.mirror)["changes"], line["sweep"]
    change = changes[sweep - 1] if sweep <= len(changes) else None
    return [_explained(compared(FIXED, context.study, line, {"change": change}), line)]


@lru_cache(maxsize=1)
def _recorded(of_fits: Study, folder: str, sums: int) -> pd.DataFrame:
    """Return the record of fits, by their names."""
    return records.load(of_fits, folder).set_index(list(of_fits.key))


def _of_choice(line: Line, context: Context) -> list[Outcome]:
    """Repeat the cross-validated scores of one method at one lengthscale and value."""
    X, _, y, _ = _parts(line["dataset"], line["split"], line["flips"], context.mirror)
    pair = line["method"], line["value"]
    lengthscale = _unrounded(line["lengthscale"], X.shape[1])
    epsilon = fits.epsilon_of(line["dataset"], line["flips"])
    scores = choice.cross_validated(X, y, line["split"], lengthscale, epsilon, [pair])[pair]
    return [_explained(compared(FIXED, context.study, line, scores), line)]


def _of_points(line: Line, context: Context) -> list[Outcome]:
    """Repeat one method on one set of five points; sweeps that did not settle may end elsewhere."""
    repeated = points.line_of(line["set"], line["method"], line["value"], line.get("epsilon", points.EPS))
    outcome = compared(FIXED, context.study, line, repeated)
    wandered = line["outcome"] == repeated["outcome"] == UNSETTLED
    return [reported(outcome, "did not settle") if wandered else outcome]


def again_curves_from(of_fits: Study) -> Again:
    """Return a function that repeats curves, of fits with these records."""
    return partial(_each, partial(_of_curve, of_fits))


again_fits = partial(_each, _of_fit)
again_choices = partial(_each, _of_choice)
again_points = partial(_each, _of_points)


def again_exact(lines: pd.DataFrame, context: Context) -> Repeated:
    """Compare methods with the exact posterior, sampled anew (a minute) once for each training set."""
    for line in lines.to_dict("records"):
        where = line["flips"], line["split"], _unrounded(line["lengthscale"], 2)
        truth = exact.sampled(*where, line["chains"], line["iterations"])
        repeated = exact.line_of(truth, *where, line["method"], line["value"])
        outcome = compared(SCRATCH, context.study, line, repeated)
        yield line, [reported(outcome, CHAINS) if _is_within_monte_carlo(line, repeated) else outcome]


def _is_within_monte_carlo(line: Line, made: Line) -> bool:
    """Return True if two samples agree within `SIGMAS` times the recorded Monte Carlo error."""
    if made["outcome"] != line["outcome"] or made["outcome"] == fits.FAILED:
        return False
    margin = SIGMAS * line["monte_carlo_error"]
    return all(abs(made[name] - line[name]) <= margin for name in exact.ERRORS)


def again_boundary(lines: pd.DataFrame, context: Context) -> Repeated:
    """Repeat the probabilities at places of a picture; each inference runs once for all its places."""
    picture = ["flips", "split", "method", "value", "lengthscale"]
    for (flips, split, method, value, lengthscale), of_picture in lines.groupby(picture, dropna=False):
        settings = (None, None) if method == boundary.BAYES else (value, _unrounded(lengthscale, 2))
        places = of_picture[["x", "y"]].to_numpy()
        drawn = boundary.picture_of(places, flips, split, method, *settings)
        for line, probability in zip(of_picture.to_dict("records"), drawn.probability, strict=True):
            rounded = np.clip(probability - line["probability"], -ROUNDED, ROUNDED)
            row = {"outcome": drawn.outcome, "sweeps": drawn.sweeps, "probability": probability - rounded}
            yield line, [compared(FIXED, context.study, line, row)]


def _fitted(line: Line, chosen: Mapping[str, Any], mirror: str | None) -> Line:
    """Return the record of the fit of a row with some value and lengthscale."""
    where = line["dataset"], line["flips"], line["split"], line["method"]
    return _fit(*where, chosen["value"], chosen["lengthscale"], mirror)


@lru_cache(maxsize=64)
def _fit(
    dataset: str,
    flips: float,
    split: int,
    method: str,
    value: float,
    lengthscale: float,
    mirror: str | None,
) -> Line:
    split_data = _parts(dataset, split, flips, mirror)
    lengthscale = _unrounded(lengthscale, split_data[0].shape[1])
    epsilon, most = fits.epsilon_of(dataset, flips), fits.max_sweeps_of(dataset)
    return fits.run_cell(split_data, method, value, lengthscale, epsilon, most)


@lru_cache(maxsize=16)
def _chosen(dataset: str, flips: float, split: int, method: str, mirror: str | None) -> Line:
    """Return the value and lengthscale that cross-validation on the training points chooses."""
    lines = choice.lines(dataset, flips, split, _data(dataset, mirror), [method])
    value, lengthscale = choice.chosen(lines)[method]
    return {"value": value, "lengthscale": lengthscale}


def _is_same(line: Line, chosen: Mapping[str, Any]) -> bool:
    return line["value"] == chosen["value"] and bool(np.isclose(line["lengthscale"], chosen["lengthscale"]))


def _parts(dataset: str, split: int, flips: float, mirror: str | None) -> fits.Parts:
    return fits.parts_of(dataset, split, flips, _data(dataset, mirror))


@lru_cache(maxsize=4)
def _data(name: str, mirror: str | None) -> Dataset | None:
    return None if name == fits.BLOBS else relaxed.load(name, mirror=mirror)


def _unrounded(lengthscale: float, n_features: int) -> float:
    """Return the lengthscale of the grid of choices that a file holds with fewer digits."""
    nearest = min(choice.lengthscales(n_features), key=lambda tried: abs(tried - lengthscale))
    return nearest if abs(nearest - lengthscale) <= ROUNDING * nearest else lengthscale
