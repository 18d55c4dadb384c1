"""What a user would pick instead, behind one interface: infer at fixed hyperparameters, or fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

VARIANCE = 1.0  # where every fit starts, with a lengthscale of sqrt(D)


@dataclass(frozen=True)
class Found:
    """What one run reached; counts a library does not report are None."""

    log_evidence: float
    sweeps: int | None = None
    evaluations: int | None = None
    converged: bool | None = None


class Ours:
    """Tilted with one method."""

    def __init__(self, method: str, projection=None):
        self.name, self.method, self.projection = f"tilted {method.upper()}", method, projection

    def _problem(self, X, y):
        from tilted.api import make_problem

        return make_problem(X, y, "probit", self.method, projection=self.projection)

    def infer(self, X, y) -> Found:
        from tilted.learning.dense import infer_at

        found = infer_at(self._problem(X, y), start_kernel(X))
        return Found(found.log_evidence, found.status.sweeps, 1, found.status.converged)

    def fit(self, X, y) -> Found:
        from tilted.learning.dense import maximise

        found = maximise(self._problem(X, y), start_kernel(X))
        status = found.status
        return Found(found.inference.log_evidence, status.sweeps, status.evaluations, status.converged)


class GpyEP:
    """GPy's EP, nested: to convergence at every evaluation."""

    name = "GPy EP"

    def _model(self, X, y):
        import GPy

        warnings.filterwarnings("ignore", module="GPy|paramz")
        from GPy.inference.latent_function_inference.expectation_propagation import EP

        return GPy.core.GP(
            X,
            (y[:, None] + 1) / 2,
            GPy.kern.RBF(X.shape[1], VARIANCE, np.sqrt(X.shape[1])),
            GPy.likelihoods.Bernoulli(),
            inference_method=EP(ep_mode="nested"),
        )

    def infer(self, X, y) -> Found:
        return Found(float(self._model(X, y).log_likelihood()))

    def fit(self, X, y) -> Found:
        model = self._model(X, y)
        model.optimize("lbfgsb", max_iters=1000)
        return Found(float(model.log_likelihood()), evaluations=int(model.optimization_runs[-1].funct_eval))


class GpyVB:
    """GPy's variational Gaussian approximation: its parameters and the kernel's in one search."""

    name = "GPy VB"
    infer = None  # it has no inference apart from the search

    def fit(self, X, y) -> Found:
        import GPy

        kernel = GPy.kern.RBF(X.shape[1], VARIANCE, np.sqrt(X.shape[1]))
        model = GPy.models.GPVariationalGaussianApproximation(
            X, (y[:, None] + 1) / 2, kernel, GPy.likelihoods.Bernoulli()
        )
        model.optimize("lbfgsb", max_iters=1000)
        run = model.optimization_runs[-1]
        met = "CONVERGENCE" in str(run.status).upper()
        return Found(float(model.log_likelihood()), evaluations=int(run.funct_eval), converged=met)


class SklearnLaplace:
    """scikit-learn's Laplace approximation; its link is logistic, so its evidence is another model's."""

    name = "scikit-learn Laplace"

    def _run(self, X, y, optimizer) -> Found:
        from sklearn.gaussian_process import GaussianProcessClassifier
        from sklearn.gaussian_process.kernels import RBF, ConstantKernel

        kernel = ConstantKernel(VARIANCE) * RBF(np.sqrt(X.shape[1]))
        model = GaussianProcessClassifier(kernel, optimizer=optimizer).fit(X, y)
        return Found(float(model.log_marginal_likelihood_value_))

    def infer(self, X, y) -> Found:
        return self._run(X, y, None)

    def fit(self, X, y) -> Found:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a parameter at its bound
            return self._run(X, y, "fmin_l_bfgs_b")


def start_kernel(X):
    """Return the kernel at which every inference is made and every fit starts."""
    from tilted.kernels import SquaredExponential

    return SquaredExponential(VARIANCE, float(np.sqrt(X.shape[1])))


def installed() -> list:
    """Return the peers that can be imported."""
    if find_spec("GPy"):
        return [SklearnLaplace(), GpyEP(), GpyVB()]
    print("GPy is not installed (pip install --only-binary :all: -e '.[bench]'): its rows are left out")
    return [SklearnLaplace()]
