"""A compact certified table of the probit's Wasserstein projection.

Stored is the ratio R = sigma_QP / sigma_EP [Zhang 2020, eq. 5 over eq. 3] of label +1; label -1 follows by
sigma(mu, s, -y) = sigma(-mu, s, y). With z = mu / sqrt(1 + s^2) the tilted f is (up to shift and scale)
s U + V, U a standard normal truncated at -z and V an independent standard normal. U's spread is about
p = (sqrt(z^2 + 4) - z) / 2 to the power -1 for z << 0 and one for z >> 0, so that in

    zeta = 1 / (1 + p),    t = log(s / p)

the ratio is smooth up to both ends: towards zeta = 0 U is an exponential, towards t = oo V vanishes, and
towards t = -oo and zeta = 1 the tilted distribution is Gaussian. Two Chebyshev patches cover
-1022 <= z <= 6.5, -4 <= t <= 11.1 (every s up to 1e4); R = 1 to 1e-11 at greater z or smaller t, and the
rest is integrated by quadrature. There is no fallback to EP.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.polynomial import chebyshev

from tilted import __version__
from tilted.likelihoods.probit import Probit
from tilted.projections.moments import Projection, wasserstein_sd, wasserstein_sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Sensitivity

FORMAT = 2
MAGIC = b"tilted: certified table of the probit's Wasserstein projection, format "
Z_MAX, T_MIN = 6.5, -4.0
ZETA_MIN = 1.0 / 1024.0
SEAM, SIGMA_MAX = 2.0, 1e4
NODES = ((56, 48), (56, 28))
BOX_LIMIT, PLANE_LIMIT = 1e-10, 1e-8  # largest relative errors of sigma that a table may have
BLOCK = 256  # points integrated at once: the quadrature holds about 10 kB a point


class TableError(ValueError):
    """A table file that cannot be trusted."""


@dataclass(frozen=True)
class Patch:
    """Chebyshev coefficients [n, m] on the rectangle from ``low`` to ``high`` in (zeta, t)."""

    low: tuple[float, float]
    high: tuple[float, float]
    coefficients: np.ndarray

    def __call__(self, zeta: np.ndarray, t: np.ndarray) -> np.ndarray:
        """Values [N] at points of the rectangle."""
        x, w = (
            (2.0 * a - (lo + hi)) / (hi - lo)
            for a, lo, hi in zip((zeta, t), self.low, self.high, strict=True)
        )
        n, m = self.coefficients.shape
        return np.einsum("kn,kn->n", _polynomials(x, n), self.coefficients @ _polynomials(w, m))


@dataclass(frozen=True)
class Origin:
    """The origin of a table.

    ``error_box`` and ``error_plane`` are the largest relative errors of sigma_QP found against quadrature
    at ``points`` random points in |mu| <= 10, 0.1 <= sigma <= 10 and in |mu| <= 1e3, 1e-3 <= sigma <= 1e3.
    """

    versions: dict[str, str] = field(default_factory=dict)
    points: int = 0
    error_box: float = np.nan
    error_plane: float = np.nan


@dataclass(frozen=True)
class RatioTable:
    """R of the probit as Chebyshev patches; hand it to ``tilted.fit(..., projection=table)``."""

    patches: tuple[Patch, ...]
    origin: Origin = Origin()

    @property
    def sensitivity(self) -> Callable[[Likelihood, np.ndarray, np.ndarray, np.ndarray], Sensitivity]:
        """Derivatives of the projection, by quadrature (needed at converged sites only)."""
        return wasserstein_sensitivity

    def ratio(self, mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
        """R [N] for label +1 and cavities N(mu, sigma^2), by quadrature where no patch covers them."""
        z, zeta, t = coordinates(mu, sigma)
        values = np.ones_like(z)
        outside = (z < Z_MAX) & (t > T_MIN)
        for patch in self.patches:
            inside = outside & (zeta >= patch.low[0]) & (t <= patch.high[1])
            if np.any(inside):
                values[inside] = patch(zeta[inside], t[inside])
                outside &= ~inside
        if np.any(outside):
            values[outside] = exact_ratio(mu[outside], sigma[outside])
        return values

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """The L2 Wasserstein projection [Zhang 2020, eq. 5]; y, m, v are arrays [N].

        Raises
        ------
        ValueError
            If the likelihood is not the probit.
        """
        if likelihood.name != "probit":
            raise ValueError(f"the lookup table is the probit's, not that of '{likelihood.name}'")
        t = likelihood.tilted(y, m, v)
        # at most one [Zhang 2020, theorem 2]: an excess is the table's error
        square = np.minimum(self.ratio(y * m, np.sqrt(v)), 1.0) ** 2
        return Projection(t.log_z, t.mean, t.variance * square, t.d1, t.d2 * square + (square - 1.0) / v)


def coordinates(mu: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """z, zeta and t (module docstring) of cavities N(mu, sigma^2), arrays [N]."""
    z = mu / np.hypot(1.0, sigma)
    q = 0.5 * (np.hypot(z, 2.0) + np.abs(z))
    p = np.where(z < 0, q, 1.0 / q)
    return z, 1.0 / (1.0 + p), np.log(sigma / p)


def exact_ratio(mu: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    """R [N] of label +1 by panel quadrature."""
    mu, sigma = np.asarray(mu, dtype=float), np.asarray(sigma, dtype=float)
    likelihood, values = Probit(), np.empty(len(mu))
    for first in range(0, len(mu), BLOCK):
        rows = slice(first, first + BLOCK)
        arguments = np.ones(len(mu[rows])), mu[rows], sigma[rows] ** 2
        sd_ep = np.sqrt(likelihood.tilted(*arguments).variance)
        values[rows] = wasserstein_sd(likelihood.tilted_density(*arguments)) / sd_ep
    return values


def build(points: int = 4000) -> RatioTable:
    """The table, from quadrature at Chebyshev nodes (about a second).

    Parameters
    ----------
    points : int
        Random points at which the error is measured, in the box and in the plane.

    Raises
    ------
    TableError
        If an error is above its limit.
    """
    _, (zeta_max,), (t_max,) = coordinates(Z_MAX * np.hypot(1.0, [SIGMA_MAX]), np.array([SIGMA_MAX]))
    ends = (T_MIN, SEAM, float(t_max))
    patches = tuple(
        _fit((ZETA_MIN, low), (float(zeta_max), high), nodes)
        for low, high, nodes in zip(ends[:-1], ends[1:], NODES, strict=True)
    )
    table = RatioTable(patches)
    versions = {"tilted": __version__, "numpy": np.__version__, "scipy": scipy.__version__}
    errors = [measured_error(table, *region, points) for region in ((10.0, 0.1, 10.0), (1e3, 1e-3, 1e3))]
    if not (errors[0] <= BOX_LIMIT and errors[1] <= PLANE_LIMIT):
        raise TableError(
            f"relative errors {errors[0]:.1e} in the box and {errors[1]:.1e} in the plane are too large"
        )
    return RatioTable(patches, Origin(versions, points, *errors))


def measured_error(
    table: RatioTable, mu_limit: float, sigma_low: float, sigma_high: float, points: int, seed: int = 0
) -> float:
    """Largest relative error of sigma_QP against quadrature at random points of a rectangle.

    sigma is log-uniform; mu is uniform for one half of the points, and z = mu / sqrt(1 + sigma^2) uniform
    in [-8, 8] as far as the rectangle allows for the other: there the fits are.
    """
    rng = np.random.default_rng(seed)
    sigma = np.exp(rng.uniform(np.log(sigma_low), np.log(sigma_high), points))
    mu = rng.uniform(-mu_limit, mu_limit, points)
    half = slice(0, points // 2)
    mu[half] = np.clip(rng.uniform(-8, 8, points // 2) * np.hypot(1.0, sigma[half]), -mu_limit, mu_limit)
    return float(np.max(np.abs(table.ratio(mu, sigma) / exact_ratio(mu, sigma) - 1.0)))


def encode(table: RatioTable) -> bytes:
    """The table as the content of a file, the same bytes every time.

    A line that names the format, a line with the sha256 of all that follows, a line of JSON that describes
    the table, and the coefficients of the patches one after the other: doubles, little-endian, row by row.
    """
    header = {
        "quantity": "sigma_QP / sigma_EP of the probit's label +1, Chebyshev coefficients in (zeta, t)",
        "coordinates": (
            "z = mu / sqrt(1 + sigma^2); p = (sqrt(z^2 + 4) - z) / 2; zeta = 1 / (1 + p); "
            f"t = log(sigma / p); 1 where z >= {Z_MAX:g} or t <= {T_MIN:g}"
        ),
        "patches": [
            {"low": patch.low, "high": patch.high, "shape": patch.coefficients.shape}
            for patch in table.patches
        ],
        "origin": asdict(table.origin),
    }
    body = json.dumps(header, sort_keys=True).encode() + b"\n"
    body += b"".join(patch.coefficients.astype("<f8").tobytes() for patch in table.patches)
    return b"%s%d\n%s\n%s" % (MAGIC, FORMAT, hashlib.sha256(body).hexdigest().encode(), body)


def read(path: str | Path) -> RatioTable:
    """The table in a file whose content :func:`encode` made.

    Raises
    ------
    TableError
        If the file cannot be read, is no such table or of another format, or not as it was written.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise TableError(f"{path} is no lookup table: {error}") from None
    first, _, after_header = content.partition(b"\n")
    if not first.startswith(MAGIC):
        raise TableError(f"{path} is no lookup table; delete it and run again")
    if first != b"%s%d" % (MAGIC, FORMAT):
        version = first.removeprefix(MAGIC).decode(errors="replace")
        raise TableError(f"{path} has format {version}, not {FORMAT}; delete it and run again")
    recorded, _, body = after_header.partition(b"\n")
    if recorded != hashlib.sha256(body).hexdigest().encode():
        raise TableError(f"{path} is damaged (content hash differs); delete it and run again")
    description, _, numbers = body.partition(b"\n")
    header = json.loads(description)
    coefficients = np.frombuffer(numbers, "<f8").astype(float)
    patches = []
    for patch in header["patches"]:
        size = int(np.prod(patch["shape"]))
        own, coefficients = coefficients[:size], coefficients[size:]
        patches.append(Patch(tuple(patch["low"]), tuple(patch["high"]), own.reshape(patch["shape"])))
    return RatioTable(tuple(patches), Origin(**header["origin"]))


def _fit(low: tuple[float, float], high: tuple[float, float], nodes: tuple[int, int]) -> Patch:
    """Chebyshev interpolant of the exact ratio on a rectangle."""
    n, m = nodes
    x, w = chebyshev.chebpts1(n), chebyshev.chebpts1(m)
    zeta = low[0] + 0.5 * (high[0] - low[0]) * (x + 1.0)
    t = low[1] + 0.5 * (high[1] - low[1]) * (w + 1.0)
    p = 1.0 / zeta - 1.0
    sigma = np.multiply.outer(p, np.exp(t))
    mu = (1.0 / p - p)[:, None] * np.hypot(1.0, sigma)
    values = exact_ratio(mu.ravel(), sigma.ravel()).reshape(n, m)
    # discrete orthogonality at the nodes: each sum over nodes is a coefficient
    by_zeta = _scaled(chebyshev.chebvander(x, n - 1)) @ values
    return Patch(low, high, by_zeta @ _scaled(chebyshev.chebvander(w, m - 1)).T)


def _scaled(vandermonde: np.ndarray) -> np.ndarray:
    """The transposed Vandermonde matrix [n, n] over the squared norms of its columns."""
    return (vandermonde / np.sum(vandermonde**2, axis=0)).T


def _polynomials(x: np.ndarray, n: int) -> np.ndarray:
    """T_0 ... T_{n-1} at x, [n, N], by doubling: T_{a+k} = 2 T_a T_k - T_{a-k}."""
    T = np.empty((n, len(x)))
    T[0], T[1] = 1.0, x
    a = 1
    while a < n - 1:
        k = min(a, n - 1 - a)
        T[a + 1 : a + k + 1] = 2.0 * T[a] * T[1 : k + 1] - T[a - k : a][::-1]
        a *= 2
    return T
