"""Fit a regression, sparse or exact: maximise the evidence by L-BFGS-B [Bui et al. 2017, section 4].

Of a sparse one it is the collapsed evidence of Power EP (``posteriors.collapsed``). Kernel parameters and
noise are searched by their logarithms, pseudo-inputs as they are. The best evaluation is what comes back,
wherever the search ended. FITC likes to move pseudo-inputs onto each other, where Kuu is singular: give such
a search some jitter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.options import require_whole
from tilted.inference.result import Status
from tilted.optimise import climb
from tilted.posteriors.collapsed import Collapsed, Gradient, Regression, check_noise
from tilted.posteriors.full import Full, FullRegression

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


@dataclass(frozen=True)
class Search:
    """How to search: limit on iterations and evaluations, tolerances of L-BFGS-B, what moves.

    Raises
    ------
    ValueError
        For a limit that is no whole number of at least 1, and tolerances that are not finite or negative.
    """

    max_evaluations: int = 2000
    relative_tolerance: float = 1e-9
    gradient_tolerance: float = 1e-5
    move_pseudo_inputs: bool = True

    def __post_init__(self) -> None:
        require_whole("max_evaluations", self.max_evaluations, 1)
        for name in ("relative_tolerance", "gradient_tolerance"):
            value = getattr(self, name)
            if not 0 <= value < np.inf:
                raise ValueError(f"{name} must be finite and not negative, got {value}")


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

    Returns
    -------
    Fitted

    Raises
    ------
    NotPositiveDefinite, ValueError
        If the very first evaluation fails, or the noise is not positive.
    """
    check_noise(noise)
    search = search or Search()
    P, moving = len(kernel.parameters()), search.move_pseudo_inputs

    def at(x: np.ndarray) -> tuple[Kernel, np.ndarray, float]:
        parameters = np.exp(x[: P + 1])
        points = x[P + 1 :].reshape(Z.shape) if moving else Z
        return kernel.with_parameters(parameters[:P]), points, float(parameters[P])

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray, tuple[Collapsed | Full, Gradient]]:
        with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is refused
            state, gradient = problem.evaluate(*at(x))
        return state.log_evidence, _slope(state, gradient, moving), (state, gradient)

    start = np.log(np.append(kernel.parameters(), noise))
    x0 = np.concatenate([start, Z.ravel()]) if moving else start
    end = climb(evaluate, x0, search.max_evaluations, search.relative_tolerance, search.gradient_tolerance)
    state, gradient = end.best
    message = end.message
    if state.jitter:
        message += f"; jitter {state.jitter:.1e} on Kuu"
    status = Status(end.converged, 0, end.evaluations, end.slope, jitter=state.jitter, message=message)
    return Fitted(state, gradient, status)


def _slope(state: Collapsed | Full, gradient: Gradient, moving: bool) -> np.ndarray:
    """The gradient in the coordinates of the search."""
    scales = np.append(state.kernel.parameters(), state.noise)
    logs = np.append(gradient.kernel, gradient.noise) * scales
    return np.concatenate([logs, gradient.Z.ravel()]) if moving else logs
