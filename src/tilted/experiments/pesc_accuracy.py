"""How good EP's predictive distributions given the constrained minimum are: against rejection sampling.

Random problems: functions from their priors at random points, random noise and lengthscale, K = 1 or 2
constraints in 1 or 2 dimensions, x* from `bayesopt.optima`. Compared at random inputs: means and standard
deviations of f and of every constraint, and the acquisition function of this one x*, which rejection sampling
gives by the same difference of log variances. Beside that the same moments of f and of the constraints at the
points and at x* themselves, where no factor at x comes in: what EP alone does. And each of the two steps to
an input alone: q there before the factor at x, against the draws before it; and that factor by (35) to (37)
on the draws' own moments before it, which an EP without any error would have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tilted.bayesopt import acquisition, boundary, nfcpd, optima, rejection, surrogate
from tilted.bayesopt.joint import of_constraint
from tilted.kernels.squared_exponential import SquaredExponential

COLUMNS = (
    "family problem dimension constraints points noise lengthscale draws kept compared converged iterations "
    "halvings negative_sites mean_error sd_error worst_function worst_distance within mean_error_away "
    "sd_error_away fewest mean_error_points sd_error_points mean_error_q sd_error_q mean_error_last "
    "sd_error_last mean_error_exact sd_error_exact acquisition_error acquisition_top acquisition_regret"
).split()
"""``compared``: inputs with enough draws, ``fewest`` the least of their numbers of draws. Errors are the
largest over them and all functions, of means in standard deviations, of standard deviations relative;
``worst_distance`` is the distance from x* in lengthscales of the largest error over its tolerance, ``within``
the share of moments within both tolerances.
``..._away``: at the inputs at least `AWAY` lengthscales from x*. ``..._points``: at the points and x*.
``..._q``: at the inputs, before the factor there; ``..._last``: with that factor's approximation alone.
``..._exact``: with g kept exact in the last factor (`bayesopt.boundary`), empty where that fails. Of the
acquisition function in nats: the largest error, the largest true value, and by how much the truth at its
maximum falls short of that."""

FAMILIES = tuple((dimension, K) for dimension in (1, 2) for K in (1, 2))
NUMBER = 15
MEAN, SD = 0.1, 0.15
"""Tolerances: in standard deviations, and relative."""

AWAY = 0.25
INPUTS, ENOUGH, WANTED, MOST = 20, 1000, 20_000, 1_500_000


class Problem(NamedTuple):
    """Functions, where they are compared, and the place of the minimum."""

    functions: list[surrogate.Surrogate]
    Xs: np.ndarray
    optimum: np.ndarray


def modules_of(problem: str) -> list[str]:
    """Modules whose closures a line depends on."""
    return [__name__]


def study(number: int = NUMBER, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Lines with `COLUMNS`, family by family."""
    for dimension, K in FAMILIES:
        yield from lines(dimension, K, number, seed)


def lines(dimension: int, K: int, number: int = NUMBER, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Those of one family; a line that lacks errors had too few draws kept to compare."""
    for k in range(number):
        rng = np.random.default_rng([seed, dimension, K, k])
        line = {"family": family(dimension, K), "problem": k, **compare(draw(dimension, K, rng), rng)}
        yield {name: line.get(name) for name in COLUMNS}


def family(dimension: int, K: int) -> str:
    """Name of the problems of a dimension with so many constraints."""
    return f"{dimension}-D, K = {K}"


def draw(dimension: int, K: int, rng: np.random.Generator) -> Problem:
    """A random problem in the unit cube for which some draw of the functions has a constrained minimum.

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
            surrogate.condition(kernel, noise, X, root @ rng.standard_normal(n), X) for _ in range(K + 1)
        ]
        found = optima.sample(functions[0], functions[1:], bounds, 1, rng)
        if len(found.places):
            return Problem(functions, rng.random((INPUTS, dimension)), found.places[0])
    raise RuntimeError("no set of functions with a constrained minimum")


def compare(problem: Problem, rng: np.random.Generator) -> dict[str, Any]:
    """One line: EP and rejection sampling."""
    functions, Xs, optimum = problem
    truth = rejection.sample(functions[0], functions[1:], optimum, Xs, rng, WANTED, MOST)
    found = nfcpd.infer(functions[0], functions[1:], optimum)
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
        **{name: getattr(found.status, name)[0].item() for name in STATUS},
    }
    if not np.any(enough) or truth.before is None:
        return line
    return (
        line
        | _moments(found, truth, Xs, enough)
        | _at_points(found, truth)
        | _steps(found, truth.before, truth, Xs, enough)
        | _acquired(found, truth, Xs, enough)
    )


STATUS = ("converged", "iterations", "halvings", "negative_sites")


def _moments(found: nfcpd.Nfcpd, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray) -> dict[str, Any]:
    ours = nfcpd.predict(found, Xs[enough])
    mean, sd = _errors(ours.mean[:, 0], ours.variance[:, 0], truth.mean[:, enough], truth.variance[:, enough])
    worst = np.maximum(mean / MEAN, sd / SD)
    function, place = np.unravel_index(np.argmax(worst), worst.shape)
    offsets = (Xs[enough] - found.optima[0]) / np.asarray(found.functions[0].kernel.lengthscale)
    distance = np.linalg.norm(offsets, axis=1)
    away = distance >= AWAY
    return {
        "mean_error": float(mean.max()),
        "sd_error": float(sd.max()),
        "worst_function": "f" if function == 0 else f"c{function}",
        "worst_distance": float(distance[place]),
        "within": float(np.mean(worst <= 1.0)),
        **_exact(found, truth, Xs, enough),
        "mean_error_away": float(np.max(mean[:, away], initial=0.0)),
        "sd_error_away": float(np.max(sd[:, away], initial=0.0)),
    }


def _exact(found: nfcpd.Nfcpd, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray) -> dict[str, Any]:
    ours = boundary.predict(found, Xs[enough])
    mean, sd = _errors(ours.mean[:, 0], ours.variance[:, 0], truth.mean[:, enough], truth.variance[:, enough])
    fine = bool(np.all(np.isfinite(mean)) and np.all(np.isfinite(sd)))
    return {"mean_error_exact": float(mean.max()), "sd_error_exact": float(sd.max())} if fine else {}


def _errors(
    mean: np.ndarray, variance: np.ndarray, true_mean: np.ndarray, true_variance: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of means in standard deviations, of standard deviations relative."""
    return np.abs(mean - true_mean) / np.sqrt(true_variance), np.abs(np.sqrt(variance / true_variance) - 1.0)


def _at_points(found: nfcpd.Nfcpd, truth: rejection.Kept) -> dict[str, Any]:
    """Errors of q itself, at the points and x*."""
    errors = []
    for j, function in enumerate(found.functions):
        values = of_constraint(function, found.optima)
        W = np.linalg.solve(np.tril(found.posteriors[j].factor[0]), values.directions[0].T)
        mean = values.means[0] + found.posteriors[j].shift[0] @ W
        theirs = truth.values[j]
        errors.append(_errors(mean, np.sum(W**2, axis=0), theirs.mean(axis=0), theirs.var(axis=0)))
    mean, sd = (max(float(part[i].max()) for part in errors) for i in range(2))
    return {"mean_error_points": mean, "sd_error_points": sd}


def _steps(
    found: nfcpd.Nfcpd, exact: rejection.Before, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray
) -> dict[str, Any]:
    """Errors of EP at the inputs, and of the last factor given what an exact EP would say there."""
    q = nfcpd.before_last_factor(found, Xs[enough])[0]
    mean, sd = _errors(q.mean[:, 0], q.variance[:, 0], exact.mean[:, enough], exact.variance[:, enough])
    line = {"mean_error_q": float(mean.max()), "sd_error_q": float(sd.max())}
    moments = nfcpd.Predicted(exact.mean[:, None], exact.variance[:, None])
    last = nfcpd.finish(moments, exact.u_mean[None], exact.u_variance[None], exact.with_u[None])
    mean, sd = _errors(last.mean[:, 0], last.variance[:, 0], truth.mean, truth.variance)
    worst = {"mean_error_last": float(mean[:, enough].max()), "sd_error_last": float(sd[:, enough].max())}
    return line | worst


def _acquired(
    found: nfcpd.Nfcpd, truth: rejection.Kept, Xs: np.ndarray, enough: np.ndarray
) -> dict[str, Any]:
    Xs = Xs[enough]
    ours = acquisition.entropy_reduction(found, Xs).sum(axis=0)
    before = np.array([function.predict(Xs)[1] for function in found.functions])
    noise = np.array([function.noise for function in found.functions])
    after = np.log(truth.variance[:, enough] + noise[:, None])
    true = acquisition.reduction(before, after, noise).sum(axis=0)
    return {
        "acquisition_error": float(np.max(np.abs(ours - true))),
        "acquisition_top": float(true.max()),
        "acquisition_regret": float(true.max() - true[np.argmax(ours)]),
    }
