"""Relaxed EP: moment matching after both sides were multiplied by a relaxation factor [Qi & Guo 2012].

The factor r_i(h) = exp(-b_i (h - m_i)^2 / 2), around the mean m_i of the site there is, makes the cavity
narrower: q r_i instead of q goes into EP's rule [eqs 12-15], and the site that comes out *is* the new one
(the paper's step (e), eq. 16, would count r_i twice). The relaxation b_i >= 0 minimises KL + c b_i: KL is the
divergence of the tilted distribution t_i r_i q^i from its moment-matched Gaussian, c the penalty. b_i = 0,
which every sufficiently large c gives, is EP.

The paper's KL is of unnormalised distributions [section 3.1], but its formula [eq. 36], which divides by
their mass, is of neither kind (it is negative); `relaxations.READINGS` are the three that can be meant. There
is no evidence: the paper's energies are unverified, so the penalty and the kernel are chosen by
cross-validation.
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
from tilted.inference.relaxations import Relaxation, means, relaxations
from tilted.inference.result import StateT, Status
from tilted.inference.rule import Rule, Update
from tilted.inference.textbook import UNSETTLED, Sweeps, sweep_on

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.contract import Posterior
    from tilted.posteriors.dense import Dense

SEARCHED = 10  # sweeps before relaxations are held


def relaxed_rule(relaxation: Relaxation, deadline: float = np.inf) -> Rule:
    """The rule of relaxed EP, its relaxations searched at every update.

    After the ``deadline`` of ``time.monotonic()`` sites are updated by EP, and count as skipped.
    """

    def update(marginals: Marginals, sites: Sites, likelihood: Likelihood, y: np.ndarray) -> Update:
        b = relaxations(marginals, sites, likelihood, y, relaxation, deadline)
        late = np.isnan(b)
        new = _update(np.where(late, 0.0, b), relaxation.printed_step, marginals, sites, likelihood, y)
        return replace(new, skipped=new.skipped + int(late.sum()))

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
        select=lambda sites: held_rule(b[sites], printed_step),
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
    mean = (marginals.mean + b * marginals.variance * means(sites)) / narrower
    of_q_r = Marginals(mean, marginals.variance / narrower, marginals.extra)
    update = EP.update(of_q_r, sites, likelihood, y)
    nothing, new = np.zeros(len(y)), update.sites
    if printed_step:
        start = np.where((new.tau != sites.tau) | (new.nu != sites.nu), b, 0.0)  # not where it was skipped
        new = Sites(new.tau + start, new.nu + start * means(sites))
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
        Relaxations, in units of one over the variance of h; NaN where the time was up before their search.
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
    rule = relaxed_rule(relaxation, options.deadline)
    inference = engine.infer(posterior, likelihood, y, rule, first, start)
    b = relaxations(inference.state.marginals, inference.sites, likelihood, y, relaxation, options.deadline)
    status, late = inference.status, bool(np.isnan(b).any())
    frozen = not (status.converged or late) and first.max_sweeps < options.max_sweeps
    if frozen:
        remaining = replace(options, max_sweeps=options.max_sweeps - first.max_sweeps)
        fixed_rule = held_rule(b, relaxation.printed_step)
        inference = engine.infer(posterior, likelihood, y, fixed_rule, remaining, inference.sites)
        status = inference.status.after(status, "with relaxations searched")
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
    fixed_rule = held_rule(b, relaxation.printed_step)
    continued = sweep_on(
        posterior, likelihood, y, fixed_rule, max_sweeps - first, start=searched.sites, tolerance=tolerance
    )
    return replace(continued, changes=np.append(searched.changes, continued.changes))
