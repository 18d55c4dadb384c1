"""Sparse models of GPyTorch and GPflow as their documentation trains them, watched after every step.

GPyTorch: `ApproximateGP` with whitened q(u), full covariance, and Adam on batches of 1,024 rows in single
precision, its own default. GPflow, in double precision: SVGP, whitened, natural gradients of 0.1 for q(u) and
Adam for the rest on batches of 1,024; SVGP by L-BFGS-B on all rows (labels); SGPR by L-BFGS-B (reals). Each
is ``function(task, moved, trace, rate)``; `time_to_score` says where they start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from time_to_score import Task, Trace

BATCH, GAMMA, NOISE = 1024, 0.1, 0.1
RATES = (0.03, 0.1)  # of Adam
FOREVER = 10_000_000


def batches(n: int) -> Iterator[np.ndarray]:
    """Rows of `BATCH` or fewer, epoch after epoch, each in an order of its own, without its rest."""
    rng, size = np.random.default_rng(0), min(BATCH, n)
    while True:
        order = rng.permutation(n)
        yield from (order[first : first + size] for first in range(0, n - size + 1, size))


def alone(library: str) -> None:
    """One thread, before a library computes anything."""
    if library == "GPyTorch":
        import torch

        torch.set_num_threads(1)
    elif library == "GPflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)


def gpytorch_adam(task: Task, moved: bool, trace: Trace, rate: float) -> None:
    """Adam on all parameters."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    arrays = task.X, task.zero_or_one, task.Xs, task.Z
    X, y, Xs, Z = (torch.as_tensor(array, dtype=torch.float32) for array in arrays)

    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q, moved))
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            self.kernel.outputscale, self.kernel.base_kernel.lengthscale = 1.0, task.lengthscale

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model = Sparse()
    kinds = gpytorch.likelihoods
    likelihood = kinds.BernoulliLikelihood() if task.labels else kinds.GaussianLikelihood()
    if not task.labels:
        likelihood.noise = NOISE
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, len(y))
    optimiser = torch.optim.Adam(objective.parameters(), lr=rate)

    def predict() -> tuple[np.ndarray, np.ndarray]:
        objective.eval()
        with torch.no_grad():
            found = model(Xs) if task.labels else likelihood(model(Xs))
        objective.train()
        return found.mean.double().numpy(), found.variance.double().numpy()

    objective.train()
    for rows in batches(len(y)):
        optimiser.zero_grad()
        (-objective(model(X[rows]), y[rows])).backward()
        optimiser.step()
        trace.visit(predict)


def _gpflow_svgp(task: Task, moved: bool):
    import gpflow

    kernel = gpflow.kernels.SquaredExponential(variance=1.0, lengthscales=task.lengthscale)
    kinds = gpflow.likelihoods
    likelihood = kinds.Bernoulli() if task.labels else kinds.Gaussian(NOISE)
    model = gpflow.models.SVGP(kernel, likelihood, task.Z.copy(), num_data=len(task.y))
    gpflow.set_trainable(model.inducing_variable, moved)
    return model


def _of_gpflow(model, task: Task) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
    def predict() -> tuple[np.ndarray, np.ndarray]:
        found = model.predict_f(task.Xs) if task.labels else model.predict_y(task.Xs)
        mean, variance = (part.numpy()[:, 0] for part in found)
        return mean, variance

    return predict


def gpflow_natural(task: Task, moved: bool, trace: Trace, rate: float) -> None:
    """Natural gradients for q(u), Adam for kernel, noise and pseudo-inputs."""
    import gpflow
    import tensorflow as tf

    model, targets = _gpflow_svgp(task, moved), task.zero_or_one[:, None]
    for part in (model.q_mu, model.q_sqrt):
        gpflow.set_trainable(part, False)
    natural, adam = gpflow.optimizers.NaturalGradient(GAMMA), tf.optimizers.Adam(rate)
    others = model.trainable_variables
    adam.build(others)

    @tf.function
    def step(X, y):
        natural.minimize(lambda: model.training_loss((X, y)), [(model.q_mu, model.q_sqrt)])
        with tf.GradientTape() as tape:
            loss = model.training_loss((X, y))
        adam.apply_gradients(zip(tape.gradient(loss, others), others, strict=True))

    predict = _of_gpflow(model, task)
    for rows in batches(len(targets)):
        step(tf.constant(task.X[rows]), tf.constant(targets[rows]))
        trace.visit(predict)


def gpflow_lbfgs(task: Task, moved: bool, trace: Trace, rate: float) -> None:
    """L-BFGS-B on all rows: of labels q(u) with the rest, of reals the collapsed bound; no ``rate``."""
    import gpflow

    data = task.X, task.zero_or_one[:, None]
    if task.labels:
        model = _gpflow_svgp(task, moved)
        loss = model.training_loss_closure(data)
    else:
        kernel = gpflow.kernels.SquaredExponential(variance=1.0, lengthscales=task.lengthscale)
        model = gpflow.models.SGPR(data, kernel, task.Z.copy(), noise_variance=NOISE)
        gpflow.set_trainable(model.inducing_variable, moved)
        loss = model.training_loss_closure()
    predict = _of_gpflow(model, task)
    gpflow.optimizers.Scipy().minimize(
        loss,
        model.trainable_variables,
        step_callback=lambda *_: trace.visit(predict),
        options={"maxiter": FOREVER, "maxfun": FOREVER},
    )
    trace.end(predict)


def variants(library: str, labels: bool) -> dict[str, tuple[Callable[..., None], float]]:
    """Ways to train by name, each a function and its rate."""
    if library == "GPyTorch":
        return {f"SVGP, Adam {rate:g}": (gpytorch_adam, rate) for rate in RATES}
    found = {f"SVGP, natural gradients, Adam {rate:g}": (gpflow_natural, rate) for rate in RATES}
    return found | {f"{'SVGP' if labels else 'SGPR'}, L-BFGS-B": (gpflow_lbfgs, 0.0)}
