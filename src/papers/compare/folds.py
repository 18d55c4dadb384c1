"""Ten folds of a table, every method on each, and the exact posterior on the first."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import stats

from papers.compare import methods
from papers.compare.table import CLASSIFICATION, COUNTS, Table
from tilted.exact.chains import Length, sample
from tilted.exact.target import Reference, Target

if TYPE_CHECKING:
    from papers.compare.methods import Fitted
    from tilted.exact.chains import Sample

FOLDS = 10
FRACTION = 0.7
"""Power of EP's sites in the sampler's reference, wider than EP's posterior, as for the QP paper's rows."""
MOST_EXACT = 1000
BASELINE = "no-features"
"""In the place of a method: the task's likelihood without a latent function, at its best on training rows."""
CHAINS = 64
R_HAT = 1.05


class Fold(NamedTuple):
    """Rows to train and test on; targets of a regression in training sds about the training mean."""

    part: methods.Part
    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    scale: float


class Outcome(NamedTuple):
    """A method on a fold; scores are NaN if it failed, and ``message`` says why, or what was warned of.

    ``loss``: mean negative log predictive density in nats of the table's own unit; ``error``: share of wrong
    labels, or mean absolute error in that unit; ``probability``: of +1 [N*], else whether covered.
    """

    method: str
    fold: int
    loss: float
    error: float
    seconds: float
    converged: bool
    message: str
    n_train: int
    n_test: int
    probability: tuple[float, ...]
    label: tuple[float, ...]


class Nearness(NamedTuple):
    """A method's latents at the first fold's test rows beside the exact ones, at EP's hyperparameters.

    ``mean``: root mean square difference of means, in exact sds; ``variance``: geometric mean of variance
    over exact variance; ``loss``: mean negative log predictive density minus that of the exact one, in nats.
    """

    method: str
    mean: float
    variance: float
    loss: float
    message: str


class Exact(NamedTuple):
    """The sampled posterior: how many rows, how good the chains, and every method beside it."""

    n_train: int
    iterations: int
    r_hat: float
    effective: float
    noise: float
    nearness: list[Nearness]

    @property
    def sound(self) -> bool:
        """Whether the chains agree."""
        return self.r_hat <= R_HAT


def folds(table: Table, seed: int, ard: bool = False) -> Iterator[Fold]:
    """Ten folds, stratified by class; equal rows are in one fold, so that none is trained and tested on."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    kind = StratifiedGroupKFold if table.task == CLASSIFICATION else GroupKFold
    groups = np.unique(table.X, axis=0, return_inverse=True)[1].ravel()
    split = kind(FOLDS, shuffle=True, random_state=seed).split(table.X, table.y, groups)
    for k, (train, test) in enumerate(split):
        train = np.random.default_rng([seed, k]).permutation(train)
        yield _fold(table, train, test, ard)


def _fold(table: Table, train: np.ndarray, test: np.ndarray, ard: bool) -> Fold:
    X, y = table.X[train], table.y[train]
    constant = X.max(axis=0) == X.min(axis=0)
    centre, spread = X.mean(axis=0), np.where(constant, 1.0, X.std(axis=0))
    level, scale, mean = 0.0, 1.0, 0.0
    if table.task == COUNTS:
        mean = math.log(max(float(y.mean()), 0.5 / len(y)))
    elif table.task != CLASSIFICATION:
        level, scale = float(y.mean()), float(y.std())
    if scale == 0.0 or (table.task == CLASSIFICATION and np.all(y == y[0])):
        raise ValueError("the training rows of a fold all have one target: too few rows of another")
    part = methods.Part(table.task, (X - centre) / spread, (y - level) / scale, mean, ard)
    return Fold(part, (table.X[test] - centre) / spread, (table.y[test] - level) / scale, test, scale)


def compared(
    fold: Fold, k: int, iterations: int, chosen: Collection[str] = ()
) -> tuple[list[Outcome], Exact | None]:
    """Every method (or those chosen) on a fold, then `BASELINE`; with ``iterations`` the exact posterior."""
    try:
        first, warned = _heard(methods.ep, fold.part)
    except (ArithmeticError, ValueError) as error:
        raise ValueError(
            f"EP failed on fold {k}, and every method starts from it or is beside it: {error}"
        ) from None
    outcomes, penalties = [], {}
    for method in methods.of(fold.part.task, chosen):
        try:
            fitted, more = _heard(method.fit, fold.part, first)
            penalties[method.name] = fitted.penalty
            said = dict.fromkeys([*([fitted.message] if not fitted.converged else []), *more])
            said |= dict.fromkeys(warned if fitted is first else [])
            outcomes.append(_scored(method.name, fitted, fold, k)._replace(message="; ".join(said)))
        except (ArithmeticError, ValueError) as error:
            lost = (math.nan,) * 3
            sizes = len(fold.part.y), len(fold.y)
            outcomes.append(Outcome(method.name, k, *lost, False, str(error), *sizes, (), ()))
    outcomes.append(_featureless(fold, k))
    return outcomes, _exact(fold, first, penalties, iterations) if iterations else None


def _heard(fit: Callable[..., Fitted], *of: object) -> tuple[Fitted, list[str]]:
    """A fit, and what it warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        return fit(*of), [str(warning.message) for warning in heard]


def _featureless(fold: Fold, k: int) -> Outcome:
    """Shares of the classes, a Poisson of the mean count (of half a one at least), Laplace noise."""
    y, new, task = fold.part.y, fold.y, fold.part.task
    if task == CLASSIFICATION:
        chance = float(np.mean(y > 0))
        log_density, error = np.log(np.where(new > 0, chance, 1.0 - chance)), (new > 0) != (chance > 0.5)
        said = np.full(len(new), chance)
    else:
        counts = task == COUNTS
        law = stats.poisson(math.exp(fold.part.mean)) if counts else stats.laplace(*stats.laplace.fit(y))
        log_density = law.logpmf(new) if counts else law.logpdf(new)
        low, high = law.interval(methods.COVERED)
        error, said = np.abs(new - law.mean()), ((low <= new) & (new <= high)).astype(float)
    loss = -float(np.mean(log_density)) + math.log(fold.scale)
    status = 0.0, True, "", len(y), len(new)
    return Outcome(BASELINE, k, loss, fold.scale * float(np.mean(error)), *status, tuple(said), tuple(new))


def _scored(method: str, fitted: Fitted, fold: Fold, k: int) -> Outcome:
    m, v = fitted.latent(fold.X)
    likelihood, y = fitted.likelihood, fold.y
    loss = -float(np.mean(likelihood.log_predictive(y, m, v))) + math.log(fold.scale)
    error = fold.scale * float(np.mean(likelihood.errors(y, m, v)))
    if fold.part.task == CLASSIFICATION:
        said = np.exp(likelihood.log_predictive(np.ones(len(y)), m, v))
    else:
        said = methods.covered(likelihood, y, m, v).astype(float)
    status = fitted.seconds, fitted.converged, fitted.message
    sizes = len(fold.part.y), len(y)
    return Outcome(method, k, loss, error, *status, *sizes, tuple(said.tolist()), tuple(y.tolist()))


def _exact(fold: Fold, first: Fitted, penalties: dict[str, float], iterations: int) -> Exact:
    part = fold.part
    target = Target.build(first.kernel, part.X, part.y, first.likelihood, part.mean)
    reference = Reference.build(target, first.state.sites, FRACTION)
    length = Length(CHAINS, iterations // 5, iterations)
    drawn = sample(reference, np.random.default_rng([0, iterations]), length, inputs=fold.X, labels=fold.y)
    assert drawn.others is not None
    near = [
        _near(method, fold, first, penalties, drawn)
        for method in methods.of(part.task, penalties)
        if method.at is not None
    ]
    latents, others = drawn.latents, drawn.others
    r_hat = max(float(latents.r_hat.max()), float(others.r_hat.max()))
    noise = float(np.sqrt(np.mean(others.se_mean**2 / others.variance)))
    return Exact(len(part.y), iterations, r_hat, float(others.effective_size.min()), noise, near)


def _near(
    method: methods.Method, fold: Fold, first: Fitted, penalties: dict[str, float], drawn: Sample
) -> Nearness:
    assert method.at is not None and drawn.others is not None and drawn.log_density is not None
    exact = drawn.others
    try:
        fitted = method.at(fold.part, first, penalties.get(method.name, math.nan))
        m, v = fitted.latent(fold.X)
    except (ArithmeticError, ValueError) as error:
        return Nearness(method.name, math.nan, math.nan, math.nan, str(error))
    apart = float(np.sqrt(np.mean((m - exact.mean) ** 2 / exact.variance)))
    ratio = float(np.exp(np.mean(np.log(v / exact.variance))))
    loss = float(np.mean(drawn.log_density - fitted.likelihood.log_predictive(fold.y, m, v)))
    return Nearness(method.name, apart, ratio, loss, "" if fitted.converged else fitted.message)
