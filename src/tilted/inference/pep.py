"""Power EP: divide a fraction of the site out, project, take the result to the power 1 / alpha.

[Bui et al. 2017, sections 3.3-3.5 and appendix F]. The new site is the full one,
tau = -d2 / (alpha (1 + v_h d2)); the paper's procedure F.4 moves only the fraction alpha towards it at a
time, with the same fixed points. alpha = 1 is EP; towards alpha = 0 it becomes VB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilted.inference.ep import tilted_rule
from tilted.projections.moments import kl

if TYPE_CHECKING:
    from tilted.inference.rule import Rule

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
    return tilted_rule(kl, share=alpha, power=alpha)
