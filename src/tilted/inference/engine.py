"""The one loop: sweep, damp, test convergence, report.

A parallel sweep asks the rule for new sites at all marginals at once, moves the sites and conditions the
posterior again. It takes a Newton step (``newton``) where that brings the fixed point nearer, or raises the
evidence of a rule that ascends. Otherwise it moves towards the new sites: undamped parallel EP oscillates at
large prior variances, so the step is accelerated (``acceleration``), its damping adapts to the residual, and
one that would make the posterior improper, or lower the evidence of a rule that ascends, is halved.
A sequential sweep, for where no parallel step is acceptable, updates one site after the other by rank one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic

import numpy as np

from tilted.gaussian import Marginals, Sites
from tilted.inference.acceleration import Anderson, as_sites, in_units
from tilted.inference.newton import newton_sites
from tilted.inference.options import Options
from tilted.inference.result import Inference, StateT, Status
from tilted.inference.rule import Rule, Update
from tilted.numerics.linalg import NotPositiveDefinite

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior

NEARER = 0.9  # a Newton step has to bring the residual below this multiple


@dataclass(frozen=True)
class _Point(Generic[StateT]):
    """A conditioned posterior with the rule's answer to it."""

    state: StateT
    update: Update
    clipped: int = 0

    @property
    def evidence(self) -> float:
        return self.state.anchored + float(np.sum(self.update.log_terms))


@dataclass
class _Run(Generic[StateT]):
    """Bookkeeping of one call of :func:`infer`; nothing of it outlives the call."""

    posterior: Posterior[StateT]
    likelihood: Likelihood
    y: np.ndarray
    rule: Rule
    options: Options
    memory: Anderson = field(init=False)
    step: float = field(init=False)
    smallest: float = field(init=False)
    sweeps: int = 0
    retries: int = 0
    refused: int = 0
    pause: int = 0
    residual: float = np.inf
    fallback: bool = False

    def __post_init__(self) -> None:
        self.memory = Anderson(self.options.memory)
        self.step = self.smallest = self.options.damping

    def clip(self, sites: Sites) -> Sites:
        """Sites held at the smallest precision."""
        if not np.isfinite(self.options.min_precision):
            return sites
        return Sites(np.maximum(sites.tau, self.options.min_precision), sites.nu)

    def first(self, sites: Sites) -> _Point[StateT]:
        """Condition on ``sites``; NotPositiveDefinite if the posterior is improper, if only by rounding."""
        state = self.posterior.condition(sites)
        variance = state.marginals.variance  # of h 0 where pseudo-points are out of sight
        proper = (variance >= 0) & (variance + state.marginals.extra > 0) & np.any(variance > 0)
        if not np.all(proper):
            raise NotPositiveDefinite("Sigma", int(np.argmin(proper)) + 1, len(self.y))
        return self.answer(state)

    def visit(self, sites: Sites) -> _Point[StateT] | None:
        """Condition on ``sites`` (held at the smallest precision); None if the posterior is improper."""
        try:
            return self.first(self.clip(sites))
        except NotPositiveDefinite:
            return None

    def answer(self, state: StateT) -> _Point[StateT]:
        """The rule's new sites at a state, clipped where the options say so."""
        update = self.rule.update(state.marginals, state.sites, self.likelihood, self.y)
        clipped = int(np.sum(update.sites.tau < self.options.min_precision))
        return _Point(state, replace(update, sites=self.clip(update.sites)), clipped)

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self.options.deadline

    def shrink(self) -> None:
        self.step *= 0.5
        self.smallest = min(self.smallest, self.step)


def infer(
    posterior: Posterior[StateT],
    likelihood: Likelihood,
    y: np.ndarray,
    rule: Rule,
    options: Options | None = None,
    start: Sites | None = None,
) -> Inference[StateT]:
    """Iterate ``rule`` to its fixed point.

    Parameters
    ----------
    posterior : Dense or another posterior
    likelihood : Likelihood
    y : array [N]
    rule : Rule
    options : Options, optional
    start : Sites, optional
        Warm start; by default flat sites, or with large weights those of smaller ones.

    Returns
    -------
    Inference
        Also when not converged; ``status`` says so.

    Raises
    ------
    NotPositiveDefinite
        If not even the starting sites give a proper posterior.
    """
    options, sweeps = options or Options(), 0
    if start is None and rule.heavy:
        rough = replace(options, tolerance=max(options.tolerance, 0.01))
        eased = infer(posterior, likelihood, y, rule.lighter(), rough)
        start, sweeps = eased.sites, eased.status.sweeps
    start = start or Sites.zeros(len(y))
    run = _Run(posterior, likelihood, y, rule, options)
    point = _iterate(run, start)
    stuck = options.schedule == "parallel" and run.step < options.min_damping
    if stuck and options.fallback and not run.late:
        # no acceptable parallel step: strongly multimodal sites; one at a time is safer and slower
        tried, options = run, replace(options, schedule="sequential")
        if rule.ascends:  # what has been climbed so far is not given up
            start = point.state.sites
        run = _Run(posterior, likelihood, y, rule, options)
        point = _iterate(run, start)
        run.sweeps += tried.sweeps
        run.retries += tried.retries
        run.smallest = min(run.smallest, tried.smallest)
        run.fallback = True
    run.sweeps += sweeps
    return _finish(run, point)


def _iterate(run: _Run[StateT], start: Sites) -> _Point[StateT]:
    """Sweep until converged, out of sweeps, or stuck."""
    options, point = run.options, run.first(start)
    advance = _parallel if options.schedule == "parallel" else _sequential
    while True:
        previous, run.residual = run.residual, _residual(point, options.stop)
        if not run.residual > options.tolerance or run.sweeps >= options.max_sweeps or run.late:
            return point
        if not run.rule.ascends:
            _adapt(run, previous)
        following = advance(run, point)
        if following is None:
            return point
        point = following
        run.sweeps += 1


def _parallel(run: _Run[StateT], point: _Point[StateT]) -> _Point[StateT] | None:
    """One parallel sweep; None when no step, however small, is acceptable."""
    sites, target = point.state.sites, point.update.sites
    if run.options.newton and run.sweeps >= run.pause:
        following = _newton(run, point)
        if following is not None:
            return following
    x = np.concatenate([sites.tau, sites.nu])
    f = np.concatenate([target.tau, target.nu]) - x
    run.memory.record(x, f)
    if run.memory.active:
        v, m = point.state.marginals.variance, point.state.marginals.mean
        ahead = as_sites(x + run.memory.step(run.step, lambda r: in_units(r, m, v)))
        # extrapolation may overshoot to precisions that no log-concave site can have
        sound = not (run.likelihood.log_concave and np.any(ahead.tau < 0))
        following = run.visit(ahead) if sound else None
        if following is not None and _acceptable(run, point, following):
            return following
        run.memory.restart()
        run.retries += 1
    while run.step >= run.options.min_damping:
        following = run.visit(as_sites(x + run.step * f))
        if following is not None and _acceptable(run, point, following):
            if run.rule.ascends:
                run.step = min(1.5 * run.step, run.options.damping)
            return following
        run.retries += 1
        run.shrink()
    return None


def _newton(run: _Run[StateT], point: _Point[StateT]) -> _Point[StateT] | None:
    """A Newton step; None where there is none, or where it leads no nearer to the fixed point.

    Nearer is a residual clearly below the present one or, for a rule that ascends, a higher evidence. After
    the k-th refusal in a row the next 2^k - 1 sweeps do not try again.
    """
    if not (run.likelihood.log_concave and point.update.skipped == 0):
        return None
    sites, y, rule = point.state.sites, np.tile(run.y, 2), run.rule
    twice, doubled = Sites(np.tile(sites.tau, 2), np.tile(sites.nu, 2)), rule.twice()

    def respond(marginals: Marginals) -> Sites:
        return run.clip(doubled.update(marginals, twice, run.likelihood, y).sites)

    target, residual = point.update.sites, run.residual
    ahead = newton_sites(run.posterior, point.state, target, respond, rule.power, residual, rule.heavy)
    if ahead is None:
        return None
    following = run.visit(ahead)
    if following is not None and _acceptable(run, point, following):
        climbs = run.rule.ascends and following.evidence - point.evidence > _slack(point)
        if climbs or _residual(following, run.options.stop) < NEARER * residual:
            run.refused = 0
            return following
    run.retries += 1
    run.refused += 1
    run.pause = run.sweeps + 2**run.refused
    return None


def _sequential(run: _Run[StateT], point: _Point[StateT]) -> _Point[StateT] | None:
    """One sequential sweep; None when no step, however small, is acceptable, or the time is up."""
    while run.step >= run.options.min_damping and not run.late:
        sites = _one_by_one(run, point)
        following = None if sites is None else run.visit(sites)
        # without a rule that ascends, the evidence may be infinite on the way
        if following is not None and not (run.rule.ascends and not _acceptable(run, point, following)):
            return following
        run.retries += 1
        run.shrink()
    return None


def _one_by_one(run: _Run[StateT], point: _Point[StateT]) -> Sites | None:
    """The sites after each was moved in order and folded in before the next by a rank-one step.

    None where rounding has left a point without a positive variance, or its site without a number, and when
    the time is up.
    """
    state, options = point.state, run.options
    covariance = run.posterior.covariance(state)
    sites, mean = state.sites, state.marginals.mean
    for i in range(len(run.y)):
        one = slice(i, i + 1)
        marginal = run.posterior.marginal(mean, covariance, i)
        if not marginal.variance[0] > 0 or run.late:
            return None
        old = Sites(sites.tau[one], sites.nu[one])
        new = run.rule.at(i).update(marginal, old, run.likelihood, run.y[one]).sites
        d_tau = max(float(new.tau[0]), options.min_precision) - float(old.tau[0])
        d_nu, step = float(new.nu[0] - old.nu[0]), run.step
        if not np.isfinite(d_tau + d_nu):
            return None
        while 1.0 + step * d_tau * float(marginal.variance[0]) < 0.1:  # at 0 the posterior is improper
            run.retries += 1
            step *= 0.5
            run.smallest = min(run.smallest, step)
        mean, covariance = run.posterior.update_one(mean, covariance, i, step * d_tau, step * d_nu)
        sites = sites.replace(i, sites.tau[i] + step * d_tau, sites.nu[i] + step * d_nu)
    return sites


def _acceptable(run: _Run[StateT], old: _Point[StateT], new: _Point[StateT]) -> bool:
    """Finite, and not worse where the rule promises to ascend (up to rounding)."""
    if not (np.isfinite(new.evidence) and np.all(np.isfinite(new.update.sites.tau))):
        return False
    return not run.rule.ascends or new.evidence >= old.evidence - _slack(old)


def _slack(point: _Point[StateT]) -> float:
    """Difference of the evidence that is taken for rounding."""
    return 1e-10 * (1.0 + abs(point.evidence))


def _residual(point: _Point[StateT], stop: str) -> float:
    """How far the rule's new sites are from the present ones."""
    sites, new, marginals = point.state.sites, point.update.sites, point.state.marginals
    d_tau, d_nu, m, v = new.tau - sites.tau, new.nu - sites.nu, marginals.mean, marginals.variance
    if stop == "site-rms":
        return max(float(np.sqrt(np.mean(d**2))) for d in (d_tau, d_nu))
    shrink = 1.0 + d_tau * v
    with np.errstate(divide="ignore", invalid="ignore"):
        by_mean = np.abs(d_nu - d_tau * m) * np.sqrt(v) / np.abs(shrink)
        by_variance = np.abs(np.log(np.maximum(shrink, 0.0)))
    return float(np.max(np.maximum(by_mean, by_variance)))


def _adapt(run: _Run[StateT], previous: float) -> None:
    """Halve the step when the residual doubles (down to 0.1), let it recover while it falls."""
    if run.residual > 2.0 * previous:
        run.memory.restart()
        if 0.5 * run.step >= max(0.1, run.options.min_damping):
            run.shrink()
    elif run.residual < previous:
        run.step = min(1.3 * run.step, run.options.damping)


def _finish(run: _Run[StateT], point: _Point[StateT]) -> Inference[StateT]:
    """Evidence and status at the last point."""
    evidence = point.evidence
    arrived = run.residual <= run.options.tolerance and point.update.skipped == 0
    converged = bool(arrived and np.isfinite(evidence))
    status = Status(
        converged=converged,
        sweeps=run.sweeps,
        residual=run.residual,
        damping=run.smallest,
        jitter=run.posterior.jitter,
        skipped=point.update.skipped,
        retries=run.retries,
        clipped=point.clipped,
        negative_sites=point.state.negative_sites,
        message=_message(run, point, converged),
    )
    return Inference(point.state.sites, point.state, evidence, status, point.update.by_extra)


def _message(run: _Run[StateT], point: _Point[StateT], converged: bool) -> str:
    how = " (no parallel step was acceptable, went on sequentially)" if run.fallback else ""
    if converged:
        return f"converged in {run.sweeps} sweeps{how}"
    cause = f"not converged: residual {run.residual:.1e} after {run.sweeps} sweeps{how}"
    if point.update.skipped:
        return f"{cause}, {point.update.skipped} sites with an improper cavity or projection"
    if run.late:
        return f"{cause}, when the time was up"
    if run.step < run.options.min_damping:
        return f"{cause}; no step of at least {run.options.min_damping:g} is acceptable here"
    if not (np.isfinite(point.evidence) and np.isfinite(run.residual)):
        return f"{cause}, evidence {point.evidence:g}; the numbers are lost to rounding or overflow"
    return f"{cause}; raise max_sweeps or lower damping"
