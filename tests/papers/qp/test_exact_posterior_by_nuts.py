"""The committed ground truth of two rows against a sampler of somebody else's: NumPyro's NUTS.

Needs ``pip install numpyro`` (extra ``nuts``, in no lock) and is left out without it. Elliptical slices
around the sites of EP and Hamiltonian dynamics of whitened latents share nothing but the model.
"""

import numpy as np
import pytest

from papers import data
from papers.core import records
from papers.core.runs import CHECKOUT
from papers.qp import fits
from papers.qp.accuracy.records import TRUTH, TRUTH_LATENTS

numpyro = pytest.importorskip("numpyro")
pytestmark = pytest.mark.slow
CHAINS, WARMUP, DRAWS = 4, 1500, 5000


def nuts(X, y, Xs, kernel, prior_mean, log_likelihood):
    """Draws of the latents at ``Xs`` given those at ``X`` [C, T, N*] under p(f) prod_i p(y_i | f_i)."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    every = np.vstack([X, Xs])
    K = kernel.matrix(every)
    root = jnp.asarray(np.linalg.cholesky(K + 1e-10 * kernel.variance * np.eye(len(K))))
    n = len(X)

    def energy(white):
        f = prior_mean + root[:n, :n] @ white
        return 0.5 * white @ white - jnp.sum(log_likelihood(jnp.asarray(y), f))

    run = MCMC(
        NUTS(potential_fn=energy, target_accept_prob=0.9),
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    rng = np.random.default_rng(3)
    run.run(jax.random.PRNGKey(3), init_params=jnp.asarray(0.1 * rng.normal(size=(CHAINS, n))))
    white = np.asarray(run.get_samples(group_by_chain=True))
    mean = prior_mean + white @ np.asarray(root[n:, :n]).T
    return mean, np.sum(np.asarray(root[n:, n:]) ** 2, axis=1)


def log_likelihoods(name):
    """Of JAX arrays, written independently of the package."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln, log_ndtr

    if name == "coal":
        return lambda y, f: y * jnp.log(f**2) - f**2 - gammaln(y + 1)
    return lambda y, f: log_ndtr(y * f)


@pytest.mark.parametrize("name", ["wine13", "coal"])
def test_means_and_variances_agree_within_both_samplers_errors(name):
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    split = records.load(TRUTH, CHECKOUT / "results").query("dataset == @name").iloc[0]
    latents = records.load(TRUTH_LATENTS, CHECKOUT / "results").query("dataset == @name and part == 'test'")
    exact = latents[(latents["seed"] == split["seed"]) & (latents["fold"] == split["fold"])]
    cell = fits.cell_of(data.load(name), "as-released", "ep", 0, 0)
    points, kernel = cell.points, fits.kernel_at(split)
    mean, extra = nuts(
        points.X_train, points.y_train, points.X_test, kernel, cell.block["mean"], log_likelihoods(name)
    )
    sizes = effective_sample_size(mean)
    assert split_gelman_rubin(mean).max() < 1.02 and sizes.min() > 300
    variance = mean.var(axis=(0, 1)) + extra
    errors = np.sqrt(mean.var(axis=(0, 1)) / sizes)
    far = (mean.mean(axis=(0, 1)) - exact["mean"]) / np.hypot(errors, exact["se_mean"])
    squares = (mean - mean.mean(axis=(0, 1))) ** 2
    spread = np.sqrt(squares.var(axis=(0, 1)) / effective_sample_size(squares))
    wide = (variance - exact["variance"]) / np.hypot(spread, exact["se_variance"])
    assert np.abs(far).max() < 4.0 and np.abs(wide).max() < 4.0, (far, wide)
