"""Training on even against odd MNIST digits by minibatches (`results` reports the outcomes).

A training is a (alpha, M, seed): Power EP by minibatches (`tilted.learning.minibatch`), measured on the test
set at steps that are about equally far apart in their logarithm [Bui et al. 2017, section 3.9 and appendix
I.4]. The paper gives neither the batches nor the rates nor the starting points. The choices made here are in
the constants below and in docs/paper-power-ep.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.data import mnist
from papers.pep.regression import FAILED, OK, centres
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.minibatch import Trained, Training, begin, train
from tilted.learning.sparse import Problem
from tilted.likelihoods.probit import Probit
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from typing import Any

VARIANCE, LENGTHSCALE, JITTER = 4.0, 6.0, 1e-4
TRAINING = Training(batch=500, sweeps=1, rate=0.1, decay=0.0, learning_rate=0.01)
CLUSTERED = 2000
"""Images whose cluster centres are the first pseudo-inputs."""

EACH_DECADE = 8
"""Measurements while the number of steps grows ten times."""

RUN = ("dataset", "alpha", "m", "seed")
SCORES = ("error", "log_likelihood", "energy")
KERNEL, COUNTS = ("variance", "lengthscale"), ("skipped", "refused")


def schedule(steps: int) -> list[int]:
    """Return the steps after which a training of ``steps`` is measured, the last step included."""
    decades = np.arange(0.0, np.log10(steps), 1.0 / EACH_DECADE)
    return list(dict.fromkeys([*(int(round(10.0**x)) for x in decades), steps]))


def pseudo_inputs(X: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Return the centres [m, D] of clusters of `CLUSTERED` rows of ``X`` [N, D] that ``seed`` draws.

    Raises
    ------
    ValueError
        For more centres than rows to cluster.
    """
    rng = np.random.default_rng([seed, m])
    rows = rng.permutation(len(X))[:CLUSTERED]
    if m > len(rows):
        raise ValueError(f"{m} pseudo-points for {len(rows)} images")
    return centres(X[rows], m, rng)


def run(
    digits: mnist.Digits, alpha: float, m: int, seed: int, steps: int, training: Training = TRAINING
) -> Iterator[dict[str, Any]]:
    """Yield the measurements of a training.

    Parameters
    ----------
    digits : Digits
    alpha : float in [0, 1]
        Power; 0 is VB.
    m : int
        Number of pseudo-points.
    seed : int
        Seed of the first pseudo-inputs and of the order of the data.
    steps : int
    training : Training, optional
        Its ``steps`` and ``seed`` are not used.

    Yields
    ------
    line : dict
        A row of `records.DIGITS`, with None for each missing number. A failed training ends with such a row;
        after a failed measurement the training continues.

    Raises
    ------
    ValueError
        For an invalid power, number of pseudo-points or number of steps.
    """
    problem = Problem(digits.X, digits.y, Probit(), alpha, jitter=JITTER)
    training = replace(training, steps=steps, seed=seed)
    identity = {
        "dataset": mnist.NAME,
        "alpha": float(alpha),
        "m": int(m),
        "seed": int(seed),
        "steps": int(steps),
    }
    Z = pseudo_inputs(digits.X, m, seed)
    state: Trained | None = None
    began, apart = time.process_time(), 0.0
    for step in schedule(steps):
        line = {**identity, "step": step}
        try:
            if state is None:
                state = begin(problem, SquaredExponential(VARIANCE, LENGTHSCALE), Z)
            state = train(problem, state, replace(training, steps=step))
        except (NotPositiveDefinite, ArithmeticError, ValueError) as error:
            yield {**line, "seconds": time.process_time() - began - apart, **_failure(error)}
            return
        stopped = time.process_time()
        yield {**line, "seconds": stopped - began - apart, **_measured(state, digits)}
        apart += time.process_time() - stopped


def _measured(state: Trained, digits: mnist.Digits) -> dict[str, Any]:
    """Return the scores of a state on the test set."""
    kernel = dict(zip(KERNEL, state.pseudo.kernel.parameters().tolist(), strict=True))
    counts = {"skipped": int(state.skipped), "refused": int(state.refused)}
    about = {"energy": state.energy, **kernel, **counts}
    try:
        latent = state.predict(digits.X_test)
    except (NotPositiveDefinite, ArithmeticError) as error:
        return {**_failure(error), **about, "energy": None}
    return {
        "error": float(np.mean(Probit().errors(digits.y_test, *latent))),
        "log_likelihood": float(np.mean(Probit().log_predictive(digits.y_test, *latent))),
        **about,
        "outcome": OK,
        "message": "",
    }


def _failure(error: Exception) -> dict[str, Any]:
    return {
        **dict.fromkeys((*SCORES, *KERNEL, *COUNTS)),
        "outcome": FAILED,
        "message": " ".join(str(error).split()),
    }


def narrate(lines: Iterable[dict[str, Any]], path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the rows and write one line of a log file for each."""
    with open(path, "w", encoding="utf-8", buffering=1) as log:
        for line in lines:
            measured = f"error {line['error']}, log-likelihood {line['log_likelihood']}"
            print(f"step {line['step']}: {line['seconds']:.2f} s, {measured} {line['message']}", file=log)
            yield line
