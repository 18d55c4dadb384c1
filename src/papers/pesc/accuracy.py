"""Accuracy of EP's predictive distributions given the constrained minimum, against rejection sampling.

Problems are random: functions from their priors at random points, random noise and lengthscale, K = 1 or 2
constraints in 1 or 2 dimensions, x* from `bayesopt.optima`. At random inputs the comparison has means and
standard deviations of f and of every constraint, and the acquisition function of this x*. Rejection sampling
gives the latter by the same difference of log variances. The moments at the points and at x* are compared
too: no factor at x enters there, so they test EP alone. Finally each of the two steps to an input is tested
alone. The first is q before the factor at x, against the draws before it. The second is that factor by (35)
to (37), applied to the draws' own moments, which an EP without any error would have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from papers.core.jobs import Job
from papers.core.slices import Slice
from papers.core.study import Column, Flag, Float, Integer, Study, Text
from tilted.bayesopt import acquisition, boundary, nfcpd, optima, rejection, surrogate
from tilted.bayesopt.joint import of_constraint
from tilted.kernels.squared_exponential import SquaredExponential

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Row, Source

FAMILIES = tuple((dimension, K) for dimension in (1, 2) for K in (1, 2))

MEAN, SD, AWAY = 0.1, 0.15, 0.25
"""Tolerances in standard deviations, and relative; lengthscales from x*. They are those of the rules (a test
compares), but stand here, in the code of the job, since recorded columns are counted by them."""

INPUTS, ENOUGH, WANTED, MOST = 20, 1000, 20_000, 1_500_000
"""Inputs of a problem; accepted draws that an input needs to be compared, accepted draws that end the
sampling, and draws at most."""
STATUS = ("converged", "iterations", "halvings", "negative_sites")


class Problem(NamedTuple):
    """Functions, the inputs at which they are compared, and the place of the minimum."""

    functions: list[surrogate.Surrogate]
    Xs: np.ndarray
    optimum: np.ndarray


def family(dimension: int, constraints: int) -> str:
    """Return the name of the problems with a dimension and a number of constraints."""
    return f"{dimension}-D, K = {constraints}"


def draw(dimension: int, constraints: int, rng: np.random.Generator) -> Problem:
    """Draw a problem in the unit cube for which some draw of the functions has a constrained minimum.

    Raises
    ------
    RuntimeError
        If none of 100 sets of functions leads to one.
    """
    n, bounds = int(rng.integers(6, 13)) + 4 * (dimension - 1), np.tile([0.0, 1.0], (dimension, 1))
    noise = float(10 ** rng.uniform(-2.5, -1.0))
    kernel = SquaredExponential(1.0, tuple(rng.uniform(0.2, 0.5, dimension)))
    for _ in range(100):
        X = rng.random((n, dimension))
        root = np.linalg.cholesky(kernel.matrix(X) + noise * np.eye(n))
        functions = [
            surrogate.condition(kernel, noise, X, root @ rng.standard_normal(n), X)
            for _ in range(constraints + 1)
        ]
        minima = optima.sample(functions[0], functions[1:], bounds, 1, rng)
        if len(minima.places):
            return Problem(functions, rng.random((INPUTS, dimension)), minima.places[0])
    raise RuntimeError("no set of functions with a constrained minimum")


def compare(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """Return one row: EP against rejection sampling."""
    functions, Xs, optimum = problem
    truth = rejection.sample(functions[0], functions[1:], optimum, Xs, rng, WANTED, MOST)
    ep = nfcpd.infer(functions[0], functions[1:], optimum)
    enough = truth.kept_at >= ENOUGH
    line = {
        "dimension": Xs.shape[1],
        "constraints": len(functions) - 1,
        "points": len(functions[0].points),
        "noise": functions[0].noise,
        "lengthscale": float(np.mean(functions[0].kernel.lengthscale)),
        "draws": truth.draws,
        "kept": truth.kept,
        "compared": int(np.sum(enough)),
        "fewest": int(np.min(truth.kept_at[enough], initial=truth.kept)),
        **{name: getattr(ep.status, name)[0].item() for name in STATUS},
    }
    if not np.any(enough) or truth.before is None:
        return line
    return (
        line
        | _moments(ep, truth, Xs, enough)
        | _at_points(ep, truth)
        | _steps(ep, truth.before, truth, Xs, enough)
        | _acquired(ep, truth, Xs, enough)
    )


class Errors(NamedTuple):
    """Errors of means, in standard deviations, and relative errors of standard deviations."""

    mean: np.ndarray
    sd: np.ndarray

    def largest(self, suffix: str) -> dict[str, float]:
        """Return the two columns with a suffix."""
        return {
            f"{kind}_error{suffix}": float(np.max(errors, initial=0.0))
            for kind, errors in self._asdict().items()
        }


def _errors(
    mean: np.ndarray, variance: np.ndarray, true_mean: np.ndarray, true_variance: np.ndarray
) -> Errors:
    return Errors(
        np.abs(mean - true_mean) / np.sqrt(true_variance), np.abs(np.sqrt(variance / true_variance) - 1.0)
    )


def _predicted(p: nfcpd.Predicted, truth: rejection.Kept, enough: np.ndarray) -> Errors:
    """Return the errors of predictions at the inputs with enough draws."""
    return _errors(p.mean[:, 0], p.variance[:, 0], truth.mean[:, enough], truth.variance[:, enough])


def _moments(ep: nfcpd.Nfcpd, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray) -> dict[str, Any]:
    """Return errors of the predictive moments: the largest, those away from x*, those with exact g."""
    Xs = Xs[enough]
    errors = _predicted(nfcpd.predict(ep, Xs), truth, enough)
    worst = np.maximum(errors.mean / MEAN, errors.sd / SD)
    function, place = np.unravel_index(np.argmax(worst), worst.shape)
    offsets = (Xs - ep.optima[0]) / np.asarray(ep.functions[0].kernel.lengthscale)
    distance = np.linalg.norm(offsets, axis=1)
    away = distance >= AWAY
    exact = _predicted(boundary.predict(ep, Xs), truth, enough)
    fine = np.all(np.isfinite(exact))
    return {
        **errors.largest(""),
        "worst_function": "f" if function == 0 else f"c{function}",
        "worst_distance": float(distance[place]),
        "within": float(np.mean(worst <= 1.0)),
        **(exact.largest("_exact") if fine else {}),
        **Errors(errors.mean[:, away], errors.sd[:, away]).largest("_away"),
    }


def _at_points(ep: nfcpd.Nfcpd, truth: rejection.Kept) -> dict[str, Any]:
    """Return the errors of q at the points and x*."""
    errors = []
    for j, function in enumerate(ep.functions):
        values = of_constraint(function, ep.optima)
        W = np.linalg.solve(np.tril(ep.posteriors[j].factor[0]), values.directions[0].T)
        mean = values.means[0] + ep.posteriors[j].shift[0] @ W
        draws = truth.values[j]
        errors.append(_errors(mean, np.sum(W**2, axis=0), draws.mean(axis=0), draws.var(axis=0)))
    return Errors(*map(np.concatenate, zip(*errors, strict=True))).largest("_points")


def _steps(
    ep: nfcpd.Nfcpd, exact: rejection.Before, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray
) -> dict[str, Any]:
    """Return EP's errors at the inputs before the last factor, and those of that factor after an exact EP."""
    q = nfcpd.before_last_factor(ep, Xs[enough])[0]
    before_factor = _errors(q.mean[:, 0], q.variance[:, 0], exact.mean[:, enough], exact.variance[:, enough])
    moments = nfcpd.Predicted(exact.mean[:, None], exact.variance[:, None])
    last = nfcpd.finish(moments, exact.u_mean[None], exact.u_variance[None], exact.with_u[None])
    finished = nfcpd.Predicted(last.mean[..., enough], last.variance[..., enough])
    return before_factor.largest("_q") | _predicted(finished, truth, enough).largest("_last")


def _acquired(ep: nfcpd.Nfcpd, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray) -> dict[str, Any]:
    """Return the errors of the acquisition function, in nats."""
    Xs = Xs[enough]
    estimated = acquisition.entropy_reduction(ep, Xs).sum(axis=0)
    before = np.array([function.predict(Xs)[1] for function in ep.functions])
    noise = np.array([function.noise for function in ep.functions])
    after = np.log(truth.variance[:, enough] + noise[:, None])
    true = acquisition.reduction(before, after, noise).sum(axis=0)
    return {
        "acquisition_error": float(np.max(np.abs(estimated - true))),
        "acquisition_top": float(true.max()),
        "acquisition_regret": float(true.max() - true[np.argmax(estimated)]),
    }


ERROR = Float(6, tolerance=1e-3)
"""The tolerance is far below the sampling error of the truth, 0.007 standard deviations."""

COLUMNS: dict[str, Column] = {
    "family": Text(),
    **dict.fromkeys(("problem", "dimension", "constraints", "points"), Integer()),
    **dict.fromkeys(("noise", "lengthscale"), ERROR),
    **dict.fromkeys(("draws", "kept", "compared"), Integer()),
    "converged": Flag(),
    **dict.fromkeys(("iterations", "halvings"), Integer()),
    "negative_sites": Integer(compared=False),  # the sign of a precision near zero is rounding
    **dict.fromkeys(("mean_error", "sd_error"), ERROR),
    "worst_function": Text(),
    "worst_distance": ERROR,
    "within": Float(6, tolerance=1e-3, share=True),
    **dict.fromkeys(("mean_error_away", "sd_error_away"), ERROR),
    "fewest": Integer(),
    **{f"{kind}_error_{at}": ERROR for at in ("points", "q", "last", "exact") for kind in ("mean", "sd")},
    **dict.fromkeys(("acquisition_error", "acquisition_top", "acquisition_regret"), ERROR),
}
"""``compared``: inputs with enough draws, ``fewest`` the least of their numbers of draws. Errors are the
largest over them and all functions, of means in standard deviations, of standard deviations relative;
``worst_distance`` is the distance from x* in lengthscales of the largest error over its tolerance, ``within``
the share of moments within both tolerances.
``..._away``: at the inputs at least `AWAY` lengthscales from x*. ``..._points``: at the points and x*.
``..._q``: at the inputs, before the factor there; ``..._last``: with that factor's approximation alone.
``..._exact``: with g kept exact in the last factor (`bayesopt.boundary`), empty where that fails. Of the
acquisition function in nats: the largest error, the largest true value, and by how much the truth at its
maximum falls short of that."""


def row_of(dimension: int, constraints: int, number: int) -> dict[str, Any]:
    """Return the row of one problem of a family; without errors if too few draws remain to compare."""
    rng = np.random.default_rng([0, dimension, constraints, number])
    row = {"family": family(dimension, constraints), "problem": number}
    row |= compare(draw(dimension, constraints, rng), rng)
    return {name: row.get(name) for name in COLUMNS}


def jobs(section: Mapping[str, int]) -> Iterator[Job]:
    """Yield a job for each family of problems."""
    problems = section["problems"]
    for dimension, constraints in FAMILIES:
        where = {"family": [family(dimension, constraints)], "problem": range(problems)}
        yield Job(
            f"data/fits/pesc/accuracy/{problems}/{dimension}d-{constraints}c.jsonl.gz",
            "pesc_accuracy",
            f"{__name__}:run",
            {"dimension": dimension, "constraints": constraints, "problems": problems},
            (__name__,),
            rows=(Slice(ACCURACY, where),),
            part="PESC accuracy",
            fits=problems,
        )


def run(dimension: int, constraints: int, problems: int, log: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a job."""
    for number in range(problems):
        yield row_of(dimension, constraints, number)


def _repeat(rows: pd.DataFrame, source: Source) -> Iterator[tuple[Study, Row]]:
    """Repeat random problems."""
    for row in rows.to_dict("records"):
        yield ACCURACY, row_of(row["dimension"], row["constraints"], row["problem"])


ACCURACY = Study(
    "pesc/accuracy.csv",
    COLUMNS,
    key=("family", "problem"),
    order=("family", "problem"),
    group=("family",),
    seconds=0.25,
    repeat=_repeat,
)
"""A row is a random problem."""
