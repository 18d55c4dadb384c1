"""The one loop: sweep, damp, test convergence, report.

A parallel sweep asks the rule for new sites at all marginals at once, moves the sites and conditions the
posterior again. It takes a Newton step (``newton``) where that brings the fixed point nearer, or raises the
evidence of a rule that ascends. Otherwise it moves towards the new sites: undamped parallel EP oscillates
at large prior variances, so the step is accelerated (``acceleration``), its damping adapts to the residual,
and a step that would make the posterior improper, or lower the evidence of a rule that ascends, is repeated
with half the damping.
A sequential sweep updates one site after the other by rank-one steps, as in the textbooks; where no
parallel step is acceptable at all the run starts again sequentially, and its status says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilted.gaussian import Marginals, Sites
from tilted.inference.acceleration import as_sites, in_units
from tilted.inference.newton import newton_sites
from tilted.inference.options import Options
from tilted.inference.result import Inference, StateT, Status
from tilted.inference.rule import Rule
from tilted.inference.run import PATIENCE, Point, Run

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior

ROUGH = 0.01  # tolerance where only a start is needed
ROUNDED = "the numbers are lost to rounding or overflow"
NEARER = 0.9  # a Newton step has to bring the residual below this multiple
MOST_RELAPSES = 5  # that lengthen the pause of Newton's steps, to 32 sweeps
LOST = 1e15  # standard deviations off 0 at which a mean has no digit left that counts


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
    options = options or Options()
    if start is None and rule.heavy:
        return _after_lighter_weights(posterior, likelihood, y, rule, options)
    start = start or Sites.zeros(len(y))
    run = Run(posterior, likelihood, y, rule, options)
    point = _iterate(run, start)
    stuck = options.schedule == "parallel" and run.step < options.min_damping
    if stuck and options.fallback and not run.late:
        # no acceptable parallel step: strongly multimodal sites; one at a time is safer and slower
        tried, options = run, replace(options, schedule="sequential")
        if rule.ascends:  # what has been climbed so far is not given up
            start = point.state.sites
        run = Run(posterior, likelihood, y, rule, options)
        point = _iterate(run, start)
        run.sweeps += tried.sweeps
        run.retries += tried.retries
        run.smallest = min(run.smallest, tried.smallest)
        run.fallback = True
    return _finish(run, point)


def _after_lighter_weights(
    posterior: Posterior[StateT], likelihood: Likelihood, y: np.ndarray, rule: Rule, options: Options
) -> Inference[StateT]:
    """The inference that starts at the sites of one with lighter weights, roughly converged."""
    rough = replace(options, tolerance=max(options.tolerance, ROUGH))
    lighter = infer(posterior, likelihood, y, rule.lighter(), rough)
    inference = infer(posterior, likelihood, y, rule, options, lighter.sites)
    return replace(inference, status=inference.status.after(lighter.status, "with lighter weights"))


def _iterate(run: Run[StateT], start: Sites) -> Point[StateT]:
    """Sweep until converged, out of sweeps, or stuck."""
    options, point = run.options, run.first(start)
    advance = _parallel if options.schedule == "parallel" else _sequential
    while True:
        previous = run.residual
        run.note(point.residual)
        if not run.residual > options.tolerance or run.sweeps >= options.max_sweeps:
            return point
        if run.late or run.floored:
            return point
        if not run.rule.ascends:
            _adapt(run, previous)
        following = advance(run, point)
        if following is None:
            return point
        point = following
        run.sweeps += 1


def _parallel(run: Run[StateT], point: Point[StateT]) -> Point[StateT] | None:
    """One parallel sweep: a Newton step, or an accelerated, or a damped one.

    None when no step, however small, is acceptable, or the time is up.
    """
    sites, target = point.state.sites, point.update.sites
    following = _newton(run, point) if run.options.newton and run.sweeps >= run.pause else None
    if following is not None:
        return following
    x = np.concatenate([sites.tau, sites.nu])
    f = np.concatenate([target.tau, target.nu]) - x
    run.memory.record(x, f)
    following = _accelerated(run, point, x) if run.memory.active else None
    return _damped(run, point, x, f) if following is None else following


def _accelerated(run: Run[StateT], point: Point[StateT], x: np.ndarray) -> Point[StateT] | None:
    """A step from the sites ``x`` [2N] by what earlier ones taught; None where it is not acceptable."""
    v, m = point.state.marginals.variance, point.state.marginals.mean
    ahead = as_sites(x + run.memory.step(run.step, lambda r: in_units(r, m, v)))
    # extrapolation may overshoot to precisions that no log-concave site can have
    sound = not (run.likelihood.log_concave and np.any(ahead.tau < 0))
    following = run.visit(ahead) if sound else None
    if following is not None and _acceptable(run, point, following):
        return following
    run.memory.restart()
    run.retries += 1
    return None


def _damped(run: Run[StateT], point: Point[StateT], x: np.ndarray, f: np.ndarray) -> Point[StateT] | None:
    """A step from the sites ``x`` along ``f`` [2N] towards the rule's, shorter until it is acceptable."""
    while run.step >= run.options.min_damping and not run.late:
        following = run.visit(as_sites(x + run.step * f))
        if following is not None and _acceptable(run, point, following):
            if run.rule.ascends:
                run.step = min(1.5 * run.step, run.options.damping)
            return following
        run.retries += 1
        run.shrink()
    return None


def _newton(run: Run[StateT], point: Point[StateT]) -> Point[StateT] | None:
    """A Newton step; None where there is none, or where it leads no nearer to the fixed point.

    Nearer is a residual clearly below the present one; after the k-th refusal in a row the next 2^k - 1
    sweeps do not try again, nor after the k-th time that the residual is back where a step was accepted
    (these steps and the others may lead round in a circle). For a rule that ascends a higher evidence is
    enough, but as it may be higher by next to nothing for ever such a step counts as a refusal, after which
    half as many sweeps do not.
    """
    if not (run.likelihood.log_concave and point.update.skipped == 0):
        return None
    if run.residual >= run.taken_at and not run.rule.ascends:
        run.relapses = min(run.relapses + 1, MOST_RELAPSES)
        run.taken_at, run.pause = np.inf, run.sweeps + 2**run.relapses
        return None
    rule, sites = run.rule, point.state.sites
    rule_of_two, y = rule.twice(len(run.y)), np.concatenate([run.y, run.y])
    sites_of_two = Sites(np.concatenate([sites.tau, sites.tau]), np.concatenate([sites.nu, sites.nu]))

    def respond(marginals: Marginals) -> Sites:
        return run.clip(rule_of_two.respond(marginals, sites_of_two, run.likelihood, y))

    target = point.update.sites
    at = run.posterior, point.state, target, respond, rule.power, run.residual, rule.heavy
    ahead = newton_sites(*at, response=point.response)
    if ahead is None:
        return None
    following, climbs = run.visit(ahead), False
    if following is not None and _acceptable(run, point, following):
        if following.residual < NEARER * run.residual:
            run.refused, run.taken_at = 0, run.residual
            return following
        climbs = rule.ascends and following.evidence - point.evidence > point.slack
    run.refused += 1
    if climbs:
        run.pause = run.sweeps + 2 ** (run.refused - 1)
        return following
    run.pause = run.sweeps + 2**run.refused
    run.retries += 1
    return None


def _sequential(run: Run[StateT], point: Point[StateT]) -> Point[StateT] | None:
    """One sequential sweep; None when no step, however small, is acceptable, or the time is up."""
    while run.step >= run.options.min_damping and not run.late:
        sites = _one_by_one(run, point)
        run.lost = sites is None
        following = None if sites is None else run.visit(sites)
        # without a rule that ascends, the evidence may be infinite on the way
        if following is not None and not (run.rule.ascends and not _acceptable(run, point, following)):
            return following
        run.retries += 1
        run.shrink()
    return None


def _one_by_one(run: Run[StateT], point: Point[StateT]) -> Sites | None:
    """The sites after each was moved in order and folded in before the next by a rank-one step.

    None where rounding has left a point without a positive variance, or its site without a number, and when
    the time is up.
    """
    state, options = point.state, run.options
    covariance = run.posterior.covariance(state)
    sites, mean = state.sites, state.marginals.mean
    for i in range(len(run.y)):
        row = slice(i, i + 1)
        marginal = run.posterior.marginal(mean, covariance, i)
        if not marginal.variance[0] > 0 or run.late:
            return None
        old = Sites(sites.tau[row], sites.nu[row])
        new = run.rule.at(i).update(marginal, old, run.likelihood, run.y[row]).sites
        d_tau = max(float(new.tau[0]), options.min_precision) - float(old.tau[0])
        d_nu = float(new.nu[0] - old.nu[0])
        step = run.step
        if not np.isfinite(d_tau + d_nu):
            return None
        while 1.0 + step * d_tau * float(marginal.variance[0]) < 0.1:  # at 0 the posterior is improper
            run.retries += 1
            step *= 0.5
            run.smallest = min(run.smallest, step)
        mean, covariance = run.posterior.update_one(mean, covariance, i, step * d_tau, step * d_nu)
        sites = sites.replace(i, sites.tau[i] + step * d_tau, sites.nu[i] + step * d_nu)
    return sites


def _acceptable(run: Run[StateT], old: Point[StateT], new: Point[StateT]) -> bool:
    """Finite, and not worse where the rule promises to ascend (up to rounding)."""
    finite = bool(np.isfinite(new.evidence) and np.isfinite(new.update.sites.tau).all())
    run.lost = not finite or _away(new) > LOST
    return finite and (not run.rule.ascends or new.evidence >= old.evidence - old.slack)


def _away(point: Point[StateT]) -> float:
    """Return the largest distance of a marginal's mean from 0, in its standard deviations."""
    marginals = point.state.marginals
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return float(np.max(np.abs(marginals.mean) / np.sqrt(marginals.variance + marginals.extra)))


def _adapt(run: Run[StateT], previous: float) -> None:
    """Halve the step when the residual doubles (down to 0.1), let it recover while it falls."""
    if run.residual > 2.0 * previous:
        run.memory.restart()
        if 0.5 * run.step >= max(0.1, run.options.min_damping):
            run.shrink()
    elif run.residual < previous:
        run.step = min(1.3 * run.step, run.options.damping)


def _finish(run: Run[StateT], point: Point[StateT]) -> Inference[StateT]:
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


def _message(run: Run[StateT], point: Point[StateT], converged: bool) -> str:
    how = " (no parallel step was acceptable, went on sequentially)" if run.fallback else ""
    if converged:
        return f"converged in {run.sweeps} sweeps{how}"
    cause = f"not converged: residual {run.residual:.1e} after {run.sweeps} sweeps{how}"
    if run.late:
        return f"{cause}, when the time was up"
    if point.update.skipped:
        return f"{cause}, {point.update.skipped} sites with an improper cavity or projection"
    if run.step < run.options.min_damping:
        why = f": {ROUNDED}" if run.lost else ""
        return f"{cause}; no step of at least {run.options.min_damping:g} is acceptable here{why}"
    if not (np.isfinite(point.evidence) and np.isfinite(run.residual)):
        return f"{cause}, evidence {point.evidence:g}; {ROUNDED}"
    if run.floored:
        return f"{cause}, and hardly lower for {PATIENCE}: what rounding leaves of it; raise tolerance"
    if _away(point) > LOST:
        return f"{cause}, means {_away(point):.0e} standard deviations off 0; {ROUNDED}"
    return f"{cause}; raise max_sweeps or lower damping"
