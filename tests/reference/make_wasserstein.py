"""Writes wasserstein_values.json: sigma_QP in 60-digit arithmetic, independent of the package.

    python tests/reference/make_wasserstein.py

Both forms of [Zhang 2020, eqs 5, 8] are computed, the integral of phi(Phi^-1(F)) and E[f Phi^-1(F)], with F
by its own Gauss-Legendre rule up to every node; they have to agree to 25 digits. Takes some minutes.
"""

import json
import math
from pathlib import Path

from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre
from scipy.special import ndtri

mp.dps = 60
NODES = GaussLegendre(mp).calc_nodes(4, mp.prec)  # 24 nodes on [-1, 1]

# (mu, sigma): the box of the certified table with its corners, then the plane with its
BOX = [
    (-10, 0.1),
    (-10, 10),
    (10, 0.1),
    (10, 10),
    (0, 0.1),
    (0, 1),
    (0, 10),
    (-5, 0.7),
    (-2.5, 3),
    (3, 5),
    (-8.5, 1.5),
    (6, 2),
    (-9.9, 9.9),
    (1, 0.4),
    (2.2, 7.7),
    (-7, 4.5),
]
PLANE = [
    (-1000, 0.001),
    (1000, 0.001),
    (-1000, 1000),
    (1000, 1000),
    (0, 1000),
    (0, 0.001),
    (-1000, 30),
    (-1000, 5),
    (-1000, 1),
    (-1000, 10),
    (-1000, 300),
    (1000, 300),
    (500, 90),
    (40, 6),
    (-30, 0.5),
    (-200, 3),
    (-3, 200),
    (250, 700),
    (-4000, 900),
    (100, 3000),
    (-9000, 3000),
]
# (y, mu, sigma): counts of the coal series, unimodal, bimodal, and with hardly any mass in a lobe
COUNTS = [
    (0, 0, 1),
    (0, 2, 0.5),
    (1, 0, 1),
    (1, 0.01, 3),
    (1, 0.5, 0.3),
    (2, 1, 1),
    (3, 0.2, 2),
    (3, 3, 0.3),
    (4, 0.001, 0.5),
    (5, -1.5, 1.2),
    (6, 0.3, 10),
    (6, 2.4, 0.05),
    (7, 40, 3),
    (12, -0.8, 0.7),
    (10, 0.5, 1),
    (100, 8.9, 6.31),
    (1, 0, 1000),
    (2, 900, 200),
]


def probit(mu, s):
    """log density of label +1, panel ends."""
    v = s**2
    z = mu / mp.sqrt(1 + v)
    r = mp.npdf(z) / mp.ncdf(z)
    mean = mu + v * r / mp.sqrt(1 + v)
    sd = mp.sqrt(v - v**2 * r * (z + r) / (1 + v))
    ends = [mean + sd * k for k in [*range(-20, 10), *range(10, 120, 4)]]
    ends += [sign * mpf(2) ** k for sign in (-1, 1) for k in range(-2, 45)]
    inside = sorted({min(max(e, ends[0]), ends[56]) for e in ends} | {mpf(0)})
    inside = [e for e in inside if mean - 20 * sd <= e <= mean + 117 * sd]

    def log_density(f):
        return -((f - mu) ** 2) / (2 * v) + mp.log(mp.ncdf(f))

    return log_density, inside


def poisson(y, mu, s):
    """log density of count y with rate f^2, panel ends on both sides of zero."""
    v = s**2
    width = mp.sqrt(2 * v / (1 + 2 * v))
    b = mu / (1 + 2 * v)
    root = mp.sqrt(b**2 + 4 * width**2 * y)
    ends = {mpf(0)}
    for mode in ((b - root) / 2, (b + root) / 2):
        ends |= {mode + width * k / 2 for k in range(-28, 29)}
        ends |= {mode * mpf(2) ** -k for k in range(1, 60)}

    def log_density(f):
        return 2 * y * mp.log(abs(f)) - f**2 - (f - mu) ** 2 / (2 * v)

    return log_density, sorted(ends)


def normal_score(p):
    """Phi^-1(p) for 0 < p < 1 by Newton's method on log Phi."""
    sign, p = (-1, p) if p < 0.5 else (1, 1 - p)
    z = mpf(ndtri(float(p))) if p > mpf(10) ** -300 else -mp.sqrt(-2 * mp.log(p))
    for _ in range(60):
        Phi = mp.ncdf(z)
        step = (mp.log(Phi) - mp.log(p)) * Phi / mp.npdf(z)
        z -= step
        if abs(step) < mpf(10) ** -50 * (1 + abs(z)):
            return -sign * z
    raise ArithmeticError("Newton's method did not converge")


def sigma_qp(log_density, ends):
    """sigma_QP and sigma_EP; the two forms of sigma_QP must agree."""
    peak = max(log_density((a + b) / 2) for a, b in zip(ends[:-1], ends[1:], strict=True))

    def integral(g, a, b):
        half, centre = (b - a) / 2, (a + b) / 2
        return half * mp.fsum(w * g(centre + half * x) for x, w in NODES)

    def q(f):
        return mp.exp(log_density(f) - peak)

    panels = [(a, b) for a, b in zip(ends[:-1], ends[1:], strict=True) if b > a]
    masses = [integral(q, *panel) for panel in panels]
    Z = mp.fsum(masses)
    points = []
    for (a, b), before in zip(panels, [mp.fsum(masses[:i]) for i in range(len(panels))], strict=True):
        half, centre = (b - a) / 2, (a + b) / 2
        for x, w in NODES:
            f = centre + half * x
            p = (before + integral(q, a, f)) / Z
            points.append((f, half * w, q(f) / Z, p))
    mean = mp.fsum(w * d * f for f, w, d, _ in points)
    first = second = mpf(0)
    for f, w, d, p in points:
        if min(p, 1 - p) > mpf(10) ** -48:
            z = normal_score(p)
            first += w * mp.npdf(z)
            second += w * d * (f - mean) * z
    if abs(first / second - 1) > mpf(10) ** -25:
        raise ArithmeticError(f"the two forms differ by {mp.nstr(first / second - 1, 3)}")
    variance = mp.fsum(w * d * (f - mean) ** 2 for f, w, d, _ in points)
    return first, mp.sqrt(variance)


def exactly(number):
    """The double nearest to a decimal number, as the tests have it."""
    return mpf(float(number))


def main():
    found = {"probit_box": [], "probit_plane": [], "poisson": []}
    jobs = [("probit_box", None, *p) for p in BOX] + [("probit_plane", None, *p) for p in PLANE]
    for kind, y, mu, sigma in jobs + [("poisson", *c) for c in COUNTS]:
        model = probit if y is None else lambda m, s, y=y: poisson(y, m, s)
        sd, sd_ep = sigma_qp(*model(exactly(mu), exactly(sigma)))
        row = {"y": 1 if y is None else y, "mu": float(mu), "sigma": float(sigma)}
        found[kind].append({**row, "sd_QP": mp.nstr(sd, 30), "sd_EP": mp.nstr(sd_ep, 30)})
        assert not math.isnan(float(sd))
        print(found[kind][-1], flush=True)
    target = Path(__file__).with_name("wasserstein_values.json")
    target.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
