"""Seeded random problems, ordinary and hostile: no raw error, no silent non-finite number, all in time."""

import re
import time
import warnings

import numpy as np
import pytest

import tilted
from tilted import (
    GPClassifier,
    GPPoissonRegressor,
    SparseGPClassifier,
    SparseGPPoissonRegressor,
    SparseGPRegressor,
)
from tilted.kernels import Matern, SquaredExponential

BOUND = 10.0  # seconds a case, twice what `max_time` grants it
RAW = r"operand|broadcast|unpack|NoneType|attribute|subscript|index \d|axis \d|singular|dtype|LAPACK|'<' not"

HARD = "time was up|lost to rounding"  # what may keep sensible numbers from being fitted


def inputs(rng, n):
    """X [n, D] of one kind or another."""
    D = int(rng.integers(1, 5))
    X = rng.normal(size=(n, D)) * 10.0 ** rng.choice([0, 0, 0, -6, 3, 12, -30, 40, 120], size=D)
    kind = rng.integers(6)
    if kind == 0:
        X[:, 0] = np.round(X[:, 0])
    elif kind == 1:
        X[rng.integers(n)] *= 1e6
    elif kind == 2:
        X = X + 10.0 ** rng.integers(0, 15)
    elif kind == 3:
        X[:, 0] = 3.0
    elif kind == 4:
        X = np.repeat(X[: (n + 1) // 2], 2, axis=0)[:n]
    return X


def kernel(rng):
    """None, mostly, or a kernel at hyperparameters that may be far off."""
    if rng.random() < 0.7:
        return None
    of = SquaredExponential if rng.random() < 0.5 else Matern
    return of(*(10.0 ** rng.choice([0, 0, 1, -5, 8, -120, 250], size=2)))


def within(X, y, kernel):
    """Whether a problem is one of numbers that the library says it takes."""
    sizes = [np.max(np.abs(numbers)) for numbers in (X, y)]
    sizes += [] if kernel is None else [np.sqrt(p) for p in kernel.parameters()]  # up to 1e100
    return all(1e-50 <= size <= 1e50 or size == 0 for size in sizes)


class Clock:
    """Stands still until it was looked at ``last`` times; then all time is up."""

    def __init__(self, last=np.inf):
        self.last, self.looks = last, 0

    def __call__(self):
        self.looks += 1
        return 0.0 if self.looks <= self.last else 1e9


def attempt(seed):
    """What went wrong with one random problem: a text, "" if nothing did."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 25))
    X, f = inputs(rng, n), rng.normal(size=n)
    how = {"kernel": kernel(rng), "max_time": BOUND / 2.0, "ard": bool(rng.random() < 0.2)}
    if rng.random() < 0.2:
        how["mean"] = "constant"
    labels = np.where(np.arange(n) % 2 == 0, f, -f) > 0
    labels[:2] = True, False
    counts = np.floor(np.minimum(rng.choice([1.0, 100.0, 1e4]) * f**2, 1e5))
    reals = f * 10.0 ** rng.choice([0, 5, -5, 45, 80, -170]) + rng.choice([0.0, 0.0, 1e6])
    kind = rng.integers(5)
    inference = str(rng.choice(["ep", "vb", "power-ep"]))
    fit = [
        lambda: GPClassifier(inference, likelihood=str(rng.choice(["probit", "logit"])), **how).fit(
            X, labels
        ),
        lambda: (
            GPPoissonRegressor(inference, **how)
            if rng.random() < 0.5
            else SparseGPPoissonRegressor(inference, n_pseudo=5, **how)
        ).fit(X, counts),
        lambda: SparseGPClassifier(inference, n_pseudo=5, **how).fit(X, labels),
        lambda: SparseGPRegressor(inference, n_pseudo=5, **how).fit(X, reals),
        lambda: tilted.fit(X, reals, "gaussian", inference, **how),
    ][kind]
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = fit()
            new = X + 0.1
            if kind == 4:
                numbers = [*model.predict_latent(new), model.log_evidence]
            else:
                numbers = [model.predict_latent(new), model.predict(new) * 1.0, model.log_evidence_]
        except (ValueError, ArithmeticError) as error:
            if type(error) is OverflowError or re.search(RAW, str(error)):
                return f"seed {seed}: raw {type(error).__name__}: {error}"
            sensible = within(X, [labels, counts, labels, reals, reals][kind], how["kernel"])
            return f"seed {seed}: {error}" if sensible and not re.search(HARD, str(error)) else ""
        except Exception as error:
            return f"seed {seed}: raw {type(error).__name__}: {error}"
    if time.process_time() - began > BOUND:
        return f"seed {seed}: {time.process_time() - began:.1f} s"
    numeric = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
    if numeric:
        return f"seed {seed}: RuntimeWarning {numeric[0]}"
    if not all(np.all(np.isfinite(number)) for number in numbers) and not caught:
        return f"seed {seed}: silent non-finite numbers"
    status = model.status if kind == 4 else model.status_
    how, *_notes = status.message.split(";")  # notes may tell of other points
    if status.converged and re.search(r"stopped|not converged|time", how):
        return f"seed {seed}: converged, and {status.message}"
    return ""


def wrong(seeds):
    """What went wrong, problem by problem."""
    return [text for seed in seeds if (text := attempt(seed))]


def wrong_when_cut(seed, parts, monkeypatch):
    """What went wrong where time was up at one of so many looks at the clock, spread over all of them."""
    whole = Clock()
    monkeypatch.setattr(time, "monotonic", whole)
    texts = {attempt(seed): None}
    for last in np.unique(np.linspace(1, whole.looks - 1, parts).astype(int)):
        monkeypatch.setattr(time, "monotonic", Clock(last))
        texts |= {text and f"{text} (after {last} looks)": None for text in [attempt(seed)]}
    return [text for text in texts if text]


@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_problems(first):
    assert wrong(range(first, first + 20)) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(40, 5040, 250))
def test_thousands_of_random_problems(first):
    assert wrong(range(first, first + 250)) == []


@pytest.mark.parametrize("seed", range(12))
def test_random_problems_whose_time_is_up(seed, monkeypatch):
    assert wrong_when_cut(seed, 3, monkeypatch) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(2850, 2950, 50))
def test_time_that_is_up_anywhere(first, monkeypatch):
    problems = (text for seed in range(first, first + 50) for text in wrong_when_cut(seed, 12, monkeypatch))
    assert list(problems) == []
