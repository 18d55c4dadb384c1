"""Power EP: divide a fraction of the site out, project, take the result to the power 1 / alpha.

[Bui et al. 2017, sections 3.3-3.5 and appendix F]. The new site is the full one,
tau = -d2 / (alpha (1 + v_h d2)); the paper's procedure F.4 moves only the fraction alpha towards it at a
time, with the same fixed points. alpha = 1 is EP; towards alpha = 0 it becomes VB.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.ep import of_sites, tilted_rule
from tilted.inference.rule import Rule
from tilted.projections.moments import kl

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Projection

SMALLEST = 1e-6  # rounding in the evidence grows with 1 / alpha


def power_rule(alpha: float | np.ndarray) -> Rule:
    """The rule of Power EP for powers ``alpha``, a float or an array [N].

    Raises
    ------
    ValueError
        For a power outside [`SMALLEST`, 1].
    """
    powers = np.asarray(alpha, dtype=float)
    if not np.all((powers >= SMALLEST) & (powers <= 1)):
        raise ValueError(
            f"Power EP takes powers from {SMALLEST:g} to 1 (its evidence is divided by them); 0 is VB"
        )

    rule = tilted_rule(kl if np.all(powers == 1.0) else partial(_project, alpha), power=alpha)
    if powers.ndim == 0:
        return rule
    return replace(rule, single=partial(_of_one, powers), double=partial(_of_two, powers))


def _project(
    alpha: float | np.ndarray, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray
) -> Projection:
    return kl(likelihood, y, m, v, of_sites(alpha, y))


def _of_one(powers: np.ndarray, i: int) -> Rule:
    return power_rule(float(powers[i]))


def _of_two(powers: np.ndarray) -> Rule:
    return power_rule(np.tile(powers, 2))
