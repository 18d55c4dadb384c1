"""Sequential sweeps: as a schedule of their own, and where no parallel step is acceptable."""

from dataclasses import replace

import numpy as np
import pytest

from tilted.gaussian import Sites
from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.inference.ep import tilted_rule
from tilted.inference.options import Options
from tilted.kernels import SquaredExponential
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit
from tilted.posteriors.dense import Dense
from tilted.projections.moments import kl

SEQUENTIAL = Options(schedule="sequential")


@pytest.fixture
def two_lobes(counts):
    """Two-lobed tilted distributions at a small prior mean: parallel steps become improper."""
    X, y = counts
    return Dense.build(SquaredExponential(2.0, 1.3).matrix(X), 0.5), PoissonSquare(), y, RULES["ep"]


def test_falls_back_to_sequential_sweeps_and_says_so(two_lobes):
    found, direct = infer(*two_lobes), infer(*two_lobes, SEQUENTIAL)
    assert found.status.converged
    assert "went on sequentially" in found.status.message
    assert found.log_evidence == pytest.approx(direct.log_evidence, abs=1e-9)


def test_a_fallback_keeps_what_was_climbed(toy):
    """More sweeps never give a lower bound, not even where parallel ones are given up."""
    X, y = (part[:15] for part in toy)
    problem = Dense.build(SquaredExponential(1e3, 1.0).matrix(X)), Probit(), y, RULES["vb"]
    runs = [infer(*problem, Options(min_damping=1.0, max_sweeps=sweeps)) for sweeps in range(1, 9)]
    schedules = ["sequentially" in run.status.message for run in runs]
    assert not schedules[0] and schedules[-1]
    bounds = np.array([run.log_evidence for run in runs])
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))


def test_no_sequential_sweep_lowers_a_bound(toy):
    """Isolated points at a large prior variance, where the second whole step leads back to the prior."""
    X, y = toy
    posterior, rule = Dense.build(SquaredExponential(1e6, 1e-3).matrix(X)), RULES["vb"]
    runs = [
        infer(posterior, Probit(), y, rule, replace(SEQUENTIAL, max_sweeps=sweeps)) for sweeps in range(1, 7)
    ]
    bounds = np.array([run.log_evidence for run in runs])
    assert np.all(np.diff(bounds) >= -1e-9 * np.abs(bounds[1:]))
    assert runs[-1].status.damping < 1.0 and runs[-1].status.retries > 0


def test_steps_to_improper_posteriors_are_halved_and_reported(counts):
    """From sites far too strong; the same fixed point as from flat sites."""
    X, y = counts
    posterior = Dense.build(SquaredExponential(100.0, 0.2).matrix(X), 1.0)
    strong = Sites(np.full(len(y), 10.0), 10.0 * np.sqrt(y + 0.5))
    found = infer(posterior, PoissonSquare(), y, RULES["ep"], SEQUENTIAL, strong)
    flat = infer(posterior, PoissonSquare(), y, RULES["ep"], SEQUENTIAL)
    assert found.status.converged and flat.status.converged
    assert found.log_evidence == pytest.approx(flat.log_evidence, abs=1e-8)
    assert found.status.retries > 0 and found.status.damping <= 0.5
    assert flat.status.retries == 0 and flat.status.damping == 1.0


def test_a_site_without_a_number_is_not_folded_in():
    """A projection without a mean beyond a cavity mean of 0.1; the sweeps end before it."""

    def project(likelihood, y, m, v):
        exact = kl(likelihood, y, m, v)
        return replace(exact, d1=np.where(m > 0.1, np.nan, exact.d1))

    posterior = Dense.build(np.array([[1.0, 0.9], [0.9, 1.0]]))
    found = infer(posterior, Probit(), np.ones(2), tilted_rule(project), SEQUENTIAL)
    assert not found.status.converged and "is acceptable here" in found.status.message
    assert np.isfinite(found.log_evidence) and np.all(np.isfinite(found.sites.nu))


def test_sites_of_whole_numbers_are_not_cut_off():
    sites = Sites(np.array([0, 1]), np.array([0, 0])).replace(0, 0.5, -0.25)
    assert (sites.tau[0], sites.nu[0]) == (0.5, -0.25)
