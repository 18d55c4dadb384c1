"""The exact posterior where it can be had: a Markov process observed at N points, by nested quadrature.

With the covariance variance * exp(-|x - x'| / lengthscale) and sorted inputs the latents are a Markov chain,
so that evidence and marginals are N matrix products on a grid, whatever the likelihood: Gauss-Legendre in
panels that end at zero. Nothing of the package's corrections is used.
"""

from dataclasses import dataclass

import numpy as np

from tilted.corrections import correct_evidence, correct_marginals, expand, queries
from tilted.posteriors.dense import Dense

PANELS, NODES, REACH = 40, 16, 9.0


@dataclass(frozen=True)
class Chain:
    """Inputs x [N] in order, observations y [N], likelihood and prior."""

    x: np.ndarray
    y: np.ndarray
    likelihood: object
    variance: float = 1.0
    lengthscale: float = 1.0
    mean: float = 0.0

    def covariance(self, x, z):
        return self.variance * np.exp(-np.abs(np.subtract.outer(x, z)) / self.lengthscale)

    def base(self, **options):
        prior = Dense.build(self.covariance(self.x, self.x), self.mean)
        return expand(prior, self.likelihood, self.y, **options)

    def asked(self, base, x):
        return queries(base, self.covariance(x, self.x), self.mean, self.variance)

    def corrected(self, x, grade):
        base = self.base()
        return correct_marginals(base, self.asked(base, np.asarray(x)), grade)

    def evidence(self):
        return correct_evidence(self.base())

    def exact(self, x=()):
        """log evidence, and for each of the points ``x`` its grid, density and weights."""
        x = np.asarray(x, dtype=float)
        at = np.concatenate([self.x, x])
        order = np.argsort(at, kind="stable")
        f, w = grid(self.mean, np.sqrt(self.variance))
        with np.errstate(divide="ignore"):
            logs = [self.likelihood.log_likelihood(np.full_like(f, y), f) for y in self.y]
        factors = [np.exp(log_p) for log_p in logs] + [np.ones_like(f)] * len(x)
        prior = np.exp(-0.5 * (f - self.mean) ** 2 / self.variance) / np.sqrt(2 * np.pi * self.variance)
        steps = [self._step(f, at[b] - at[a]) for a, b in zip(order, order[1:], strict=False)]
        forward, backward = [prior], [np.ones_like(f)]
        for k, i in enumerate(order[:-1]):
            forward.append(steps[k](w * factors[i] * forward[-1]))
        for k, i in reversed(list(enumerate(order[1:]))):
            backward.append(steps[k](w * factors[i] * backward[-1], True))
        backward = backward[::-1]
        Z = np.sum(w * forward[-1] * factors[order[-1]])
        places = {i: k for k, i in enumerate(order)}
        densities = []
        for j in range(len(x)):
            k = places[len(self.x) + j]
            densities.append(forward[k] * backward[k] / Z)
        return np.log(Z), f, w, densities

    def _step(self, f, distance):
        rate = np.exp(-distance / self.lengthscale)
        left = self.variance * (1.0 - rate**2)
        if left < 1e-12 * self.variance:  # one and the same point
            return lambda g, backward=False: g / grid(self.mean, np.sqrt(self.variance))[1]
        ahead = self.mean + rate * (f - self.mean)
        T = np.exp(-0.5 * np.subtract.outer(f, ahead) ** 2 / left) / np.sqrt(2 * np.pi * left)
        return lambda g, backward=False: (T.T if backward else T) @ g

    def moments(self, x):
        """Exact mean, variance and skewness of the latents at ``x``."""
        _, f, w, densities = self.exact(x)
        found = []
        for density in densities:
            p = w * density
            mean = p @ f
            variance = p @ (f - mean) ** 2
            found.append((mean, variance, p @ (f - mean) ** 3 / variance**1.5))
        return np.array(found).T

    def log_predictive(self, x, y):
        _, f, w, densities = self.exact(x)
        with np.errstate(divide="ignore"):
            p = [np.exp(self.likelihood.log_likelihood(np.full_like(f, one), f)) for one in y]
        return np.log([(w * density) @ one for density, one in zip(densities, p, strict=True)])


def grid(mean, sd):
    """Nodes and weights from -REACH to REACH sd, panels ending at zero."""
    ends = np.linspace(mean - REACH * sd, mean + REACH * sd, PANELS + 1)
    ends = np.unique(np.append(ends, 0.0).round(12))
    t, w = np.polynomial.legendre.leggauss(NODES)
    half, centre = 0.5 * np.diff(ends), 0.5 * (ends[1:] + ends[:-1])
    return (centre[:, None] + half[:, None] * t).ravel(), (half[:, None] * w).ravel()
