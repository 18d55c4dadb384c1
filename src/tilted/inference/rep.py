"""Relaxed EP: moment matching after both sides were multiplied by a relaxation factor [Qi & Guo 2012].

The factor r_i(h) = exp(-b_i (h - m_i)^2 / 2), around the mean m_i of the site there is, makes the cavity
narrower: q r_i instead of q goes into EP's rule [eqs 12-15], and the site that comes out *is* the new one
(the paper's step (e), eq. 16, would count r_i twice). The relaxation b_i >= 0 minimises KL + c b_i: KL is the
divergence of the tilted distribution t_i r_i q^i from its moment-matched Gaussian, c the penalty. b_i = 0,
which every sufficiently large c gives, is EP.

The paper's formula for KL [eq. 36] is none (it is negative) and does not say whether the distributions are
normalised; `READINGS` are the three that can be meant. There is no evidence: the paper's energies are
unverified, so the penalty and the kernel are chosen by cross-validation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Generic

import numpy as np

from tilted.gaussian import Marginals, Sites
from tilted.inference import engine
from tilted.inference.ep import EP
from tilted.inference.options import Options, require_whole
from tilted.inference.result import StateT, Status
from tilted.inference.rule import Rule, Update
from tilted.inference.textbook import UNSETTLED, Sweeps, sweep_on
from tilted.numerics.quadrature import integrate
from tilted.projections.moments import Projection, kl

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior
    from tilted.posteriors.dense import Dense

NORMALISED, UNNORMALISED, PRINTED = READINGS = ("normalised", "unnormalised", "printed")
"""KL of the normalised distributions; that times the mass of the unnormalised ones; eq. 36 as printed."""

DECADES, PER_DECADE = 4, 3  # the grid of b, about the precision of the cavity
ZOOMS, POINTS = 3, 9
BLOCK = 1000  # tilted distributions integrated by panels at once
SEARCHED = 10  # sweeps before relaxations are held


@dataclass(frozen=True)
class Relaxation:
    """How far moment matching may be relaxed.

    Parameters
    ----------
    penalty : float >= 0
        c, in units of the variance of h (b is a precision).
    reading : str
        One of `READINGS`.
    printed_step : bool
        Whether to follow the printed step (e) [eq. 16], which multiplies the new site by the factor once
        more; for comparison only.

    Raises
    ------
    ValueError
        For a negative or infinite penalty, or an unknown reading.
    """

    penalty: float
    reading: str = NORMALISED
    printed_step: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.penalty < np.inf:
            raise ValueError(f"the penalty must be finite and not negative, got {self.penalty}")
        if self.reading not in READINGS:
            raise ValueError(f"reading must be one of {READINGS}, got '{self.reading}'")


def divergence(
    likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray, projection: Projection
) -> np.ndarray:
    """KL of the tilted distributions N(f; m, v) p(y|f) / Z from their moment-matched Gaussians, arrays [N].

    E[log p] - log Z + log(s^2 / v) / 2 + (1 - (s^2 + (mean - m)^2) / v) / 2, with mean and variance s^2 of
    the tilted distribution; for the noisy step the corrected form of [Qi & Guo 2012, eq. 36].
    """
    gain = _tilted_expected_log(likelihood, y, m, v) - projection.log_z
    ratio, shift = projection.variance / v, projection.d1**2 * v
    return gain + 0.5 * np.log(ratio) + 0.5 * (1.0 - ratio - shift)


def _tilted_expected_log(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """E[log p(y|f)] under the tilted distribution [N]: the likelihood's own, or by panels, in blocks."""
    if hasattr(likelihood, "tilted_expected_log"):
        return likelihood.tilted_expected_log(y, m, v)
    expected = np.empty(len(y))
    for rows in np.array_split(np.arange(len(y)), -(-len(y) // BLOCK)):
        density = likelihood.tilted_density(y[rows], m[rows], v[rows])
        panels = integrate(density)
        nodes = density.origin[:, None, None] + panels.offsets
        expected[rows] = panels.expectation(likelihood.log_likelihood(y[rows, None, None], nodes))
    return expected


@dataclass(frozen=True)
class _Cavities:
    """N cavities of h, improper ones too: label, precision p, shift s, extra variance, old site mean."""

    likelihood: Likelihood
    y: np.ndarray
    p: np.ndarray
    s: np.ndarray
    extra: np.ndarray
    centre: np.ndarray
    relaxation: Relaxation

    def cost(self, b: np.ndarray) -> np.ndarray:
        """What is minimised, KL + c b [N, B], at relaxations ``b`` [N, B]; infinite where it is undefined."""
        p, s, centre = self.p[:, None], self.s[:, None], self.centre[:, None]
        narrower = p + b
        proper = narrower > 0
        narrower = np.where(proper, narrower, 1.0)
        mean = (s + b * centre) / narrower
        flat = mean.ravel(), (1.0 / narrower + self.extra[:, None]).ravel()
        y = np.repeat(self.y, b.shape[1])
        projection = kl(self.likelihood, y, *flat)
        cost = divergence(self.likelihood, y, *flat, projection).reshape(b.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = 0.5 * b * (p * centre - s) ** 2 / (p * narrower)  # (m - h)^2 / (2 (lambda + 1 / b))
            if self.relaxation.reading == UNNORMALISED:
                log_mass = projection.log_z.reshape(b.shape) - 0.5 * np.log(narrower / p)
                cost = cost * np.exp(log_mass - apart)
        if self.relaxation.reading == PRINTED:
            new, variance = projection.mean.reshape(b.shape), projection.variance.reshape(b.shape)
            alpha = projection.d1.reshape(b.shape)
            cost = cost - 0.5 * alpha * mean - 0.5 * b * (variance + (new - centre) ** 2) + apart
        cost = cost + self.relaxation.penalty * b
        return np.where(proper & np.isfinite(cost), cost, np.inf)

    def best(self) -> np.ndarray:
        """The minimising relaxations [N], among 0 and eight decades about the precision of the cavity.

        There may be two minima, so a grid comes first. About its best point where that is better than 0, else
        about its best valley (which 0 may hide, if it is narrow), three finer grids and the vertex of a
        parabola follow. An improper cavity needs b > -p; where nothing has a finite cost (the unnormalised
        reading: an improper cavity has no mass) b is 0.
        """
        exponents = np.linspace(-DECADES, DECADES, 2 * DECADES * PER_DECADE + 1)
        costs = self.cost(np.hstack([np.zeros((len(self.y), 1)), self._steps(exponents)]))
        unrelaxed, grid = costs[:, 0], costs[:, 1:]
        inner = grid[:, 1:-1]
        valleys = np.where((inner < grid[:, :-2]) & (inner <= grid[:, 2:]), inner, np.inf)
        at = np.argmin(grid, axis=1)
        better = grid[np.arange(len(at)), at] < unrelaxed
        at = np.where(better, at, 1 + np.argmin(valleys, axis=1))
        b, some = np.zeros(len(at)), better | np.isfinite(valleys.min(axis=1))
        if np.any(some):
            b[some] = self.at(some)._refined(exponents[at[some]], unrelaxed[some])
        return b

    def _steps(self, exponents: np.ndarray) -> np.ndarray:
        """b at powers of ten in units of the precision [N, B], from 0 or from where a cavity turns proper."""
        least = np.maximum(-self.p, 0.0)[:, None]
        return least + 10.0**exponents * np.abs(self.p)[:, None]

    def at(self, chosen: np.ndarray) -> _Cavities:
        """Some of the cavities."""
        p, s, extra = self.p[chosen], self.s[chosen], self.extra[chosen]
        return replace(self, y=self.y[chosen], p=p, s=s, extra=extra, centre=self.centre[chosen])

    def _refined(self, centre: np.ndarray, unrelaxed: np.ndarray) -> np.ndarray:
        """The best b [N] near exponents ``centre``; 0 where that costs no less than ``unrelaxed``."""
        rows, width, steps = np.arange(len(centre)), 1.0 / PER_DECADE, np.linspace(-1.0, 1.0, POINTS)
        for _ in range(ZOOMS):
            trial = centre[:, None] + width * steps
            costs = self.cost(self._steps(trial))
            at = np.clip(np.argmin(costs, axis=1), 1, POINTS - 2)
            centre, width = trial[rows, at], 2.0 * width / (POINTS - 1)
        left, middle, right = costs[rows, at - 1], costs[rows, at], costs[rows, at + 1]
        bend = left - 2.0 * middle + right
        curved = np.isfinite(bend) & (bend > 0)
        slope = np.where(curved, left - right, 0.0)
        vertex = np.clip(0.5 * slope / np.where(curved, bend, 1.0), -1.0, 1.0)
        lowest = middle - 0.25 * slope * vertex
        b = self._steps((centre + width * vertex)[:, None])[:, 0]
        return np.where(lowest < unrelaxed, b, 0.0)


def relaxations(
    marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray, relaxation: Relaxation
) -> np.ndarray:
    """The relaxation b [N] of every site at given marginals; it may make an improper cavity proper."""
    p = (1.0 - sites.tau * marginals.variance) / marginals.variance
    s = marginals.mean / marginals.variance - sites.nu
    extra = np.broadcast_to(marginals.extra, p.shape)
    return _Cavities(likelihood, y, p, s, extra, _means(sites), relaxation).best()


def _means(sites: Sites) -> np.ndarray:
    """Means [N] of the sites; 0 for flat ones, as the paper starts."""
    flat = sites.tau == 0
    return np.where(flat, 0.0, sites.nu / np.where(flat, 1.0, sites.tau))


def relaxed_rule(relaxation: Relaxation) -> Rule:
    """The rule of relaxed EP, its relaxations searched at every update."""

    def update(marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray) -> Update:
        b = relaxations(marginals, sites, likelihood, y, relaxation)
        return _update(b, relaxation.printed_step, marginals, sites, likelihood, y)

    return Rule(update, stationary=False)


def held_rule(b: np.ndarray, printed_step: bool = False) -> Rule:
    """The rule of relaxed EP at relaxations ``b`` [N]; ``printed_step`` as `Relaxation.printed_step`.

    Raises
    ------
    ValueError
        For relaxations that are negative or infinite.
    """
    if not np.all((b >= 0) & (b < np.inf)):
        raise ValueError("relaxations must be finite and not negative")
    return Rule(
        partial(_update, b, printed_step),
        stationary=False,
        single=lambda i: Rule(partial(_update, b[i : i + 1], printed_step), stationary=False),
        double=lambda: held_rule(np.tile(b, 2), printed_step),
    )


def _update(
    b: np.ndarray,
    printed_step: bool,
    marginals: Marginals,
    sites: Sites,
    likelihood: Likelihood,
    y: np.ndarray,
) -> Update:
    """EP's rule on q r, without an evidence."""
    narrower = 1.0 + b * marginals.variance
    mean = (marginals.mean + b * marginals.variance * _means(sites)) / narrower
    of_q_r = Marginals(mean, marginals.variance / narrower, marginals.extra)
    update = EP.update(of_q_r, sites, likelihood, y)
    nothing, new = np.zeros(len(y)), update.sites
    if printed_step:
        again = np.where((new.tau != sites.tau) | (new.nu != sites.nu), b, 0.0)  # not where it was skipped
        new = Sites(new.tau + again, new.nu + again * _means(sites))
    return Update(new, nothing, nothing, update.skipped)


@dataclass(frozen=True)
class Relaxed(Generic[StateT]):
    """An approximate posterior of relaxed EP; there is no evidence.

    Attributes
    ----------
    sites : Sites
    state : State
        The conditioned posterior.
    b : array [N]
        Relaxations, in units of one over the variance of h.
    frozen : bool
        Whether they were held before the end.
    status : Status
    """

    sites: Sites
    state: StateT = field(repr=False)
    b: np.ndarray
    frozen: bool
    status: Status


def infer(
    posterior: Posterior[StateT],
    likelihood: Likelihood,
    y: np.ndarray,
    relaxation: Relaxation,
    options: Options | None = None,
    start: Sites | None = None,
    searched_sweeps: int = SEARCHED,
) -> Relaxed[StateT]:
    """Relaxed EP by the engine: relaxations are searched in the first sweeps, then held.

    Searched all the way the sweeps often do not settle, because the best relaxation may jump.

    Parameters
    ----------
    posterior, likelihood, y [N], options, start : see ``engine.infer``
    relaxation : Relaxation
    searched_sweeps : int
        Sweeps with relaxations searched, one or more; ``options.max_sweeps`` if that is less.

    Returns
    -------
    Relaxed
        Also when not converged.

    Raises
    ------
    NotPositiveDefinite
        If not even the starting sites give a proper posterior.
    ValueError
        For ``searched_sweeps`` that is no positive whole number.
    """
    require_whole("searched_sweeps", searched_sweeps, 1)
    options = options or Options()
    first = replace(options, max_sweeps=min(searched_sweeps, options.max_sweeps))
    inference = engine.infer(posterior, likelihood, y, relaxed_rule(relaxation), first, start)
    b = relaxations(inference.state.marginals, inference.sites, likelihood, y, relaxation)
    status = inference.status
    frozen = not status.converged and first.max_sweeps < options.max_sweeps
    if frozen:
        rest = replace(options, max_sweeps=options.max_sweeps - first.max_sweeps)
        held = held_rule(b, relaxation.printed_step)
        inference = engine.infer(posterior, likelihood, y, held, rest, inference.sites)
        status = replace(
            inference.status,
            sweeps=status.sweeps + inference.status.sweeps,
            retries=status.retries + inference.status.retries,
            damping=min(status.damping, inference.status.damping),
        )
    return Relaxed(inference.sites, inference.state, b, frozen, status)


def sweeps(
    posterior: Dense,
    likelihood: Likelihood,
    y: np.ndarray,
    relaxation: Relaxation,
    max_sweeps: int = 100,
    tolerance: float = 1e-3,
    searched_sweeps: int = SEARCHED,
) -> Sweeps:
    """Relaxed EP by sequential sweeps without rescue, as the paper has it (``textbook.sweep_on``); ``y`` [N].

    Relaxations are searched in the first ``searched_sweeps``, then held; the paper searches them to the end.
    """
    require_whole("searched_sweeps", searched_sweeps, 1)
    first = min(searched_sweeps, max_sweeps)
    searched = sweep_on(posterior, likelihood, y, relaxed_rule(relaxation), first, tolerance=tolerance)
    if searched.outcome != UNSETTLED or first == max_sweeps:
        return searched
    b = relaxations(searched.state.marginals, searched.sites, likelihood, y, relaxation)
    held = held_rule(b, relaxation.printed_step)
    rest = sweep_on(
        posterior, likelihood, y, held, max_sweeps - first, start=searched.sites, tolerance=tolerance
    )
    return replace(rest, changes=np.append(searched.changes, rest.changes))
