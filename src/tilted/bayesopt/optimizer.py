"""Ask where to evaluate next, tell what was found there: a search whose evaluations are made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tilted.bayesopt import loop
from tilted.bayesopt.loop import Evaluation, Found
from tilted.bayesopt.rules import Settings
from tilted.inference.options import require_whole
from tilted.likelihoods.contract import as_floats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

BY_ROUNDING = 1e-9
"""Part of a dimension's width by which a place that is told may be beyond it."""


class Optimizer:
    """Minimise f(x) where every c_k(x) >= 0, x in a box; the places are those of `loop.minimise`.

    Parameters
    ----------
    bounds : sequence of (low, high)
    constraints : int
        How many, 0 for none.
    rule : {"pesc", "improvement", "random"}
        Predictive entropy search [Hernandez-Lobato et al. 2015], expected improvement times the probability
        of feasibility, or chance.
    seed : int
    initial : int, optional
        Places of a Latin hypercube at the start; default 2 D + 1.
    settings : Settings, optional
        Not ``decoupled`` ones: all functions are observed together.

    Attributes
    ----------
    evaluations : list of Evaluation
        What was told, in order.

    Raises
    ------
    ValueError
        For bad bounds, numbers or rules.

    Examples
    --------
    >>> from tilted.bayesopt import Optimizer
    >>> search = Optimizer([(0, 1), (0, 1)], constraints=1, rule="improvement")
    >>> for _ in range(8):
    ...     x = search.ask()
    ...     search.tell(x, x[0] + x[1], [x[0] * x[1] - 0.1])
    >>> search.found().best.feasible
    True
    """

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]],
        constraints: int = 0,
        *,
        rule: str = "pesc",
        seed: int = 0,
        initial: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        require_whole("constraints", constraints, 0)
        self._settings = Settings() if settings is None else settings
        if not isinstance(self._settings, Settings):
            raise ValueError(f"settings must be a tilted.bayesopt.rules.Settings, got {settings!r}")
        if self._settings.decoupled:
            raise ValueError("functions are observed together here: settings must not be decoupled")
        self._header = loop.header(bounds, seed, 1 + constraints, rule, initial, self._settings)
        self.evaluations: list[Evaluation] = []

    @property
    def bounds(self) -> np.ndarray:
        """Lower and upper ends, [D, 2]."""
        return np.array(self._header["bounds"])

    def ask(self) -> np.ndarray:
        """The place [D] to evaluate next; the same until more is told.

        Raises
        ------
        ArithmeticError
            If the model of the functions lost its digits.
        """
        done, (low, high) = self.evaluations, self.bounds.T
        proposal = loop.propose(done, len(done), self._header, self._settings, len(low))
        return loop.in_box(proposal.place, low, high)

    def tell(self, x: ArrayLike, y: float, c: Sequence[float] | float = ()) -> None:
        """Add the values of the objective and of the constraints at ``x`` [D], asked for or not.

        A place beyond a bound by `BY_ROUNDING` of the width, as a text of it may be, is taken as on it.

        Raises
        ------
        ValueError
            For a place outside the box by more, another number of constraints, and values that are not finite
            or beyond 1e50.
        """
        place, (low, high) = as_floats(x, "x"), self.bounds.T
        slack = BY_ROUNDING * (high - low)
        if place.shape != low.shape or not np.all((place >= low - slack) & (place <= high + slack)):
            raise ValueError(f"x must be a place within {self.bounds.tolist()}, got {x!r}")
        place = np.clip(place, low, high)
        constraints = list(c) if np.ndim(c) else [c]  # type: ignore[arg-type]
        if len(constraints) + 1 != self._header["functions"]:
            raise ValueError(
                f"{self._header['functions'] - 1} constraints are needed, got {len(constraints)}"
            )
        names = ["the objective", *(f"constraint {k + 1}" for k in range(len(constraints)))]
        values = tuple(loop.number(v, name, place) for v, name in zip([y, *constraints], names, strict=True))
        self.evaluations.append(Evaluation(len(self.evaluations), tuple(place.tolist()), values))

    def found(self) -> Found:
        """The best evaluation, and the place the model recommends; ValueError before the first is told."""
        if not self.evaluations:
            raise ValueError("nothing was told yet")
        return loop.conclude(self.evaluations, self._header, self._settings, 0)
