"""Fit a regression, sparse or exact: maximise the evidence by L-BFGS-B or BFGS [Bui et al. 2017, section 4].

Of a sparse one it is the collapsed evidence of Power EP (``posteriors.collapsed``). Kernel parameters and
noise are searched by their logarithms unless the search says otherwise, pseudo-inputs in given units. The
best evaluation is what comes back, wherever the search ended. FITC likes to move pseudo-inputs onto each
other, where Kuu is singular: give such a search some jitter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.result import Status
from tilted.learning.dense import with_prior
from tilted.learning.search import Evaluation, Search, climb
from tilted.learning.stages import begun
from tilted.numerics.optimise import TRANSFORMS
from tilted.posteriors.collapsed import Collapsed, Gradient, Regression, check_noise
from tilted.posteriors.full import Full, FullRegression

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel
    from tilted.learning.priors import LogNormal


@dataclass(frozen=True)
class Fitted:
    """The best evaluation of a search.

    Attributes
    ----------
    state : Collapsed or Full
        With kernel, pseudo-inputs, noise and log evidence; it predicts.
    gradient : Gradient
        There.
    status : Status
        Converged if the search met its tolerance, and there; ``residual`` is the largest entry of the
        gradient in the coordinates of the search.
    """

    state: Collapsed | Full
    gradient: Gradient = field(repr=False)
    status: Status


def maximise(
    problem: Regression | FullRegression,
    kernel: Kernel,
    Z: np.ndarray,
    noise: float,
    search: Search | None = None,
    prior: LogNormal | None = None,
    deadline: float = np.inf,
    units: float | np.ndarray = 1.0,
) -> Fitted:
    """Maximise the energy from given parameters.

    Parameters
    ----------
    problem : Regression or FullRegression
    kernel : SquaredExponential or another kernel
        Its parameters are the starting point.
    Z : array [M, D]
        Pseudo-inputs to start from; [0, D] for exact regression.
    noise : float
        Noise variance to start from.
    search : Search, optional
    prior : LogNormal, optional
        On the kernel's parameters; its log density is maximised with the energy.
    deadline : float
        As of ``learning.search.climb``.
    units : float or array [D]
        Lengths in which pseudo-inputs are searched, of each column.

    Returns
    -------
    Fitted

    Raises
    ------
    NotPositiveDefinite, ValueError
        If the very first evaluation fails, or the noise is not positive.
    """
    check_noise(noise)
    search, note = search or Search(), ""
    if isinstance(problem, Regression):
        full_problem, start = problem, (kernel, Z, noise)

        def value(fitted: Fitted | None) -> float:
            state = None if fitted is None else fitted.state
            at = (state.kernel, state.Z, state.noise) if isinstance(state, Collapsed) else start
            added = 0.0 if prior is None else prior.of(at[0])[0]
            return full_problem.evaluate(*at)[0].log_evidence + added

        first, note = begun(
            search,
            len(problem.y),
            deadline,
            lambda rows, how, until: maximise(full_problem.of_rows(rows), *start, how, prior, until, units),
            value,
        )
        if first is not None and isinstance(first.state, Collapsed):
            kernel, Z, noise = first.state.kernel, first.state.Z, first.state.noise
    transform, moving = TRANSFORMS[search.transform or "log"], search.move_pseudo_inputs
    P = len(kernel.parameters())

    def evaluate(x: np.ndarray) -> Evaluation[tuple[Collapsed | Full, Gradient]]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            parameters = transform.forward(x[: P + 1])
            points = units * x[P + 1 :].reshape(Z.shape) if moving else Z
            at = kernel.with_parameters(parameters[:P]), points, float(parameters[P])
            state, gradient = problem.evaluate(*at)
            value, by_kernel = with_prior(prior, at[0], state.log_evidence, gradient.kernel)
            slope = np.append(by_kernel, gradient.noise) * transform.slope(x[: P + 1])
        if moving:
            slope = np.concatenate([slope, (units * gradient.Z).ravel()])
        return Evaluation(value, slope, (state, gradient))

    x0 = transform.inverse(np.append(kernel.parameters(), noise))
    if moving:
        x0 = np.concatenate([x0, (Z / units).ravel()])
    end = climb(evaluate, x0, search, deadline=deadline)
    state, gradient = end.result
    message = f"{end.message}; {note}" if note else end.message
    if state.jitter:
        message += f"; jitter {state.jitter:.1e} on Kuu"
    status = Status(end.converged, 0, end.evaluations, end.slope, jitter=state.jitter, message=message)
    return Fitted(state, gradient, status)
