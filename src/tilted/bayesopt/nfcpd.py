"""EP for the functions given where the constrained minimum is, and its predictive distributions.

[PESC supplement, sections 2 to 5.] Given a place x* of the minimum, q(f, c_1, ..., c_K) is the posterior
given the data times g_k(c_k(x*)) and h_n(f(x_n) - f(x*), c(x_n)) at every point x_n.

Corrected against the print, as ``docs/paper-entropy-search.md`` lists: the signs of (34), the inverses of
(18), (28), (30) and (37), the product of (38).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg.blas import dtrsm

from tilted.bayesopt.factors import Tilt, no_better, positive
from tilted.bayesopt.joint import (
    Gaussian,
    Projections,
    apart,
    cavity,
    loads,
    of_constraint,
    of_objective,
    refresh,
)
from tilted.bayesopt.surrogate import Surrogate

if TYPE_CHECKING:
    from tilted.bayesopt.surrogate import Rows

COOLING = 0.99  # the step shrinks by this in an iteration
ROUNDING = 1e-12  # of the variance of f(x): that of f(x) - f(x*) below this means that x is x*


@dataclass(frozen=True)
class Options:
    """Options of the end of EP.

    Parameters
    ----------
    tolerance : float
        On the change of every mean and variance a site sees, over the step: a full step would change no
        more. The paper's rule is on the change itself, which small steps meet by standing still.
    max_iterations : int
        Steps tried, refused ones included.
    smallest_step : float
        Below it EP gives up.
    """

    tolerance: float = 1e-4
    max_iterations: int = 400
    smallest_step: float = 1e-4


@dataclass(frozen=True)
class Status:
    """Status of EP for every x*, arrays [S].

    Attributes
    ----------
    converged : array of bool
    iterations : array of int
        Steps taken.
    halvings : array of int
        Steps refused, because a covariance was not positive definite.
    step : array
        At the end.
    change : array
        Largest change in the last step over the step, what ``Options.tolerance`` bounds.
    negative_sites : array of int
        Sites of negative precision (legitimate).
    dropped : array of int
        Points that are x* itself, where h is 1.
    """

    converged: np.ndarray
    iterations: np.ndarray
    halvings: np.ndarray
    step: np.ndarray
    change: np.ndarray
    negative_sites: np.ndarray
    dropped: np.ndarray


@dataclass(frozen=True)
class Nfcpd:
    """The approximation for every x*, ready for predictions at many x.

    Attributes
    ----------
    functions : tuple of Surrogate
        Objective, constraints.
    optima : array [S, D]
    tau, nu : tuples of arrays [S, n]
        Sites of every function: [S, N] of the objective, [S, N + 1] of a constraint.
    projections, posteriors : tuples
        Of every function.
    status : Status
    """

    functions: tuple[Surrogate, ...]
    optima: np.ndarray = field(repr=False)
    tau: tuple[np.ndarray, ...] = field(repr=False)
    nu: tuple[np.ndarray, ...] = field(repr=False)
    projections: tuple[Projections, ...] = field(repr=False)
    posteriors: tuple[Gaussian, ...] = field(repr=False)
    status: Status


def infer(
    objective: Surrogate,
    constraints: Sequence[Surrogate],
    optima: np.ndarray,
    options: Options | None = None,
) -> Nfcpd:
    """EP for every x*, in parallel, damped as in section 5.2.

    Parameters
    ----------
    objective, constraints : Surrogate
        At the same points; there may be no constraints.
    optima : array [S, D]
    options : Options, optional

    Raises
    ------
    ValueError
        If the functions have different points, or an x* is not finite.
    """
    functions, options = (objective, *constraints), options or Options()
    optima = np.atleast_2d(np.asarray(optima, dtype=float))
    if any(not np.array_equal(f.points, objective.points) for f in constraints):
        raise ValueError("objective and constraints must have the same points")
    if not np.all(np.isfinite(optima)) or optima.shape[1] != objective.points.shape[1]:
        raise ValueError(f"optima must be finite and [S, {objective.points.shape[1]}], got {optima.shape}")
    run = _Run(functions, optima)
    for _ in range(options.max_iterations):
        active = np.flatnonzero(~run.converged & (run.step >= options.smallest_step))
        if not len(active):
            break
        run.iterate(active, options.tolerance)
    return run.result()


class _Run:
    """The loop's variables: sites and posteriors of every function, and what becomes of every x*."""

    def __init__(self, functions: tuple[Surrogate, ...], optima: np.ndarray) -> None:
        self.functions, self.optima = functions, optima
        self.projections = (
            of_objective(functions[0], optima),
            *(of_constraint(f, optima) for f in functions[1:]),
        )
        shapes = [p.means.shape for p in self.projections]
        self.tau, self.nu = ([np.zeros(shape) for shape in shapes] for _ in range(2))
        everyone = np.arange(len(optima))
        states = zip(self.projections, self.tau, self.nu, strict=True)
        self.posteriors = [refresh(p, everyone, tau, nu)[0] for p, tau, nu in states]
        self.kept = apart(functions[0], optima)
        size = len(optima)
        self.converged, self.step = np.zeros(size, dtype=bool), np.ones(size)
        self.iterations, self.halvings = np.zeros(size, dtype=int), np.zeros(size, dtype=int)
        self.change = np.full(size, np.inf)

    def iterate(self, active: np.ndarray, tolerance: float) -> None:
        """One step of these x*; where it leaves no proper posterior or cavity, half the step next time."""
        new_tau, new_nu = self.targets(active)
        tau = self._towards(active, self.tau, new_tau)
        nu = self._towards(active, self.nu, new_nu)
        proposals, proper = [], np.ones(len(active), dtype=bool)
        for projections, t, n in zip(self.projections, tau, nu, strict=True):
            posterior, fine = refresh(projections, active, t, n)
            with np.errstate(invalid="ignore"):
                cavities = np.all(1.0 - t * posterior.variance > 0, axis=1)
            proper &= fine & cavities
            proposals.append(posterior)
        self.halvings[active[~proper]] += 1
        self.step[active[~proper]] *= 0.5
        self._accept(active[proper], proper, tau, nu, proposals, tolerance)

    def _towards(
        self, active: np.ndarray, olds: Sequence[np.ndarray], news: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        """A step from old to new natural parameters [eq. 38]."""
        step = self.step[active, None]
        return [old[active] + step * (new - old[active]) for old, new in zip(olds, news, strict=True)]

    def _accept(
        self,
        which: np.ndarray,
        proper: np.ndarray,
        tau: Sequence[np.ndarray],
        nu: Sequence[np.ndarray],
        proposals: Sequence[Gaussian],
        tolerance: float,
    ) -> None:
        changes = np.zeros(len(which))
        for j, posterior in enumerate(proposals):
            for name in ("mean", "variance"):
                moved = np.abs(getattr(posterior, name)[proper] - getattr(self.posteriors[j], name)[which])
                changes = np.maximum(changes, np.max(moved, axis=1))
            self.tau[j][which], self.nu[j][which] = tau[j][proper], nu[j][proper]
            for name in ("shift", "mean", "variance"):
                getattr(self.posteriors[j], name)[which] = getattr(posterior, name)[proper]
            for i, s in zip(np.flatnonzero(proper), which, strict=True):
                self.posteriors[j].factor[s] = posterior.factor[i]
        self.change[which] = changes / self.step[which]
        self.iterations[which] += 1
        self.converged[which] = self.change[which] < tolerance
        self.step[which[~self.converged[which]]] *= COOLING

    def targets(self, active: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The sites that match the moments, given the cavities [eqs 15 to 30]."""
        resolved = self.kept[active]
        cavities = [
            cavity(p.mean[active], p.variance[active], t[active], n[active])
            for p, t, n in zip(self.posteriors, self.tau, self.nu, strict=True)
        ]
        m, s = (np.where(resolved, values, 1.0) for values in cavities[0])
        inner = [(mean[:, :-1], variance[:, :-1]) for mean, variance in cavities[1:]]
        alphas = np.array([mean / np.sqrt(variance) for mean, variance in inner]).reshape(-1, *m.shape)
        _, of_u, of_c = no_better(m / np.sqrt(s), alphas)
        tau, nu = ([np.where(resolved, values, 0.0)] for values in of_u.site(m, s))
        for k, (mean, variance) in enumerate(cavities[1:]):
            sites = Tilt(of_c.shift[k], of_c.left[k]).site(*inner[k])
            last = positive(mean[:, -1] / np.sqrt(variance[:, -1]))[1].site(mean[:, -1], variance[:, -1])
            for all_of, site, own in zip((tau, nu), sites, last, strict=True):
                all_of.append(np.column_stack([np.where(resolved, site, 0.0), own]))
        return tau, nu

    def result(self) -> Nfcpd:
        negative = sum(np.sum(tau < 0, axis=1) for tau in self.tau)
        status = Status(
            self.converged,
            self.iterations,
            self.halvings,
            self.step,
            self.change,
            negative,
            np.sum(~self.kept, axis=1),
        )
        sites = tuple(self.tau), tuple(self.nu)
        return Nfcpd(self.functions, self.optima, *sites, self.projections, tuple(self.posteriors), status)


@dataclass(frozen=True)
class Predicted:
    """f and c at n inputs x, for every x* (axis S), after the data or after the data and x*.

    Attributes
    ----------
    mean, variance : arrays [K + 1, S, n]
        The objective first.
    """

    mean: np.ndarray
    variance: np.ndarray


def predict(nfcpd: Nfcpd, Xs: np.ndarray) -> Predicted:
    """Means and variances of the approximate NFCPD at every x [eqs 34 to 37].

    Parameters
    ----------
    nfcpd : Nfcpd
    Xs : array [n, D]
    """
    return finish(*before_last_factor(nfcpd, Xs))


def before_last_factor(nfcpd: Nfcpd, Xs: np.ndarray) -> tuple[Predicted, np.ndarray, np.ndarray, np.ndarray]:
    """Return (34): moments of f(x) and c(x) under q, and mean, variance [S, n] of u = f(x) - f(x*) and the
    covariance of f(x) with u."""
    Xs = np.atleast_2d(np.asarray(Xs, dtype=float))
    means, variances = [], []
    for j, components in enumerate(zip(nfcpd.functions, nfcpd.projections, nfcpd.posteriors, strict=True)):
        function, projections, q = components
        rows = function.rows(Xs)
        G, residual = _whitened(function, projections, q, rows, Xs, nfcpd.optima)
        means.append(rows.mean + np.einsum("sr,srn->sn", q.shift, G))
        squares = np.einsum("srn,srn->sn", G, G)
        variances.append(squares + residual)
        if j == 0:
            optimum = np.column_stack([projections.optimum.root, projections.own])
            pairs = zip(q.factor, optimum, strict=True)
            g = np.array([dtrsm(1.0, L, a[:, None], lower=1)[:, 0] for L, a in pairs])
            at_optimum = projections.optimum.mean + np.einsum("sr,sr->s", q.shift, g)
            across = np.einsum("sr,srn->sn", g, G)
            with_u = squares - across + residual
            G -= g[:, :, None]
            u_variance = np.einsum("srn,srn->sn", G, G) + residual
            u_mean = means[0] - at_optimum[:, None]
    return Predicted(np.array(means), np.array(variances)), u_mean, u_variance, with_u


def _whitened(
    function: Surrogate, projections: Projections, q: Gaussian, rows: Rows, Xs: np.ndarray, optima: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """f(x) = mean + G^T (standard normals) + rest under q: G [S, R + 1, n] and the rest's variance [S, n]."""
    load, residual = loads(function, projections, rows, Xs, optima)
    common = np.asfortranarray(rows.root.T)
    G = np.empty((len(load), rows.root.shape[1] + 1, len(Xs)))
    for s, factor in enumerate(q.factor):
        L = factor[:-1, :-1]
        G[s, :-1] = dtrsm(1.0, L, common, lower=1)
        G[s, -1] = (load[s] - factor[-1, :-1] @ G[s, :-1]) / factor[-1, -1]
    return G, residual


def finish(under_q: Predicted, u_mean: np.ndarray, u_variance: np.ndarray, with_u: np.ndarray) -> Predicted:
    """The last factor, at x itself, and the moments it leaves [eqs 35 to 37]; where x is x* it is 1."""
    mean, variance = under_q.mean.copy(), under_q.variance.copy()
    resolved = u_variance > ROUNDING * under_q.variance[0]
    s = np.where(resolved, u_variance, 1.0)
    alphas = mean[1:] / np.sqrt(variance[1:])
    _, of_u, of_c = no_better(np.where(resolved, u_mean, 0.0) / np.sqrt(s), alphas)
    mean[0] += np.where(resolved, with_u * of_u.shift / np.sqrt(s), 0.0)
    variance[0] -= np.where(resolved, with_u**2 * (1.0 - of_u.left) / s, 0.0)
    if len(mean) > 1:
        means, variances = of_c.moments(mean[1:], variance[1:])
        mean[1:], variance[1:] = (
            np.where(resolved, means, mean[1:]),
            np.where(resolved, variances, variance[1:]),
        )
    return Predicted(mean, variance)
