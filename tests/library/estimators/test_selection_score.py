"""The score by which one search of several is chosen."""

from dataclasses import replace

import numpy as np
import pytest

from tilted.estimators.models import selection_score
from tilted.inference.engine import infer
from tilted.inference.ep import EP
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense


@pytest.mark.parametrize("evidence", [1e3, np.nan, np.inf])
def test_unsound_evidence_is_not_chosen(evidence, toy):
    """Unconverged sites, or no number: -inf, however high the evidence."""
    X, y = toy
    sound = infer(Dense.build(SquaredExponential().matrix(X)), Probit(), y, EP)
    assert selection_score(sound) == sound.log_evidence
    settled = not np.isfinite(evidence)
    status = replace(sound.status, converged=settled)
    assert selection_score(replace(sound, log_evidence=evidence, status=status)) == -np.inf
