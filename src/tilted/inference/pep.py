"""Power EP: divide a fraction of the site out, project, take the result to the power 1 / alpha.

[Bui et al. 2017, sections 3.3-3.5 and appendix F]. The new site is the full one,
tau = -d2 / (alpha (1 + v d2)); the paper's procedure F.4 moves only the fraction alpha towards it at a time,
with the same fixed points. alpha = 1 is EP; towards alpha = 0 it becomes VB, for which ``vb`` is exact.
"""

from __future__ import annotations

import numpy as np

from tilted.inference.ep import of_sites, tilted_rule
from tilted.inference.rule import Rule
from tilted.projections import kl


def power_rule(alpha) -> Rule:
    """The rule of Power EP for powers ``alpha`` in (0, 1], a float or an array [N].

    Raises
    ------
    ValueError
        For a power outside (0, 1].
    """
    if not np.all((np.asarray(alpha) > 0) & (np.asarray(alpha) <= 1)):
        raise ValueError("Power EP takes powers in (0, 1]; the limit 0 is VB")
    return tilted_rule(lambda likelihood, y, m, v: kl(likelihood, y, m, v, of_sites(alpha, y)), power=alpha)
