"""Nearly exact marginals: EP conditioned on the query, corrected, on a few values of the query.

The density of a latent is N(f; m*, k**) Z(y | f* = f) (``conditioned``), of which only what it adds to
EP-FACT's density has to be interpolated: a smooth function of f. Values lie where EP-FACT's log density has
fallen by t^2 / 2 from its top, for evenly spaced t, on both sides; every other value alone gives a second
interpolation, and where that differs too much there are twice as many values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilted.corrections.conditioned import evidences, queries_at_once
from tilted.corrections.densities import LOG_SQRT_2PI, Densities, Spline, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from tilted.corrections.expansion import Expansion, Queries

FARTHEST = 5.2  # t of the outermost values: exp(-13.5) of the top
VALUES, OUTER = (
    11,
    5,
)  # a fifth of the values on either side may fail: they weigh less than exp(-5) of the top
SMOOTH = (
    0.03  # nats, root mean square: from where interpolation through half of the values is not good enough
)


class Excesses(NamedTuple):
    """Terms that evidences add to EP-FACT's log densities, arrays [Q, K].

    Attributes
    ----------
    f : values of the latents, increasing
    excess : of EP's evidence, up to a constant a query
    terms : its second-order terms
    settled : whether EP converged
    """

    f: np.ndarray
    excess: np.ndarray
    terms: np.ndarray
    settled: np.ndarray

    def select(self, rows: np.ndarray) -> Excesses:
        """Some of the latents."""
        return Excesses(*(values[rows] for values in self))

    def merged(self, further: Excesses) -> Excesses:
        """Both, in the order of f."""
        both = [np.concatenate(pair, axis=1) for pair in zip(self, further, strict=True)]
        order = np.argsort(both[0], axis=1)
        return Excesses(*(np.take_along_axis(values, order, axis=1) for values in both))


class NearlyExact(NamedTuple):
    """Densities with and without the second-order terms, and what is known of them, arrays [Q].

    Attributes
    ----------
    corrected, full : Densities
    settled : whether EP converged, but for the outermost fifth of the values on either side
    roughness : root mean square difference, in nats, from the interpolation through half of the values
    """

    corrected: Densities
    full: Densities
    settled: np.ndarray
    roughness: np.ndarray


def nearly_exact(
    base: Expansion, queries: Queries, fact: Densities, progress: Callable[[int], None] | None = None
) -> list[NearlyExact]:
    """Densities of the queries, in parts that fit the memory; ``progress`` hears how many are done."""
    batches, size = [], queries_at_once(len(base.y))
    for first in range(0, len(queries.mean), size):
        rows = slice(first, first + size)
        batches.append(_nearly_exact_batch(base, queries.select(rows), fact.select(rows)))
        if progress is not None:
            progress(min(first + size, len(queries.mean)))
    return batches


def _nearly_exact_batch(base: Expansion, queries: Queries, fact: Densities) -> NearlyExact:
    """All queries of a part at `VALUES` values, the rough ones at values between these as well."""
    levels = np.linspace(-FARTHEST, FARTHEST, VALUES)
    excesses = _excesses(base, queries, fact, levels)
    added, plain, roughness = _interpolated(fact, excesses)
    settled = _inner(excesses.settled)
    rough = np.flatnonzero((roughness > SMOOTH) & settled)
    if len(rough):
        some = fact.select(rough)
        more = _excesses(base, queries.select(rough), some, 0.5 * (levels[1:] + levels[:-1]))
        excesses = excesses.select(rough).merged(more)
        added[rough], plain[rough], roughness[rough] = _interpolated(some, excesses)
        settled[rough] = _inner(excesses.settled)
    return NearlyExact(fact.times(added), fact.times(plain), settled, roughness)


def _excesses(base: Expansion, queries: Queries, fact: Densities, levels: np.ndarray) -> Excesses:
    """Evidences at the values of `_values` for these levels [K], against EP-FACT; 0 where EP failed."""
    f = _values(fact, levels)
    conditioned = evidences(base, queries, f)
    excess = (
        conditioned.log_z + _log_normal(f, queries.prior_mean, queries.prior_variance) - fact.log_smooth(f)
    )
    settled = conditioned.settled & np.isfinite(excess + conditioned.correction)
    excess, terms = (np.where(settled, values, 0.0) for values in (excess, conditioned.correction))
    return Excesses(f, excess, terms, settled)


def _interpolated(fact: Densities, excesses: Excesses) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Excesses with and without their second-order terms at EP-FACT's knots [Q, G], and the roughness [Q]."""
    knots = fact.spline.knots
    # values coincide where EP-FACT does not fall off; the density is not trusted then
    x = spread_out((excesses.f - fact.mean[:, None]) / fact.sd[:, None])
    excess = _extended(excesses.excess, excesses.settled)
    corrected = _extended(excesses.excess + excesses.terms, excesses.settled)
    added, plain = (Spline.through(x, values).at(knots) for values in (corrected, excess))
    half = Spline.through(x[:, ::2], corrected[:, ::2]).at(knots)
    log_w = added + fact.spline.values - 0.5 * knots**2 + np.log(np.gradient(knots, axis=1))
    w = np.exp(log_w - log_w.max(axis=1, keepdims=True))
    w /= w.sum(axis=1, keepdims=True)
    gap = half - added
    gap -= np.sum(w * gap, axis=1, keepdims=True)
    return added, plain, np.sqrt(np.sum(w * gap**2, axis=1))


def _inner(settled: np.ndarray) -> np.ndarray:
    """Return whether EP converged [Q] at all values but the outer ones [Q, K]."""
    outer = settled.shape[1] // OUTER
    return np.all(settled[:, outer:-outer], axis=1)


def _extended(values: np.ndarray, settled: np.ndarray) -> np.ndarray:
    """Values [Q, K] with those of outer places where EP did not converge from their neighbours inside."""
    extended, outer = np.where(settled, values, 0.0), settled.shape[1] // OUTER
    for k in range(outer - 1, -1, -1):
        extended[:, k] = np.where(settled[:, k], extended[:, k], extended[:, k + 1])
        extended[:, -k - 1] = np.where(settled[:, -k - 1], extended[:, -k - 1], extended[:, -k - 2])
    return extended


def _log_normal(f: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """log N(f; mean, variance), f [Q, K]."""
    x = (f - mean[:, None]) / np.sqrt(variance)[:, None]
    return -0.5 * x**2 - 0.5 * np.log(variance)[:, None] - LOG_SQRT_2PI


def _values(fact: Densities, levels: np.ndarray) -> np.ndarray:
    """Return where the log density is level^2 / 2 below its maximum (left of it for level < 0) [Q, K]."""
    f, _ = fact.panels
    fallen = fact.log_unnormalised(f)
    fallen = fallen.max(axis=1, keepdims=True) - fallen
    places = np.empty((len(f), len(levels)))
    for q in range(len(f)):
        top = int(np.argmin(fallen[q]))
        below = np.maximum.accumulate(fallen[q, top::-1])
        above = np.maximum.accumulate(fallen[q, top:])
        t = np.concatenate([-np.sqrt(2.0 * below[:0:-1]), np.sqrt(2.0 * above)])
        t += 1e-9 * np.arange(len(t))
        places[q] = np.interp(levels, t, f[q])
    return places
