"""Corrections to EP: nearer to the exact posterior, from EP's fixed point.

The rooms, in reading order:

``expansion``
    EP's fixed point as corrections see it, and the latents that are asked for;
``evidence``
    the log evidence to second order in the cumulants that EP neglects;
``factors``
    cheap marginals: every datum corrects the marginal of a latent by itself;
``conditioned``, ``full``
    nearly exact marginals: EP conditioned on the latent, with the evidence's correction inside;
``learning``
    hyperparameters by that log evidence;
``densities``
    what marginals become: Gaussians times splines, their moments and predictions;
``sampled``
    no correction but the exact posterior itself, of the probit likelihood, by weighted draws;
``marginals``
    the grades with a figure of trust, and EP's Gaussian where a correction is not to be trusted.

``tilted.fit(...).corrected(X)`` and ``.corrected_evidence()`` are the front door.
"""

from tilted.corrections.evidence import Evidence, correct_evidence
from tilted.corrections.expansion import Expansion, Queries, expand, queries, queries_through
from tilted.corrections.marginals import GRADES, Corrected, CorrectionWarning, correct_marginals
from tilted.corrections.sampled import Sampled, require_sampled

__all__ = [
    "GRADES",
    "Corrected",
    "CorrectionWarning",
    "Evidence",
    "Expansion",
    "Queries",
    "Sampled",
    "correct_evidence",
    "correct_marginals",
    "expand",
    "queries",
    "queries_through",
    "require_sampled",
]
