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

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Sites, anchors
from tilted.inference.options import require_whole
from tilted.learning.batch import factorised, marginals_of
from tilted.learning.sparse import Problem
from tilted.numerics import linalg
from tilted.posteriors.pseudo import PseudoPoints

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel

BETAS, SMALL = (0.9, 0.999), 1e-8  # Adam's, as published
HALVINGS = 20  # of a share that would make the posterior improper


@dataclass(frozen=True)
class Training:
    """Settings of a training.

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

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "sweeps"):
            require_whole(name, getattr(self, name), 1)
        require_whole("seed", self.seed, 0)
        if not 0 < self.rate <= 1:
            raise ValueError(f"rate must lie in (0, 1], got {self.rate}")
        for name in ("decay", "learning_rate"):
            if not 0 <= getattr(self, name) < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {getattr(self, name)}")


@dataclass(frozen=True)
class Trained:
    """The state of a training, which can be continued.

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
    moments : array [2, P + M D]
        Adam's.
    factor : array [M, M]
        L^-1 with L L^T = S^-1.
    log_det : float
        log det S^-1.
    step : int
        Steps taken.
    moved : int
        Those in which Adam moved the hyperparameters.
    skipped : int
        Updates of sites that were left out because a cavity or projection was improper.
    refused : int
        Moves of the sums that would have made the posterior improper, and were halved; and of the
        hyperparameters, that would have made Kuu or the kernel improper, and were left out.
    floored : int
        Conditional variances that rounding had put below zero (`PseudoPoints.left_over`).
    energy : float
        The last batch's estimate of the log evidence; it means little before the sums have caught up with the
        sites.
    """

    pseudo: PseudoPoints
    precision: np.ndarray = field(repr=False)
    shift: np.ndarray = field(repr=False)
    sites: Sites = field(repr=False)
    mean: float
    moments: np.ndarray = field(repr=False)
    factor: np.ndarray = field(repr=False)
    log_det: float = 0.0
    step: int = 0
    moved: int = 0
    skipped: int = 0
    refused: int = 0
    floored: int = 0
    energy: float = -np.inf

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D]; ArithmeticError if one is lost to rounding."""
        mean, variance = self.pseudo.predict(self.factor, self.factor @ self.shift, Xs)
        return self.mean + mean, variance


def begin(problem: Problem, kernel: Kernel, Z: np.ndarray) -> Trained:
    """Flat sites at given parameters.

    Raises
    ------
    NotPositiveDefinite, ValueError
        As `PseudoPoints.build`.
    """
    pseudo = PseudoPoints.build(kernel, np.array(Z, dtype=float), problem.jitter)
    M, n = len(Z), len(problem.y)
    moments = np.zeros((2, len(kernel.parameters()) + np.size(Z)))
    sums = np.zeros((M, M)), np.zeros(M)
    return Trained(pseudo, *sums, Sites.zeros(n), problem.mean, moments, np.eye(M))


def train(problem: Problem, start: Trained, training: Training | None = None) -> Trained:
    """Go on from ``start`` to ``training.steps`` steps in all.

    Parameters
    ----------
    problem : Problem
        Its ``options`` are not used; powers have to be one for all.
    start : Trained
        From `begin`, or from an earlier call with the same problem and training, which it continues as if it
        had never been interrupted.
    training : Training, optional

    Raises
    ------
    ValueError
        For a power or a weight for each datum, and a start that belongs to another problem.
    NotPositiveDefinite
        If Kuu comes so near to singular that K - Q loses its sign: allow jitter.
    """
    training = training or Training()
    if np.ndim(problem.alpha) or problem.weights is not None:
        raise ValueError("minibatches take one power for all data, and no weights")
    expected = len(start.sites.tau), start.mean, start.pseudo.relative_jitter
    if expected != (len(problem.y), problem.mean, problem.jitter):
        raise ValueError("the start belongs to another problem: data, mean and jitter are not the same")
    rule, now = problem.rule, start
    for rows in _batches(len(problem.y), training, start.step):
        now = replace(_step(problem, rule, training, now, rows), step=now.step + 1)
    return now


def _batches(n: int, training: Training, first: int) -> Iterator[np.ndarray]:
    """Rows of the steps from ``first`` on: epochs are orders drawn from (seed, epoch), without their rest."""
    size = min(training.batch, n)
    for epoch in range(first // (n // size), -(-training.steps // (n // size))):
        order = np.random.default_rng([training.seed, epoch]).permutation(n)
        for place in range(n // size):
            if first <= epoch * (n // size) + place < training.steps:
                yield order[place * size : (place + 1) * size]


def _step(problem: Problem, rule: Rule, training: Training, now: Trained, rows: np.ndarray) -> Trained:
    """Sweeps over the sites of a batch, then one step of Adam."""
    X = problem.X[rows]
    Kuf = now.pseudo.cross(X)
    V = now.pseudo.root @ Kuf
    extra, floored = now.pseudo.left_over(X, V)
    now = replace(now, floored=now.floored + floored)
    scale, share = len(problem.y) / len(rows), training.rate / (1.0 + training.decay * now.step)
    for _ in range(training.sweeps):
        now, by_extra, means = _sweep(problem, rule, now, rows, V, extra, scale, share)
    if training.learning_rate == 0.0:
        return now
    return _adam(now, _gradient(now, rows, X, Kuf, V, by_extra, means, scale), training.learning_rate)


def _sweep(
    problem: Problem,
    rule: Rule,
    now: Trained,
    rows: np.ndarray,
    V: np.ndarray,
    extra: np.ndarray,
    scale: float,
    share: float,
) -> tuple[Trained, np.ndarray, np.ndarray]:
    """The sites of a batch updated once, with what the gradient takes from it: by_extra and the means of h.

    Where the sums that follow are improper the share is halved; where no share will do, nothing moves.
    """
    projected = now.factor @ now.shift
    marginals = marginals_of(now.factor, projected, now.mean, V, extra)
    old = Sites(now.sites.tau[rows], now.sites.nu[rows])
    update = rule.update(marginals, old, problem.likelihood, problem.y[rows])
    usable = np.isfinite(update.sites.tau) & np.isfinite(update.sites.nu)
    new = Sites(
        *(np.where(usable, a, b) for a, b in ((update.sites.tau, old.tau), (update.sites.nu, old.nu)))
    )
    by_prior = np.sum(now.mean * (2.0 * old.nu - old.tau * now.mean))
    c = anchors(marginals.mean, old.tau)
    about_0 = update.log_terms - c * (old.nu - 0.5 * old.tau * c)  # as the sums have the sites
    local = 0.5 * by_prior + np.sum(about_0)
    energy = 0.5 * (projected @ projected - now.log_det) + scale * local
    skipped = now.skipped + update.skipped + int(np.sum(~usable))
    now = replace(now, energy=float(energy), skipped=skipped)
    batch_sums = (V * new.tau) @ V.T, V @ (new.nu - new.tau * now.mean)
    for _ in range(HALVINGS):
        retention, moved = 1.0 - share, share * scale
        precision = retention * now.precision + moved * batch_sums[0]
        try:
            factor, log_det = factorised(precision)
        except linalg.NotPositiveDefinite:
            share, now = 0.5 * share, replace(now, refused=now.refused + 1)
            continue
        sums = {"precision": precision, "shift": retention * now.shift + moved * batch_sums[1]}
        tau, nu = now.sites.tau.copy(), now.sites.nu.copy()
        tau[rows], nu[rows] = new.tau, new.nu
        now = replace(now, **sums, factor=factor, log_det=log_det, sites=Sites(tau, nu))
        break
    return now, np.where(usable, update.by_extra, 0.0), marginals.mean


def _gradient(
    now: Trained,
    rows: np.ndarray,
    X: np.ndarray,
    Kuf: np.ndarray,
    V: np.ndarray,
    by_extra: np.ndarray,
    means: np.ndarray,
    scale: float,
) -> np.ndarray:
    """The batch's estimate of the energy's gradient in log parameters and pseudo-inputs, [P + M D]."""
    S = now.factor.T @ now.factor
    tau, nu = now.sites.tau[rows], now.sites.nu[rows]
    at = X, Kuf, V, S @ now.shift, S, nu - tau * means, tau, by_extra, scale
    by_parameters, by_Z = now.pseudo.evidence_gradient(*at)
    return np.concatenate([by_parameters * now.pseudo.kernel.parameters(), by_Z.ravel()])


def _adam(now: Trained, gradient: np.ndarray, rate: float) -> Trained:
    """One step of Adam uphill; refused where the kernel would be improper."""
    t, (b1, b2) = now.moved + 1, BETAS
    first = b1 * now.moments[0] + (1.0 - b1) * gradient
    second = b2 * now.moments[1] + (1.0 - b2) * gradient**2
    change = rate * (first / (1.0 - b1**t)) / (np.sqrt(second / (1.0 - b2**t)) + SMALL)
    kernel, P = now.pseudo.kernel, len(now.pseudo.kernel.parameters())
    try:
        with np.errstate(over="ignore"):
            moved = kernel.with_parameters(kernel.parameters() * np.exp(change[:P]))
        Z = now.pseudo.Z + change[P:].reshape(now.pseudo.Z.shape)
        pseudo = PseudoPoints.build(moved, Z, now.pseudo.relative_jitter)
    except (ArithmeticError, ValueError):
        return replace(now, refused=now.refused + 1)
    return replace(now, pseudo=pseudo, moments=np.stack([first, second]), moved=t)
