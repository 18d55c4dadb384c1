"""The claim about single tilted distributions: QP7 [Zhang 2020, theorem 2], tested by computing.

Cavities N(m, v) and labels or counts are random. For each tilted distribution R is the ratio of the
Wasserstein to the KL projection's standard deviation, by quadrature to about 1e-13. A row is yes if no R
exceeds 1, and if R < 1 for every distribution that is not Gaussian. The distance of R from 1 is known for
nearly Gaussian distributions, from the expansion of the quantile function [Cornish and Fisher 1938],

    1 - R = skewness^2 / 36 + (excess kurtosis)^2 / 192 + ... .

Where this is below `VISIBLE`, double precision cannot tell the distribution from a Gaussian; such points are
counted. A Gaussian likelihood has Gaussian tilted distributions and must give R = 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from papers.core.verdicts import NO, YES, Block, Inference, Line
from papers.qp import protocols
from tilted import likelihoods
from tilted.numerics.quadrature import integrate
from tilted.projections.moments import TableGrid, kl, wasserstein

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.moments import Projection

    Project = Callable[[Likelihood, np.ndarray, np.ndarray, np.ndarray], Projection]

SEED = 2020
N = 1000
ROUNDING = 1e-11
NOTHING = 1e-12
"""A ratio counts as above 1 by more than `ROUNDING`; one nearer to 1 than this is given as 1."""
VISIBLE = 1e-9
PAPERS_TABLE = "as-described"
GRID = TableGrid()
MU, LOG10_SIGMA = 10.0, 1.0
"""The box of the paper's lookup tables: |mu| <= 10, 0.1 <= sigma <= 10 [Zhang 2020, appendix J]."""

MOST_EVENTS = 20
QUANTITY = "largest sigma_QP / sigma_EP - 1"


@dataclass(frozen=True)
class Population:
    """Tilted distributions of one row: a likelihood and a rule to draw its labels; ``gaussian``: R is 1."""

    row: str
    likelihood: str
    labels: Callable[[np.random.Generator, int], np.ndarray]
    gaussian: bool = False


POPULATIONS = (
    Population("probit, y = +1", "probit", lambda rng, n: np.ones(n)),
    Population("probit, y = -1", "probit", lambda rng, n: -np.ones(n)),
    Population("Poisson", "poisson-square", lambda rng, n: rng.integers(0, MOST_EVENTS + 1, n).astype(float)),
    Population("Gaussian", "gaussian", lambda rng, n: rng.uniform(-MU, MU, n), gaussian=True),
)


def one_tilted(protocol: str) -> list[Block]:
    """Judge QP7 by the exact projection, which the theorem is about.

    The paper's lookup tables are added as further rows for protocols whose QP uses them.
    """
    exact = _block("exact quadrature", wasserstein, POPULATIONS)
    if protocols.method(protocol, "classification", "qp").get("lookup") != PAPERS_TABLE:
        return [exact]
    curved = [population for population in POPULATIONS if not population.gaussian]
    return [exact, _block("the paper's lookup tables", GRID.project, curved)]


def _block(name: str, projection: Project, populations: Sequence[Population]) -> Block:
    test = (
        f"every one of {N} random tilted distributions; interval: smallest and largest; what is within "
        f"{NOTHING:g} of 0 is rounding and given as 0"
    )
    return Block(name, test, tuple(_line(p, projection) for p in populations), best=-math.inf)


@cache
def _line(population: Population, projection: Project) -> Line:
    rng = np.random.default_rng(SEED)
    y, m = population.labels(rng, N), rng.uniform(-MU, MU, N)
    v = 10.0 ** (2.0 * rng.uniform(-LOG10_SIGMA, LOG10_SIGMA, N))
    likelihood = likelihoods.get(population.likelihood)
    ratio = np.sqrt(projection(likelihood, y, m, v).variance / kl(likelihood, y, m, v).variance)
    visible = departure(likelihood, y, m, v) > VISIBLE
    above = ratio > 1 + ROUNDING
    equal = visible & (ratio >= 1) & ~above
    unlike = population.gaussian & (np.abs(ratio - 1) > ROUNDING)
    bad = above | equal | unlike
    note = f"{np.sum(above)} of {N} above 1 by more than {ROUNDING:g}"
    if not population.gaussian:
        note += f"; {np.sum(visible)} not Gaussian to {VISIBLE:g}, of these {np.sum(equal)} at 1"
    low, high = (_without_rounding(float(end - 1)) for end in (ratio.min(), ratio.max()))
    sample = Inference(NO if bad.any() else YES, low, high)
    return Line(population.row, QUANTITY, "excess", high, sample=sample, n=N, note=note)


def _without_rounding(excess: float) -> float:
    return excess if abs(excess) > NOTHING else 0.0


def departure(likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the leading terms of 1 - R [N] from skewness and excess kurtosis of the tilted distributions."""
    panels = integrate(likelihood.tilted_density(y, m, v))
    offset = panels.offsets - panels.expectation(panels.offsets)[:, None, None]
    variance, third, fourth = (panels.expectation(offset**k) for k in (2, 3, 4))
    return third**2 / variance**3 / 36.0 + (fourth / variance**2 - 3.0) ** 2 / 192.0
