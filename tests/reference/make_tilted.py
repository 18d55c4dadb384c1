"""Writes tilted_values.json: moments of N(f; m, v) p(y|f)^power in 40 digits, independent of the package.

    python tests/reference/make_tilted.py

Gauss-Legendre rules of 24 nodes in pieces whose lengths double away from the mode of the tilted density, from
the cavity's mean and from the place where the likelihood bends. Also E log p under N(m, v), its first two
derivatives in m being those in m and twice that in v. Takes a minute.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
from mpmath import mp, mpf
from mpmath.calculus.quadrature import GaussLegendre

mp.dps = 40
NODES = GaussLegendre(mp).calc_nodes(4, mp.prec)
REALS, COUNTS = (0.0, 2.0, 30.0), (0.0, 3.0, 2000.0)
# name, parameters, targets
CASES = [
    ("student-t", (0.4, 3.0), REALS),
    ("laplace", (0.4,), REALS),
    ("poisson-exp", (), COUNTS),
    ("negative-binomial", (0.7,), COUNTS),
    ("negative-binomial", (1e-3,), (0.0, 300.0)),
    ("ordinal", ((-1.0, 0.5, 0.501, 9.0),), (0.0, 1.0, 2.0, 3.0, 4.0)),
]


def log_p(name, parameters, y, f):
    """log p(y|f)."""
    if name == "ordinal":
        b = [-mp.inf, *map(mpf, parameters[0]), mp.inf]
        low, high = b[int(y)] - f, b[int(y) + 1] - f
        low, high = (-high, -low) if low + high > 0 else (low, high)
        return mp.log(mp.erfc(-high / mp.sqrt(2)) / 2 - mp.erfc(-low / mp.sqrt(2)) / 2)
    y, parameters = mpf(y), [mpf(p) for p in parameters]
    if name == "laplace":
        return -abs(y - f) / parameters[0] - mp.log(2 * parameters[0])
    if name == "student-t":
        s, n = parameters
        constant = mp.loggamma((n + 1) / 2) - mp.loggamma(n / 2) - mp.log(mp.pi * n) / 2 - mp.log(s)
        return constant - (n + 1) / 2 * mp.log(1 + ((y - f) / s) ** 2 / n)
    if name == "poisson-exp":
        return y * f - mp.exp(f) - mp.loggamma(y + 1)
    r = 1 / parameters[0]
    constant = mp.loggamma(y + r) - mp.loggamma(r) - mp.loggamma(y + 1) + r * mp.log(r)
    return constant + y * f - (y + r) * mp.log(r + mp.exp(f))


def pieces_about(*centres):
    """Ends of pieces, doubling in length away from pairs (centre, length)."""
    ends = {mpf(c) for c, _ in centres}
    for c, length in centres:
        ends |= {mpf(c) + sign * mpf(length) * mpf(2) ** k for sign in (-1, 1) for k in range(-3, 5)}
    return sorted(ends)


def integrals(log_density, ends, functions):
    """Log of the integral of exp(log_density), and expectations of functions under it."""
    points = []
    for a, b in zip(ends, ends[1:], strict=False):
        half, middle = (b - a) / 2, (a + b) / 2
        points += [(middle + half * x, half * w) for x, w in NODES]
    logs = [log_density(f) for f, _ in points]
    peak = max(logs)
    weights = [w * mp.exp(log - peak) for (_, w), log in zip(points, logs, strict=True)]
    total = mp.fsum(weights)
    means = [mp.fsum(w * g(f) for (f, _), w in zip(points, weights, strict=True)) / total for g in functions]
    return peak + mp.log(total), means


def row(name, parameters, y, m, sd, power):
    """One case, as floats."""
    m, v = mpf(m), mpf(sd) ** 2
    bends = [(np.log(max(y, 1.0)), 1.0) if name in ("poisson-exp", "negative-binomial") else (y, 0.4)]
    if name == "ordinal":
        ends = parameters[0]
        bends = [(ends[max(int(y) - 1, 0)], 1.0), (ends[min(int(y), len(ends) - 1)], 1.0)]

    def log_gauss(f):
        return -((f - m) ** 2) / (2 * v) - mp.log(2 * mp.pi * v) / 2

    def log_tilted(f):
        return log_gauss(f) + power * log_p(name, parameters, y, f)

    ends = pieces_about((m, sd), *bends)
    low, high = ends[0], ends[-1]
    # the mode, roughly, and how wide the density is there
    with mp.workdps(20):
        for _ in range(30):
            grid = [low + (high - low) * k / 8 for k in range(9)]
            at = max(range(9), key=lambda k: log_tilted(grid[k]))
            low, high = grid[max(at - 1, 0)], grid[min(at + 1, 8)]
        mode, width = (low + high) / 2, mpf(sd)
        while log_tilted(mode) - max(log_tilted(mode - width), log_tilted(mode + width)) > 2:
            width /= 2
    ends = pieces_about((m, sd), *bends, (mode, width))
    log_z, (mean,) = integrals(log_tilted, ends, [lambda f: f])
    _, (variance,) = integrals(log_tilted, ends, [lambda f: (f - mean) ** 2])
    found = [log_z, mean, variance, (mean - m) / v, (variance - v) / v**2]
    if power == 1.0:
        functions = [lambda f, k=k: ((f - m) / sd) ** k * log_p(name, parameters, y, f) for k in range(3)]
        _, (value, first, second) = integrals(log_gauss, ends, functions)
        found += [value, first / sd, (second - value) / (2 * v)]
    return [name, parameters, y, float(m), sd, power, *(float(x) for x in found)]


if __name__ == "__main__":
    rows = [
        row(name, parameters, y, m, sd, power)
        for name, parameters, targets in CASES
        for y, m, sd, power in product(targets, (0.3,), (0.05, 1.0, 30.0), (1.0, 0.3))
        if not (name.endswith("exp") and sd == 30.0 and power == 1.0)  # E exp(f) is beyond floats
    ]
    lines = ",\n".join(json.dumps(one) for one in rows)
    Path(__file__).with_name("tilted_values.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
