"""The classifiers of the relaxed-EP paper: methods, fits and scores [Qi & Guo 2012, section 6].

All have the noisy step, a zero-mean process and a squared-exponential kernel of variance 1 (labels depend on
the sign of f only, so its scale says nothing). EP, Power EP and REP are sequential sweeps without rescue, as
the paper describes them, up to a limit; a run that diverges is scored at its last proper posterior, and
counted. There is no released code. What the paper leaves open: REP is run with the three meanings of its
divergence, relaxations held after ten sweeps (``rep-as-described`` is what is printed: eq. 36, step (e),
searched to the end); EP is also run with plain damping, and EP and REP by this package's engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted import metrics
from tilted.data import Dataset, relaxed
from tilted.experiments import blobs
from tilted.gaussian import Sites
from tilted.inference import rep
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.inference.rep import NORMALISED, PRINTED, READINGS, UNNORMALISED, Relaxation
from tilted.inference.textbook import CONVERGED, UNSETTLED, sweep_on
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.likelihoods.step import NoisyStep
from tilted.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from tilted.inference.result import Inference
    from tilted.inference.rule import Rule
    from tilted.inference.textbook import Sweeps
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.dense import DenseState

    Parts = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
    Run: TypeAlias = Callable[[Dense, Likelihood, np.ndarray, float, int], "Outcome"]

PAPER, BLOBS = "rep", "blobs"
BLOBS_REPEATS = 10
EPSILON = 0.1
MAX_SWEEPS, FEWER = 100, 40
TOLERANCE = 1e-3
"""Of the change of the weights in a sweep, the paper's; for the engine, of its own residual."""

ENGINE = Options(tolerance=TOLERANCE)

DAMPING = 0.5
POWERS = (0.5, 0.8, 0.9)
PENALTIES = {NORMALISED: (0.03, 0.1, 0.3), UNNORMALISED: (0.01, 0.03, 0.1), PRINTED: (1.0, 3.0, 10.0)}
"""Values a parameter is chosen from; with a prior variance of 1 larger penalties are EP."""

FAILED = "failed"
CHUNK = 4096  # test points at once


@dataclass(frozen=True)
class Outcome:
    """What became of an inference.

    Attributes
    ----------
    sites : Sites
    state : DenseState
        The last proper posterior.
    outcome : str
        One of ``textbook.OUTCOMES``.
    sweeps : int
        Whole ones.
    changes : array
        Of the weights in each sweep; empty for the engine.
    reason : str
        Of a divergence.
    """

    sites: Sites
    state: DenseState = field(repr=False)
    outcome: str
    sweeps: int
    changes: np.ndarray
    reason: str


@dataclass(frozen=True)
class Method:
    """A method and the values its parameter is chosen from.

    Attributes
    ----------
    run : callable
        (posterior, likelihood, y, value, max_sweeps) -> Outcome.
    name : str
        Of the parameter: "u", the power; "c", the penalty; empty if there is none.
    values : tuple of float
    """

    run: Run
    name: str = ""
    values: tuple[float, ...] = (1.0,)


def _swept(found: Sweeps) -> Outcome:
    sweeps = len(found.changes)
    reason = f"sweep {sweeps + 1}: {found.reason}" if found.reason else ""
    return Outcome(found.sites, found.state, found.outcome, sweeps, found.changes, reason)


def _sequential(rule_of: Callable[[float], Rule], step: float = 1.0) -> Run:
    def run(
        posterior: Dense, likelihood: Likelihood, y: np.ndarray, value: float, max_sweeps: int
    ) -> Outcome:
        return _swept(sweep_on(posterior, likelihood, y, rule_of(value), max_sweeps, TOLERANCE, step))

    return run


def _relaxed(reading: str, printed_step: bool = False, searched: int = rep.SEARCHED) -> Run:
    def run(
        posterior: Dense, likelihood: Likelihood, y: np.ndarray, value: float, max_sweeps: int
    ) -> Outcome:
        relaxation = Relaxation(value, reading, printed_step)
        return _swept(rep.sweeps(posterior, likelihood, y, relaxation, max_sweeps, TOLERANCE, searched))

    return run


def _engine(
    call: Callable[[Dense, Likelihood, np.ndarray, float], Inference[DenseState] | rep.Relaxed[DenseState]],
) -> Run:
    """By the engine: ``call`` takes posterior, likelihood, y and value to something with a status."""

    def run(
        posterior: Dense, likelihood: Likelihood, y: np.ndarray, value: float, max_sweeps: int
    ) -> Outcome:
        found = call(posterior, likelihood, y, value)
        status = found.status
        outcome, reason = (CONVERGED, "") if status.converged else (UNSETTLED, status.message)
        return Outcome(found.sites, found.state, outcome, status.sweeps, np.empty(0), reason)

    return run


def _ep_by_engine(posterior: Dense, likelihood: Likelihood, y: np.ndarray, _: float) -> Inference[DenseState]:
    return infer(posterior, likelihood, y, rep.EP, ENGINE)


def _rep_by_engine(
    posterior: Dense, likelihood: Likelihood, y: np.ndarray, c: float
) -> rep.Relaxed[DenseState]:
    return rep.infer(posterior, likelihood, y, Relaxation(c), ENGINE)


METHODS = {
    "ep": Method(_sequential(lambda _: rep.EP)),
    "ep-damped": Method(_sequential(lambda _: rep.EP, DAMPING)),
    "ep-engine": Method(_engine(_ep_by_engine)),
    "pep": Method(_sequential(power_rule), "u", POWERS),
    **{f"rep-{reading}": Method(_relaxed(reading), "c", PENALTIES[reading]) for reading in READINGS},
    "rep-as-described": Method(_relaxed(PRINTED, True, MAX_SWEEPS), "c", PENALTIES[PRINTED][1:]),
    "rep-engine": Method(_engine(_rep_by_engine), "c", PENALTIES[NORMALISED]),
}
"""Methods by name."""


def datasets() -> list[str]:
    """Names of the data sets, the made-up one first."""
    return [BLOBS, *relaxed.names()]


def splits_of(dataset: str) -> int:
    """Number of splits the paper has of a data set."""
    return BLOBS_REPEATS if dataset == BLOBS else relaxed.SPLITS[dataset]


def epsilon_of(dataset: str, flips: float) -> float:
    """The likelihood's probability of a flip: the true share on the made-up set, else at least `EPSILON`."""
    return flips if dataset == BLOBS else max(EPSILON, flips)


def max_sweeps_of(dataset: str) -> int:
    """On the made-up set, where convergence is judged, `MAX_SWEEPS`; elsewhere `FEWER`."""
    return MAX_SWEEPS if dataset == BLOBS else FEWER


def parts_of(name: str, split: int, flips: float, dataset: Dataset | None = None) -> Parts:
    """X_train, X_test, y_train, y_test of a split; real inputs are standardised by the training part."""
    if name == BLOBS:
        X, y, Xs, ys = blobs.draw(split, flips=flips)
        return X, Xs, y, ys
    assert dataset is not None, f"{name} is not made up: its data have to be given"
    X, Xs, y, ys = relaxed.parts(dataset, split, flips)
    return *relaxed.standardised(X, Xs), y, ys


def posterior_of(X: np.ndarray, lengthscale: float) -> Dense:
    """The prior at inputs ``X`` [N, D], ready to be conditioned."""
    return Dense.build(SquaredExponential(1.0, lengthscale).matrix(X))


def modules_of() -> list[str]:
    """Modules whose closures a fit depends on."""
    return [__name__]


def score(
    found: Outcome, X: np.ndarray, Xs: np.ndarray, ys: np.ndarray, lengthscale: float, likelihood: NoisyStep
) -> dict[str, Any]:
    """Error rate and mean negative log predictive probability (nats) of test labels.

    Raises
    ------
    ArithmeticError
        If a mean or a variance is lost.
    """
    errors, log_p = [], []
    kernel, prior = SquaredExponential(1.0, lengthscale), Dense.build(np.empty((0, 0)))
    for part in np.array_split(np.arange(len(ys)), -(-len(ys) // CHUNK)):
        mean, variance = prior.predict(found.state, kernel.matrix(Xs[part], X), 1.0)
        if not (np.all(np.isfinite(mean)) and np.all(variance > 0)):
            raise ArithmeticError("a predictive mean or variance is lost to rounding")
        errors.append(likelihood.errors(ys[part], mean, variance))
        log_p.append(likelihood.log_predictive(ys[part], mean, variance))
    return {
        "error": metrics.mean_error(np.concatenate(errors)),
        "nll": metrics.negative_log_likelihood(np.concatenate(log_p)),
    }


def run_block(
    name: str,
    flips: float,
    splits: Iterable[int],
    chosen: dict[str, tuple[float, float]],
    dataset: Dataset | None = None,
) -> Iterator[dict[str, Any]]:
    """Records of all methods on a block of splits.

    Parameters
    ----------
    name : str
        One of ``datasets()``.
    flips : float
        Share of flipped labels.
    splits : iterable of int
    chosen : dict
        Method -> (value of its parameter, lengthscale), as ``rep_choice.chosen`` has it.
    dataset : Dataset, optional
        The data; the made-up set is drawn.
    """
    for split in splits:
        parts = parts_of(name, split, flips, dataset)
        for method, (value, lengthscale) in chosen.items():
            identity = {"paper": PAPER, "dataset": name, "flips": flips, "split": int(split)}
            epsilon, sweeps = epsilon_of(name, flips), max_sweeps_of(name)
            yield {**identity, **run_cell(parts, method, value, lengthscale, epsilon, sweeps)}


def run_cell(
    parts: Parts,
    method: str,
    value: float,
    lengthscale: float,
    epsilon: float,
    max_sweeps: int = MAX_SWEEPS,
    posterior: Dense | None = None,
) -> dict[str, Any]:
    """Fit and test one method on one split.

    Parameters
    ----------
    parts : tuple of arrays
        X_train [N, D], X_test [N*, D], and labels -1, +1 y_train, y_test.
    method : str
        One of `METHODS`.
    value : float
        Of its parameter.
    lengthscale : float
    epsilon : float
        The likelihood's probability of a flipped label.
    max_sweeps : int
    posterior : Dense, optional
        That of `posterior_of`, to save its computation.

    Returns
    -------
    dict
        ``error`` and ``nll`` of the test part, at the last proper posterior whatever the outcome; a fit
        without any, or with numbers lost, has None and the reason.
    """
    X, Xs, y, ys = parts
    likelihood, began = NoisyStep(epsilon), time.process_time()
    record = {"method": method, "value": value, "lengthscale": lengthscale, "epsilon": epsilon,
              "n_train": len(y), "n_test": len(ys)}  # fmt: skip
    try:
        posterior = posterior_of(X, lengthscale) if posterior is None else posterior
        found = METHODS[method].run(posterior, likelihood, y, value, max_sweeps)
        seconds = time.process_time() - began
        scores = score(found, X, Xs, ys, lengthscale, likelihood)
    except (NotPositiveDefinite, ArithmeticError) as error:
        nothing = {"outcome": FAILED, "sweeps": 0, "reason": str(error), "negative_sites": 0, "changes": []}
        return {**record, **nothing, "error": None, "nll": None, "seconds": time.process_time() - began}
    about = {"outcome": found.outcome, "sweeps": found.sweeps, "reason": found.reason,
             "negative_sites": found.state.negative_sites,
             "changes": [float(f"{change:.4g}") for change in found.changes]}  # fmt: skip
    return {**record, **about, **scores, "seconds": seconds}
