"""Fit a sparse posterior under any likelihood: maximise Power EP's energy by L-BFGS-B or BFGS.

Kernel parameters are searched by their logarithms, pseudo-inputs in given units. The gradient holds the sites
fixed, which is right at their fixed point only: where they do not converge the evaluation has failed, a wall.
Sites of a log-concave likelihood start at the last converged ones of the same search, and flat where that
leads nowhere. Those of another, which may have several fixed points, always start flat, so that the energy is
a function of the parameters. Where `first_sites` has some, these take the place of flat ones.
Parameters of the likelihood (noise, dispersion) can be searched too, as in `learning.likelihood`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tilted.gaussian import Sites
from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import SMALLEST, power_rule
from tilted.inference.result import Inference, Status
from tilted.inference.rule import weighted
from tilted.inference.vb import VB
from tilted.learning.dense import with_prior
from tilted.learning.likelihood import coordinates_of, local_derivative
from tilted.learning.mean import EVEN, Level, even
from tilted.learning.search import Evaluation, Search, climb
from tilted.learning.site_starts import first_sites
from tilted.learning.stages import begun
from tilted.learning.warmstarts import Attempts
from tilted.numerics.optimise import TRANSFORMS
from tilted.posteriors.collapsed import check_data
from tilted.posteriors.pseudo import check_jitter
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from tilted.inference.rule import Rule
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal
    from tilted.likelihoods.contract import Likelihood
    from tilted.posteriors.sparse import SparseState


@dataclass(frozen=True)
class Problem:
    """Data and model of a sparse fit.

    Parameters
    ----------
    X : array [N, D]
    y : array [N]
    likelihood : Likelihood
    alpha : float or array [N]
        Power; 0 is VB, whose energy is the bound of [Hensman et al. 2015] at its best q(u).
    mean : float
        Prior mean.
    jitter : float
        Added to the diagonal of Kuu, in units of its mean; part of the model.
    options : Options
    weights : array [N], optional
        Powers of the likelihood's factors (``inference.rule.weighted``).

    Raises
    ------
    ValueError
        For data that are not finite or do not fit, labels outside the likelihood's domain, powers that are
        neither 0 for all nor in [1e-6, 1], a mean that is no finite number, and negative jitter.
    """

    X: np.ndarray
    y: np.ndarray
    likelihood: Likelihood
    alpha: float | np.ndarray = 1.0
    mean: float = 0.0
    jitter: float = 0.0
    options: Options = Options()
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_data(self.X, self.y)
        object.__setattr__(self, "y", self.likelihood.domain(self.y))
        powers = np.asarray(self.alpha, dtype=float)
        if powers.ndim > 1 or (powers.ndim == 1 and len(powers) != len(self.y)):
            raise ValueError(f"alpha is one power or one for each of {len(self.y)} data, not {powers.shape}")
        if not (np.all(powers == 0) or np.all((powers >= SMALLEST) & (powers <= 1))):
            raise ValueError(f"powers are 0 for all data (VB), or lie in [{SMALLEST:g}, 1]")
        if np.ndim(self.mean) or not np.isfinite(self.mean):
            raise ValueError(f"the prior mean is one finite number, got {self.mean}")
        check_jitter(self.jitter)

    def of_rows(self, rows: np.ndarray) -> Problem:
        """Return the problem of some of the rows."""
        alpha = np.asarray(self.alpha)[rows] if np.ndim(self.alpha) else self.alpha
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, X=self.X[rows], y=self.y[rows], alpha=alpha, weights=weights)

    @property
    def rule(self) -> Rule:
        """The local rule of the power."""
        rule = VB if np.all(np.equal(self.alpha, 0.0)) else power_rule(self.alpha)
        return weighted(rule, self.weights)

    def infer(
        self, kernel: Kernel, Z: np.ndarray, start: Sites | None = None
    ) -> tuple[Sparse, Inference[SparseState]]:
        """The prior through pseudo-inputs ``Z`` [M, D], and the inference, from a warm start or flat sites.

        Raises
        ------
        NotPositiveDefinite
            As `Sparse.build`; or if the posterior is improper at the starting sites.
        """
        posterior = Sparse.build(kernel, self.X, Z, self.mean, self.jitter)
        return posterior, infer(posterior, self.likelihood, self.y, self.rule, self.options, start)


@dataclass(frozen=True)
class Fitted:
    """The best evaluation of a search.

    Attributes
    ----------
    problem : Problem
        With the prior mean and the likelihood found.
    posterior : Sparse
        With kernel and pseudo-inputs (``posterior.pseudo``).
    inference : Inference
    status : Status
        Converged if the search met its tolerance, and there; ``residual`` is the largest entry of the
        gradient in the coordinates of the search.
    """

    problem: Problem = field(repr=False)
    posterior: Sparse = field(repr=False)
    inference: Inference[SparseState]
    status: Status

    @property
    def mean(self) -> float:
        """Prior mean."""
        return self.problem.mean

    def predict(self, Xs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [N*] of f at ``Xs`` [N*, D]; ArithmeticError if one is lost to rounding."""
        return self.posterior.predict(self.inference.state, Xs, self.mean)


def maximise(
    problem: Problem,
    kernel: Kernel,
    Z: np.ndarray,
    search: Search | None = None,
    move_mean: bool = False,
    prior: LogNormal | None = None,
    move_likelihood: bool = False,
    units: float | np.ndarray = 1.0,
) -> Fitted:
    """Maximise the energy from given parameters.

    Parameters
    ----------
    problem : Problem
        With ``move_mean`` its mean is the starting point; 0 is refused for "poisson-square".
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    Z : array [M, D]
        Pseudo-inputs to start from.
    search : Search, optional
    move_mean : bool
        Whether the prior mean is searched too (``means.Level``).
    prior : LogNormal, optional
        As of ``learning.dense.maximise``.
    move_likelihood : bool
        Whether parameters of the likelihood are searched too, from those of the problem.
    units : float or array [D]
        Lengths in which pseudo-inputs are searched, of each column.

    Returns
    -------
    Fitted

    Raises
    ------
    ArithmeticError, ValueError
        If the very first evaluation fails (no proper posterior, sites that do not converge), or nothing tells
        f from -f at the start.
    """
    if move_mean and problem.mean == 0.0 and even(problem.likelihood, problem.y):
        raise ValueError(EVEN)
    search = search or Search()
    full_problem, start = problem, (kernel, Z)

    def begin_at(fitted: Fitted | None) -> tuple[Problem, Kernel, np.ndarray]:
        if fitted is None:
            return full_problem, *start
        pseudo = fitted.posterior.pseudo
        here = replace(full_problem, likelihood=fitted.problem.likelihood, mean=fitted.mean)
        return here, pseudo.kernel, pseudo.Z

    def value(fitted: Fitted | None) -> float:
        here, kernel, Z = begin_at(fitted)
        at = first_sites(here.likelihood, here.y, here.mean, here.weights)
        inference, _ = Attempts().converged(lambda sites: here.infer(kernel, Z, sites)[::-1], [at])
        sites_by_power[fitted is None] = inference.sites
        return inference.log_evidence + (0.0 if prior is None else prior.of(kernel)[0])

    def find(rows: np.ndarray, how: Search, until: float) -> Fitted:
        some = full_problem.of_rows(rows)
        some = replace(some, options=replace(some.options, deadline=until))
        return maximise(some, *start, how, move_mean, prior, move_likelihood, units)

    sites_by_power: dict[bool, Sites] = {}
    early, note = begun(search, len(problem.y), problem.options.deadline, find, value)
    problem, kernel, Z = begin_at(early)
    last = sites_by_power.get(
        early is None
    )  # a second inference there may find the time up, and needs no sweep
    transform = TRANSFORMS[search.transform or "log"]
    moving = search.move_pseudo_inputs
    level = Level.of(problem.mean, kernel, problem.X)
    first = first_sites(problem.likelihood, problem.y, problem.mean, problem.weights)
    attempts = Attempts()
    coordinates = [
        transform.inverse(kernel.parameters()),
        (Z / units).ravel() if moving else np.zeros(0),
        np.zeros(1 if move_mean else 0),
        coordinates_of(problem.likelihood) if move_likelihood else np.zeros(0),
    ]
    ends = np.cumsum([len(values) for values in coordinates])[:-1]

    def evaluate(x: np.ndarray) -> Evaluation[tuple[Problem, Sparse, Inference[SparseState]]]:
        nonlocal last
        logs, points, c, own = np.split(x, ends)
        at, likelihood = kernel.with_parameters(transform.forward(logs)), cast(Any, problem.likelihood)
        likelihood = likelihood.at(own) if len(own) else likelihood
        mean = level.mean(at, float(c[0])) if move_mean else problem.mean
        here = replace(problem, likelihood=likelihood, mean=mean)
        points = units * points.reshape(Z.shape) if moving else Z
        inference, posterior = attempts.converged(
            lambda sites: here.infer(at, points, sites)[::-1], [first] if last is None else [last, first]
        )
        last = inference.sites if search.warm and problem.likelihood.log_concave else None
        by_parameters, by_Z = posterior.evidence_gradient(inference.state, inference.by_extra)
        value, by_parameters = with_prior(prior, at, inference.log_evidence, by_parameters)
        by_logs = by_parameters * transform.slope(logs)
        slopes = [by_logs]
        if moving:
            slopes.append((units * by_Z).ravel())
        if move_mean:
            by_mean = float(np.sum(inference.sites.nu - inference.sites.tau * inference.state.marginals.mean))
            through_unit, by_c = level.pull_back(at, float(c[0]), by_mean)
            by_logs += through_unit * transform.slope(logs)
            slopes.append(np.array([by_c]))
        if len(own):
            slopes.append(local_derivative(here.rule, here.likelihood, inference.state, here.y))
        return Evaluation(value, np.concatenate(slopes), (here, posterior, inference))

    end = climb(evaluate, np.concatenate(coordinates), search, deadline=problem.options.deadline)
    tuned, posterior, inference = end.result
    notes = [end.message, inference.status.message, *([note] if note else [])]
    if posterior.floored:
        notes.append(f"{posterior.floored} conditional variances below zero by rounding")
    if attempts.restarted:
        notes.append(f"{attempts.restarted} evaluations started again from flat sites")
    if posterior.jitter:
        notes.append(f"jitter {posterior.jitter:.1e} on Kuu")
    status = replace(
        inference.status,
        converged=end.converged,
        sweeps=attempts.sweeps,
        evaluations=end.evaluations,
        residual=end.slope,
        message="; ".join(notes),
    )
    return Fitted(tuned, posterior, inference, status)
