"""The search over hyperparameters where sites or evidence misbehave."""

from dataclasses import replace

import numpy as np
import pytest

from tilted import data, hyperparameters
from tilted.hyperparameters import Problem, Search, evidence_and_gradient, infer_at, maximise
from tilted.inference.engine import Options
from tilted.kernels import SquaredExponential
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit


def counts(seed):
    """Mining, thinned: years as they are, standardised."""
    part = data.split(data.load("coal", "corrected"), "thinned-events", seed, standardise=True)
    return Problem(part.X_train, part.y_train, PoissonSquare(), "ep", 1.0, Options())


LOG = Search("log", relative_tolerance=1e-10, gradient_tolerance=1e-6)


@pytest.mark.parametrize("seed, evidence", [(0, -118.797), (5, -133.591)])
def test_sites_that_lead_nowhere_are_dropped(seed, evidence):
    """Warm sites are improper at one point of each search; the first sites are not."""
    found = maximise(counts(seed), SquaredExponential(), LOG)
    assert found.status.converged and "1 evaluations started again" in found.status.message
    assert found.inference.log_evidence == pytest.approx(evidence, abs=1e-3)


def test_the_better_of_two_fixed_points_is_kept():
    problem = counts(1)
    found = maximise(problem, SquaredExponential(), LOG)
    assert "another fixed point" in found.status.message
    cold = infer_at(problem, found.kernel)
    assert found.inference.log_evidence == pytest.approx(cold.log_evidence, abs=1e-9)


def test_an_evidence_of_minus_infinity_is_a_wall(toy, monkeypatch):
    """The search comes back from beyond it and ends before it, near the best value there."""
    problem, met = Problem(*toy, Probit(), "ep"), []
    free = maximise(problem, SquaredExponential())
    limit = 0.5 * free.kernel.variance

    def walled(problem, kernel, start=None, gradient="exact"):
        found, slope = evidence_and_gradient(problem, kernel, start, gradient)
        if kernel.variance > limit:
            met.append(kernel)
            return replace(found, log_evidence=-np.inf), slope
        return found, slope

    monkeypatch.setattr(hyperparameters, "evidence_and_gradient", walled)
    found = maximise(problem, SquaredExponential(0.1 * limit, free.kernel.lengthscale))
    assert met and 0.5 * limit < found.kernel.variance <= limit
    assert np.isfinite(found.inference.log_evidence)
