"""Functions that tests of several folders share."""

from contextlib import contextmanager

import mpmath
import numpy as np
import yaml


def columns(rows, *names):
    """Columns of reference values, as numbers."""
    return [np.array([float(row[name]) for row in rows]) for name in names]


def differences(function, at, h=1e-5):
    """Derivatives of a function in each entry of ``at``, by central differences; those of a vector last."""
    steps = h * np.eye(at.size).reshape(at.size, *at.shape)
    slopes = np.array([(function(at + s) - function(at - s)) / (2 * h) for s in steps])
    return slopes.reshape(at.shape) if slopes.ndim == 1 else slopes.T


def moments_by_mpmath(log_density, mode, width, reach=20):
    """Log integral, mean and variance of exp(log_density) by quadrature about its mode, as floats."""

    def integral(of):
        ends = [mode + k * width for k in range(-reach, reach + 1, 4)]
        return mpmath.quad(lambda f: of(f) * mpmath.exp(log_density(f) - log_density(mode)), ends)

    z = integral(lambda f: 1)
    mean = integral(lambda f: f) / z
    variance = integral(lambda f: (f - mean) ** 2) / z
    return [float(x) for x in (mpmath.log(z) + log_density(mode), mean, variance)]


def poisson_by_mpmath(y, m, v, start):
    """Log Z, mean and variance of N(f; m, v) Poisson(y; e^f) at 50 digits; the mode is near ``start``."""
    with mpmath.workdps(50):
        y, m, v, start = (mpmath.mpf(float(x)) for x in (y, m, v, start))
        mode = mpmath.findroot(lambda f: (m - f) / v + y - mpmath.exp(f), start)
        constant = -mpmath.log(2 * mpmath.pi * v) / 2 - mpmath.loggamma(y + 1)
        width = 1 / mpmath.sqrt(1 / v + mpmath.exp(mode))
        return moments_by_mpmath(
            lambda f: -((f - m) ** 2) / (2 * v) + y * f - mpmath.exp(f) + constant, mode, width
        )


@contextmanager
def editing(home):
    """The registry of a data folder, to be changed; it is written when that is done."""
    path = home / "sources.yaml"
    registry = yaml.safe_load(path.read_text(encoding="utf-8"))
    yield registry
    path.write_text(yaml.safe_dump(registry), encoding="utf-8")
