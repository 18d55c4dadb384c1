"""GPflow and GPyTorch as their documentation uses them: variational Bayes for labels, exact for reals.

Kernels start where the libraries start them. For labels q(f) of all N points, full covariance, is searched
together with the kernel: by GPflow with SciPy's L-BFGS-B to its own tolerance; by GPyTorch, which leaves the
loop to its user, with Adam in double precision. Its tutorials take 50 steps, which are too few here.
"""

from __future__ import annotations

import numpy as np

STEPS, RATE = 500, 0.1  # of Adam
Moments = tuple[np.ndarray, np.ndarray]


def gpflow_probability(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> np.ndarray:
    """Probabilities [N*] of 1 at ``Xs``, learned from ``t`` [N] of 0 and 1 at ``X``."""
    import gpflow

    kernel, likelihood = gpflow.kernels.SquaredExponential(), gpflow.likelihoods.Bernoulli()
    model = gpflow.models.VGP((X, t[:, None]), kernel=kernel, likelihood=likelihood)
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables)
    return model.predict_y(Xs)[0].numpy()[:, 0]


def gpflow_moments(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> Moments:
    """Mean and variance [N*] of new targets, learned from ``t`` [N], which are normalised."""
    import gpflow

    model = gpflow.models.GPR((X, t[:, None]), kernel=gpflow.kernels.SquaredExponential())
    gpflow.optimizers.Scipy().minimize(model.training_loss, model.trainable_variables)
    mean, variance = (part.numpy()[:, 0] for part in model.predict_y(Xs))
    return mean, variance


def _prior():
    """Constant mean and scaled squared exponential: what a model's ``forward`` says of inputs."""
    import gpytorch

    mean, kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    return mean, kernel, lambda x: gpytorch.distributions.MultivariateNormal(mean(x), kernel(x))


def _climb(objective, X, t) -> None:
    """Maximise by Adam; then the objective's model and likelihood are ready to predict."""
    import torch

    optimiser = torch.optim.Adam(objective.parameters(), lr=RATE)
    for _ in range(STEPS):
        optimiser.zero_grad()
        (-objective(objective.model(X), t)).backward()
        optimiser.step()
    objective.eval()


def gpytorch_probability(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> np.ndarray:
    """As `gpflow_probability`; the inducing points are the inputs."""
    import gpytorch
    import torch

    torch.manual_seed(0)
    X, t, Xs = (torch.as_tensor(part) for part in (X, t, Xs))

    class Variational(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = gpytorch.variational.CholeskyVariationalDistribution(len(X))
            super().__init__(gpytorch.variational.VariationalStrategy(self, X, q, False))
            self.mean, self.kernel, self.forward = _prior()

    model, likelihood = Variational().double(), gpytorch.likelihoods.BernoulliLikelihood()
    _climb(gpytorch.mlls.VariationalELBO(likelihood, model, len(t)), X, t)
    with torch.no_grad():
        return likelihood(model(Xs)).mean.numpy()


def gpytorch_moments(X: np.ndarray, t: np.ndarray, Xs: np.ndarray) -> Moments:
    """As `gpflow_moments`."""
    import gpytorch
    import torch

    X, t, Xs = (torch.as_tensor(part) for part in (X, t, Xs))
    likelihood = gpytorch.likelihoods.GaussianLikelihood()

    class Exact(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(X, t, likelihood)
            self.mean, self.kernel, self.forward = _prior()

    model = Exact().double()
    _climb(gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), X, t)
    with torch.no_grad():
        found = likelihood(model(Xs))
    return found.mean.numpy(), found.variance.numpy()
