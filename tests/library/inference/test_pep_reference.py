"""Runs of two other implementations of Power EP, by iteration and in closed form, at equal settings.

`tests/reference/pep_reference.json`: a jitter of 1e-6 on Kuu's diagonal (theirs is absolute, ours a share of
its mean), and, for classification at powers below 1, log Z by so many Gauss-Hermite nodes of the cavity,
differentiated in the cavity's mean.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tilted.inference.engine import infer
from tilted.inference.options import Options
from tilted.inference.pep import power_rule
from tilted.kernels import SquaredExponential
from tilted.likelihoods.contract import Tilted
from tilted.likelihoods.gaussian import GaussianNoise
from tilted.likelihoods.probit import Probit, hazard
from tilted.numerics.quadrature import gauss_hermite
from tilted.posteriors.collapsed import Regression, condition, energy_and_gradient
from tilted.posteriors.sparse import Sparse

REFERENCE = json.loads((Path(__file__).parents[2] / "reference" / "pep_reference.json").read_text())
ITERATIVE = [r for r in REFERENCE["iterative"] if not r["error"]]
CLOSED = REFERENCE["closed_form"]
JITTER = 1e-6


@dataclass(frozen=True)
class ByNodes(Probit):
    """The probit with the moments of its powers as the reference takes them."""

    nodes: int = 20

    def tilted(self, y, m, v, power=1.0):
        if np.all(np.equal(power, 1.0)):
            return super().tilted(y, m, v)
        x, w = gauss_hermite(self.nodes)
        f = m[:, None] + np.sqrt(v)[:, None] * x
        u = y[:, None] * f
        share, r = power * np.ones((len(m), 1)), hazard(u)
        terms = w * np.exp(share * self.log_likelihood(y[:, None], f))
        z = terms.sum(axis=1)
        first, second = share * r, share * r * (share * r - u - r)
        d1 = y * (terms * first).sum(axis=1) / z
        d2 = (terms * second).sum(axis=1) / z - d1**2
        return Tilted(np.log(z), d1, d2, m + v * d1, v + v**2 * d2)


def coarse(record):
    """Whether five nodes stand for an integral."""
    return record["problem"] == "clf" and record["alpha"] < 1 and record["gh_deg"] == 5


def case(record):
    """Inputs, targets, kernel, pseudo-inputs, jitter as ours, test inputs and likelihood of a record."""
    given = REFERENCE["inputs"][record["problem"]]
    X, y, Xt = (np.array(given[name]) for name in ("X", "y", "Xt"))
    kernel = SquaredExponential(given["variance"], tuple(given["lengthscale"]))
    Z = np.array(given["Z"][str(record["M"])])
    likelihood = (
        GaussianNoise(given["noise"]) if given["lik"] == "gauss" else ByNodes(nodes=record.get("gh_deg", 5))
    )
    return X, y, kernel, Z, JITTER / kernel.variance, Xt, likelihood


@pytest.mark.parametrize(
    "record", ITERATIVE, ids=lambda r: f"{r['problem']}-{r['mode']}-{r['alpha']}-{r['gh_deg']}"
)
def test_the_engine_reaches_the_fixed_point_of_the_iterative_runs(record):
    X, y, kernel, Z, jitter, Xt, likelihood = case(record)
    posterior = Sparse.build(kernel, X, Z, jitter=jitter)
    found = infer(posterior, likelihood, y, power_rule(record["alpha"]), Options(tolerance=1e-10))
    assert found.status.converged
    assert found.log_evidence == pytest.approx(record["energy"], rel=1e-5)
    mean, variance = posterior.predict(found.state, Xt)
    np.testing.assert_allclose(mean, record["pred_mean"], atol=1e-5)
    np.testing.assert_allclose(variance, record["pred_var"], atol=1e-5)
    np.testing.assert_allclose(1.0 / found.sites.tau, record["site_variances"], rtol=1e-5)
    np.testing.assert_allclose(found.sites.nu / found.sites.tau, record["site_means"], rtol=1e-5)


@pytest.mark.parametrize(
    "record",
    [r for r in ITERATIVE if "grads" in r and not coarse(r)],
    ids=lambda r: f"{r['problem']}-{r['alpha']}-{r['gh_deg']}",
)
def test_gradients_at_the_fixed_point(record):
    """Theirs are in log lengthscale and half the log variance.

    Without the records of five nodes, whose log Z has a derivative in the variance that is not half that of
    its second derivative in the mean: their energy is not stationary in the sites.
    """
    X, y, kernel, Z, jitter, _, likelihood = case(record)
    posterior = Sparse.build(kernel, X, Z, jitter=jitter)
    found = infer(posterior, likelihood, y, power_rule(record["alpha"]), Options(tolerance=1e-10))
    by_parameters, by_Z = posterior.evidence_gradient(found.state, found.by_extra)
    np.testing.assert_allclose(by_Z, record["grads"]["zu"], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(
        by_parameters[0] * 2 * kernel.variance, record["grads"]["sf"], rtol=1e-5, atol=1e-4
    )
    np.testing.assert_allclose(
        by_parameters[1:] * kernel.lengthscale, record["grads"]["ls"], rtol=1e-5, atol=1e-4
    )


@pytest.mark.parametrize("record", CLOSED, ids=lambda r: f"{r['inference']}-{r['alpha']}")
def test_the_closed_form_is_theirs(record):
    X, y, kernel, Z, jitter, Xt, likelihood = case(record)
    problem = Regression(X, y, record["alpha"], jitter=jitter)
    state, gradient = energy_and_gradient(problem, kernel, Z, likelihood.noise)
    assert state.log_evidence == pytest.approx(record["log_marginal"], rel=1e-5)
    assert state.log_evidence == condition(problem, kernel, Z, likelihood.noise).log_evidence
    mean, variance = state.predict(Xt)
    np.testing.assert_allclose(mean, record["pred_mean"], atol=1e-5)
    np.testing.assert_allclose(variance, record["pred_var"], atol=1e-5)
    ours = np.concatenate([gradient.Z.ravel(), gradient.kernel, [gradient.noise]])
    np.testing.assert_allclose(ours, record["gradient"], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 1e-7, 1.1, np.nan, [0.5, 1e-7]])
def test_powers_by_which_an_evidence_cannot_be_divided_are_refused(alpha):
    with pytest.raises(ValueError, match="powers from 1e-06 to 1"):
        power_rule(alpha)
