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


def test_unsound_evidence_is_not_chosen(toy):
    """Unconverged sites, or no number: -inf, however high the evidence."""
    X, y = toy
    sound = infer(Dense.build(SquaredExponential().matrix(X)), Probit(), y, EP)
    assert selection_score(sound) == sound.log_evidence
    unsettled = replace(sound, log_evidence=1e3, status=replace(sound.status, converged=False))
    assert selection_score(unsettled) == -np.inf


@pytest.mark.parametrize("evidence", [np.nan, np.inf])
def test_an_evidence_that_is_no_number_is_not_chosen(evidence, toy):
    X, y = toy
    sound = infer(Dense.build(SquaredExponential().matrix(X)), Probit(), y, EP)
    assert selection_score(replace(sound, log_evidence=evidence)) == -np.inf
