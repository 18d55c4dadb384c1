"""Power EP by minibatches: sites and hyperparameters move together [Bui et al. 2017, sections 3.9 and 4.3].

In the coordinates z = Luu^-1 u a posterior through pseudo-points is N(mu, S) with

    S^-1 = I + sum_n tau_n v_n v_n^T,    S^-1 mu = sum_n (nu_n - tau_n mean_n) v_n,    v_n = Luu^-1 k(Z, x_n).

Both sums are estimated: a batch replaces a share of each by N / batch times its own part, which is a
stochastic natural-gradient step (for VB that of Hensman et al. 2013). Kernel parameters and pseudo-inputs
take a step of Adam [Kingma & Ba 2015] along the batch's estimate of the energy's gradient, as if the sites
had converged. Sites are kept for every datum, two numbers each; beyond the data memory is
O(N + M^2 + batch M).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tilted import linalg
from tilted.gaussian import Marginals, Sites
from tilted.inference.options import require_whole
from tilted.posteriors.pseudo import PseudoPoints
from tilted.sparse_search import Problem

BETAS, SMALL = (0.9, 0.999), 1e-8  # Adam's, as published


@dataclass(frozen=True)
class Training:
    """How to train.

    Parameters
    ----------
    steps : int
        Steps of Adam, a batch each.
    batch : int
        Data a batch; all of them where there are fewer.
    sweeps : int
        Updates of a batch's sites before the hyperparameters move.
    rate : float in (0, 1]
        Share of the sums that a sweep replaces at first.
    decay : float >= 0
        At step t the share is rate / (1 + decay t).
    learning_rate : float >= 0
        Adam's; 0 leaves the hyperparameters where they are.
    seed : int
        Of the order of the data.

    Raises
    ------
    ValueError
        Naming the option that is out of its range.
    """

    steps: int = 10_000
    batch: int = 500
    sweeps: int = 1
    rate: float = 0.1
    decay: float = 0.0
    learning_rate: float = 0.01
    seed: int = 0

    def __post_init__(self):
        for name in ("steps", "batch", "sweeps"):
            require_whole(name, getattr(self, name), 1)
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate must lie in (0, 1], got {self.rate}")
        for name in ("decay", "learning_rate"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {getattr(self, name)}")


@dataclass(frozen=True)
class Trained:
    """Where a training stands; it can be gone on with.

    Attributes
    ----------
    pseudo : PseudoPoints
        With kernel and pseudo-inputs.
    precision, shift : arrays [M, M], [M]
        Estimates of the two sums.
    sites : Sites
        Of every datum [N].
    mean : float
        Prior mean.
    step : int
        Steps taken.
    moments : array [2, P + M D]
        Adam's.
    skipped : int
        Updates of sites that were left out because a cavity or projection was improper.
    refused : int
        Steps refused because the posterior or the kernel would have been improper.
    energy : float
        The last batch's estimate of the log evidence.
    """

    pseudo: PseudoPoints
    precision: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    sites: Sites = field(repr=False)
    mean: float
    step: int = 0
    moments: np.ndarray = field(default=None, repr=False)
    skipped: int = 0
    refused: int = 0
    energy: float = -np.inf

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D]; ArithmeticError if one is lost to rounding."""
        factor, _ = _factor(self.precision)
        mean, variance = self.pseudo.predict(factor, factor @ self.shift, Xs)
        return self.mean + mean, variance


def begin(problem: Problem, kernel, Z: np.ndarray) -> Trained:
    """Flat sites at given parameters.

    Raises
    ------
    NotPositiveDefinite, ValueError
        As `PseudoPoints.build`.
    """
    pseudo = PseudoPoints.build(kernel, Z, problem.jitter)
    M, n = len(Z), len(problem.y)
    moments = np.zeros((2, len(kernel.parameters()) + Z.size))
    return Trained(pseudo, np.zeros((M, M)), np.zeros(M), Sites.zeros(n), problem.mean, moments=moments)


def train(
    problem: Problem,
    start: Trained,
    training: Training | None = None,
    watch: Callable[[Trained], object] | None = None,
) -> Trained:
    """Go on from ``start`` to ``training.steps`` steps in all.

    Parameters
    ----------
    problem : Problem
        Its ``options`` are not used; powers have to be one for all.
    start : Trained
        From `begin`, or from an earlier call with the same problem and training, which it continues as if it
        had never been interrupted.
    training : Training, optional
    watch : callable, optional
        Called after every step; for measuring as one goes, and for saving.

    Raises
    ------
    ValueError
        For a power for each datum.
    """
    training = training or Training()
    if np.ndim(problem.alpha):
        raise ValueError("minibatches take one power for all data")
    rule, now = problem.rule(), start
    while now.step < training.steps:
        rows = _batch(len(problem.y), training, now.step)
        now = replace(_step(problem, rule, training, now, rows), step=now.step + 1)
        if watch is not None:
            watch(now)
    return now


def _batch(n: int, training: Training, step: int) -> np.ndarray:
    """Rows of a step: epochs are orders drawn from (seed, epoch), the rest of an order is left out."""
    size = min(training.batch, n)
    epoch, place = divmod(step, n // size)
    order = np.random.default_rng([training.seed, epoch]).permutation(n)
    return order[place * size : (place + 1) * size]


def _step(problem: Problem, rule, training: Training, now: Trained, rows) -> Trained:
    """Sweeps over the sites of a batch, then one step of Adam."""
    X, y = problem.X[rows], problem.y[rows]
    Kuf = now.pseudo.cross(X)
    V = now.pseudo.root @ Kuf
    extra = np.maximum(now.pseudo.kernel.diagonal(X) - np.einsum("mn,mn->n", V, V), 0.0)
    scale, share = len(problem.y) / len(rows), training.rate / (1.0 + training.decay * now.step)
    for _ in range(training.sweeps):
        now, local = _sweep(problem, rule, now, rows, (V, extra, y), scale, share)
    if training.learning_rate == 0.0:
        return now
    gradient = _gradient(now, X, Kuf, V, *local, scale)
    return _adam(now, gradient, training.learning_rate)


def _sweep(problem, rule, now: Trained, rows, data, scale: float, share: float):
    """The batch's sites after one update, and what the gradient takes from them."""
    V, extra, y = data
    factor, log_det = _factor(now.precision)
    W, projected = factor @ V, factor @ now.shift
    marginals = Marginals(now.mean + projected @ W, np.einsum("mn,mn->n", W, W), extra)
    old = Sites(now.sites.tau[rows], now.sites.nu[rows])
    update = rule.update(marginals, old, problem.likelihood, y)
    tau, nu = now.sites.tau.copy(), now.sites.nu.copy()
    tau[rows], nu[rows] = update.sites.tau, update.sites.nu
    precision = (1.0 - share) * now.precision + (share * scale) * (V * tau[rows]) @ V.T
    shift = (1.0 - share) * now.shift + (share * scale) * (V @ (nu[rows] - tau[rows] * now.mean))
    at = now.mean * (2.0 * old.nu - old.tau * now.mean)
    energy = 0.5 * (projected @ projected - log_det + scale * np.sum(at)) + scale * np.sum(update.log_terms)
    moved = replace(now, sites=Sites(tau, nu), energy=float(energy), skipped=now.skipped + update.skipped)
    try:
        _factor(precision)
    except linalg.NotPositiveDefinite:
        return replace(moved, refused=now.refused + 1), (update, marginals)
    return replace(moved, precision=precision, shift=shift), (update, marginals)


def _gradient(now: Trained, X, Kuf, V, update, marginals, scale: float) -> np.ndarray:
    """The batch's estimate of the energy's gradient in log parameters and pseudo-inputs, [P + M D].

    `Sparse.evidence_gradient` with the sums over the data estimated, and the posterior of z for the rest.
    """
    factor, _ = _factor(now.precision)
    S = factor.T @ factor
    mu, root = S @ now.shift, now.pseudo.root
    tau, nu = update.sites.tau, update.sites.nu
    inner = 2.0 * V * update.by_extra
    by_V = np.multiply.outer(mu, nu - tau * marginals.mean) - (S @ V) * tau - inner
    middle = np.eye(len(mu)) - S + scale * (inner @ V.T) - np.multiply.outer(mu, mu)
    by_Kuf, by_Kuu = scale * (root.T @ by_V), 0.5 * (root.T @ middle @ root)
    parameters, by_Z, _ = now.pseudo.pull_back(X, Kuf, by_Kuf, by_Kuu)
    kernel = now.pseudo.kernel
    parameters = parameters + kernel.contract_diagonal(scale * update.by_extra)
    return np.concatenate([parameters * kernel.parameters(), by_Z.ravel()])


def _adam(now: Trained, gradient: np.ndarray, rate: float) -> Trained:
    """One step of Adam uphill; refused where the kernel would be improper."""
    t, (b1, b2) = now.step + 1, BETAS
    first = b1 * now.moments[0] + (1.0 - b1) * gradient
    second = b2 * now.moments[1] + (1.0 - b2) * gradient**2
    change = rate * (first / (1.0 - b1**t)) / (np.sqrt(second / (1.0 - b2**t)) + SMALL)
    kernel, P = now.pseudo.kernel, len(now.pseudo.kernel.parameters())
    try:
        with np.errstate(over="ignore"):
            moved = kernel.with_parameters(kernel.parameters() * np.exp(change[:P]))
        Z = now.pseudo.Z + change[P:].reshape(now.pseudo.Z.shape)
        pseudo = PseudoPoints.build(moved, Z, now.pseudo.relative_jitter, now.pseudo.features)
    except (ArithmeticError, ValueError):
        return replace(now, refused=now.refused + 1)
    return replace(now, pseudo=pseudo, moments=np.stack([first, second]))


def _factor(precision: np.ndarray) -> tuple[np.ndarray, float]:
    """L^-1 with L L^T = I + precision, and log det of that."""
    L = linalg.cholesky(precision + np.eye(len(precision)), "I + sum of tau v v^T")
    return linalg.inverse_lower(L), linalg.log_determinant(L)
