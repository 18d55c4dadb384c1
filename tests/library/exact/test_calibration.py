"""Simulation-based calibration of the sampler [Talts et al. 2018] on made-up data.

Latents are drawn from the prior, labels from the likelihood: among draws of the posterior the true latents
have every rank equally often. Chains end in independent draws, so their ends are ranked, and none thinned.
"""

import numpy as np
import pytest
from scipy.stats import chisquare

from tilted.exact.chains import Length, sample
from tilted.exact.target import Reference, Target
from tilted.inference import RULES
from tilted.kernels import SquaredExponential
from tilted.learning.dense import Problem, infer_at
from tilted.likelihoods.poisson import PoissonSquare
from tilted.likelihoods.probit import Probit

pytestmark = pytest.mark.slow
SETS, BINS = 400, 8
LENGTH = Length(chains=31, warmup=25, iterations=4)
X = np.linspace(0.0, 4.0, 8)[:, None]
KINDS = {
    "probit": (
        Probit(),
        0.0,
        SquaredExponential(9.0, 1.0),
        lambda rng, f: np.where(f > rng.normal(size=8), 1.0, -1.0),
    ),
    "poisson-square": (
        PoissonSquare(),
        2.0,
        SquaredExponential(0.5, 1.0),
        lambda rng, f: rng.poisson(f**2) * 1.0,
    ),
}


def ranks(kind, origin, believed=1.0):
    """Of the first latent, of a sum of all with signs, and of the log likelihood, one set a row [S, 3].

    The sampler believes in a prior variance ``believed`` times that of the draws.
    """
    likelihood, mean, kernel, labels = KINDS[kind]
    rng = np.random.default_rng(11)
    root = np.linalg.cholesky(kernel.matrix(X) + 1e-9 * np.eye(len(X)))
    signs = np.where(np.arange(len(X)) % 3 == 0, 1.0, -1.0)
    found = []
    for _ in range(SETS):
        y = np.zeros(1)
        while len(np.unique(y)) == 1:  # labels of one class are refused; a posterior does not depend on that
            f = mean + root @ rng.normal(size=len(X))
            y = labels(rng, f)
        target = Target.build(SquaredExponential(believed * kernel.variance, 1.0), X, y, likelihood, mean)
        sites = None
        if origin == "ep":
            sites = infer_at(Problem(X, y, likelihood, RULES["ep"], mean), target.kernel).sites
        ends = sample(Reference.build(target, sites), rng, LENGTH).ends
        every = np.column_stack([f, ends])
        quantities = every[0], signs @ every, target.log_likelihoods(every).sum(axis=0)
        found.append([np.sum(q[1:] < q[0]) for q in quantities])
    return np.array(found)


def p_values(found):
    """Of equal frequencies of ranks 0 to C, in bins, a quantity."""
    bins = found * BINS // (LENGTH.chains + 1)
    return [chisquare(np.bincount(column, minlength=BINS)).pvalue for column in bins.T]


@pytest.mark.parametrize("origin", ["prior", "ep"])
@pytest.mark.parametrize("kind", KINDS)
def test_true_latents_have_every_rank_equally_often(kind, origin):
    assert min(p_values(ranks(kind, origin))) > 0.002


def test_a_sampler_of_another_posterior_is_noticed():
    assert min(p_values(ranks("probit", "prior", believed=2.0))) < 1e-4
