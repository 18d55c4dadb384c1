"""Corrections of sparse models: those of EP's fixed point in the model with their pseudo-points.

There f at the data is h + e, a function of the pseudo-points and independent remainders of the extra
variances. Corrections lead from EP's Gaussian to the exact posterior of this model, whatever the power of the
fit; what the pseudo-points leave out (covariances among the remainders) stays out.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from tilted import corrections
from tilted.corrections.evidence import correction_gradient
from tilted.corrections.marginals import NEARLY_EXACT
from tilted.learning.starts import noted
from tilted.posteriors.dense import Dense
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from tilted.gaussian import Sites
    from tilted.inference.result import Status
    from tilted.kernels.contract import Kernel
    from tilted.learning.sparse import Problem

MOST = 1000  # rows whose dense posterior is made


def require_few(correction: str | None, rows: int) -> None:
    """ValueError for nearly exact marginals of more than `MOST` rows."""
    if correction == NEARLY_EXACT and rows > MOST:
        what = "takes time and memory of a dense posterior"
        raise ValueError(
            f"correction='nearly-exact' {what}: at most {MOST} rows ('cheap' takes any), got {rows}"
        )


def expand(
    problem: Problem, kernel: Kernel, Z: np.ndarray, start: Sites | None = None
) -> corrections.Expansion:
    """EP's fixed point through pseudo-inputs ``Z`` [M, D]."""
    prior = Sparse.build(kernel, problem.X, Z, problem.mean, problem.jitter)
    return corrections.expand(prior, problem.likelihood, problem.y, start, problem.options)


def corrected(
    problem: Problem, kernel: Kernel, Z: np.ndarray, start: Sites, X: np.ndarray, grade: str
) -> corrections.Corrected:
    """Corrected posterior at ``X`` [N*, D], with a CorrectionWarning where its answers are EP's.

    Nearly exact marginals are made from the dense posterior with the pseudo-points' prior.
    """
    base = expand(problem, kernel, Z, start)
    asked = corrections.queries_through(base, X)
    if grade == NEARLY_EXACT:
        prior, parts = base.prior, list(asked)
        assert isinstance(prior, Sparse)
        among = Dense.build(prior.V.T @ prior.V + np.diag(prior.extra), prior.mean)
        dense = corrections.expand(among, problem.likelihood, problem.y, None, problem.options)
        asked = (corrections.queries(dense, *part[:3]) for part in parts)
        base = dense
    found = corrections.correct_marginals(base, asked, grade)
    if not np.all(found.trusted):
        warnings.warn(found.message, corrections.CorrectionWarning, stacklevel=5)
    return found


def evidence(
    problem: Problem, kernel: Kernel, Z: np.ndarray, gradient: bool
) -> tuple[float, np.ndarray | None, Status]:
    """EP's log evidence to second order where that is to be trusted, its gradient [P] in the parameters."""
    base = expand(problem, kernel, Z)
    found, inference, prior = corrections.correct_evidence(base), base.inference, base.prior
    status = noted(inference.status, found.message)
    if not gradient:
        return found.value, None, status
    assert isinstance(prior, Sparse)
    slope = prior.evidence_gradient(inference.state, inference.by_extra)[0]
    if found.trusted:
        slope = slope + correction_gradient(lambda other: expand(problem, other, Z, inference.sites), kernel)
    return found.value, slope, status
