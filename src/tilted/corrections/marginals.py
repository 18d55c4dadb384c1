"""Corrected marginals of single latents, and whether to believe them.

Each comes in a cheap, a nearly exact and, for the probit, a sampled grade. A latent whose correction is not
to be trusted gets EP's Gaussian, and the message says how many did and why.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tilted.corrections.densities import Densities, join
from tilted.corrections.expansion import Queries
from tilted.corrections.factors import cheap, gaussians
from tilted.corrections.full import SMOOTH, nearly_exact
from tilted.corrections.sampled import FEW, Mixtures
from tilted.likelihoods.contract import as_floats
from tilted.posteriors.sparse import Sparse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tilted.corrections.expansion import Expansion

CHEAP, NEARLY_EXACT, SAMPLED = GRADES = ("cheap", "nearly-exact", "sampled")
ONLY_DENSE = "nearly exact marginals are of dense priors without independent noise of f given h"
CORRELATED = 0.05  # with a datum whose tilted distribution has two lobes, from where that concerns a latent
FALLEN = 10.0  # nats by which a log density has to be below its top where it is cut off
REACHED = 5.0  # the same of the cheap density, where the nearly exact one is evaluated
NOTHING = 0.02  # change of a marginal (`change`) that needs no second opinion
LARGEST_CHANGE = 1.0  # that a correction may make; of ten data sets the largest sound one was 0.6
# second against first order, of log-concave likelihoods and of others, and changes that are too slight to ask
LARGEST, SLIGHT = {True: 1.0, False: 0.5}, {True: 0.1, False: 0.02}
LARGEST_FIRST = 0.35  # EP-FACT against EP-1STEP of the others
ROUGHEST = {True: 5.0, False: 1.0}  # of either, in units of what asks for more values
CHUNK = 512  # latents at once


class CorrectionWarning(UserWarning):
    """Some answers are EP's, because their corrections are not to be trusted."""


@dataclass(frozen=True)
class Corrected:
    """Corrected posterior of Q latents.

    Attributes
    ----------
    mean, variance, skewness : arrays [Q]
        Where ``trusted``; else EP's mean and variance, and 0.
    trust : array [Q]
        Small is good. Nearly exact: what the second-order terms of the evidences change, against the change
        by all. Cheap: the change, |log ratio of the variances| + |difference of the means| in sd. Sampled:
        the standard error of a variance, relative to it; that of a probability is another (`resolved`).
    trusted : array [Q] of bool
    message : str
        How many latents were not corrected, and why.
    densities : Densities
    """

    mean: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray
    trust: np.ndarray
    trusted: np.ndarray
    message: str
    densities: Densities | Mixtures = field(repr=False)

    def log_density(self, f: np.ndarray) -> np.ndarray:
        """log density [Q, K] of each latent at f [Q, K]; ValueError for others or none that are finite."""
        f = as_floats(f, "f")
        if f.ndim != 2 or len(f) != len(self.mean) or not np.all(np.isfinite(f)):
            raise ValueError(f"f is finite, [{len(self.mean)}, K], a row a latent; got shape {f.shape}")
        return self.densities.log_density(f)

    def log_predictive(self, y: np.ndarray) -> np.ndarray:
        """log predictive density [Q] of y [Q]; ValueError unless it is in the likelihood's domain."""
        return self.densities.log_predictive(self._checked(y))

    def target_moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance [Q] of new targets that are counts, or f and noise.

        Of counts by the corrected densities themselves; where the answers are EP's, and of likelihoods that
        do not say what counts are given f (``log_given``), by mean and variance of f.
        """
        densities = self.densities
        likelihood = cast(Any, densities.likelihood)
        mean, variance = likelihood.target_moments(self.mean, self.variance)
        rows = np.flatnonzero(self.trusted)
        if not hasattr(likelihood, "log_given") or not len(rows):
            return mean, variance
        mean[rows], variance[rows] = cast(Densities, densities).select(rows).count_moments()
        return mean, variance

    def resolved(self, y: np.ndarray) -> np.ndarray:
        """`log_predictive`, but where draws do not resolve a probability: not below 1 / effective draws.

        Those that rest on fewer than `sampled.FEW` draws, of which a CorrectionWarning tells; with those of
        all other targets they sum to a little more than 1 then.
        """
        densities = self.densities
        if not isinstance(densities, Mixtures):
            return self.log_predictive(y)
        log_p, rests_on = densities.predictive(self._checked(y))
        effective, few = densities.sampled.effective, ~(rests_on >= FEW)
        if np.any(few):
            which = f"{int(np.sum(few))} of {len(few)} probabilities rest on fewer than {FEW} draws"
            warnings.warn(
                f"{which}: none is given below {1.0 / effective:.1g}", CorrectionWarning, stacklevel=3
            )
        return np.where(few, np.maximum(log_p, -np.log(effective)), log_p)

    def _checked(self, y: np.ndarray) -> np.ndarray:
        """Targets [Q] in the likelihood's domain."""
        y = self.densities.likelihood.domain(y)
        if len(y) != len(self.mean):
            raise ValueError(f"{len(self.mean)} latents were corrected but y has {len(y)} values")
        return y


def correct_marginals(
    base: Expansion,
    queries: Queries | Iterable[Queries],
    grade: str,
    progress: Callable[[int], None] | None = None,
) -> Corrected:
    """Corrected posteriors of latents.

    Parameters
    ----------
    base : Expansion
    queries : Queries, or parts of them
    grade : "cheap", "nearly-exact" or "sampled"
        EP-FACT, O(N) a latent and knot; or EP conditioned on the latent with second-order terms, about thirty
        factorisations of O(N^3) a latent; or the exact posterior's draws, O(N^2) a draw once, O(N) a draw and
        latent.
    progress : callable, optional
        Hears how many latents are done.

    Returns
    -------
    Corrected

    Raises
    ------
    ValueError
        For an unknown grade; for the nearly exact and the sampled one of a prior that is not dense or has
        independent noise of f given h; for the sampled one of another likelihood than the probit.
    """
    require_grade(grade)
    if grade == SAMPLED:
        return _sampled(base, queries)
    if grade == NEARLY_EXACT and (isinstance(base.prior, Sparse) or np.any(base.prior.extra)):
        raise ValueError(ONLY_DENSE)
    if isinstance(queries, Queries):
        queries = [
            queries.select(slice(first, first + CHUNK)) for first in range(0, len(queries.mean), CHUNK)
        ]
    results, before, total = [], [], 0
    for batch in queries:
        report = None if progress is None else lambda done, first=total: progress(first + done)
        results.append(_correct(base, batch, grade, report))
        before.append((batch.mean, batch.variance))
        total += len(batch.mean)
        if progress is not None:
            progress(total)
    counts: dict[str, int] = {}
    for _, _, _, why in results:
        for reason, rows in why.items():
            counts[reason] = counts.get(reason, 0) + int(np.sum(rows))
    densities, trust = join([batch[0] for batch in results]), np.concatenate([batch[1] for batch in results])
    trusted = np.concatenate([batch[2] for batch in results])
    mean, variance, skewness = densities.moments()
    was = [np.concatenate(moment) for moment in zip(*before, strict=True)]
    mean, variance = np.where(trusted, mean, was[0]), np.where(trusted, variance, was[1])
    message = f"{total} latents corrected"
    if not np.all(trusted):
        because = "; ".join(f"{reason}: {count}" for reason, count in counts.items() if count)
        message = f"{int(np.sum(~trusted))} of {total} latents are EP's, not corrected ({because})"
    return Corrected(mean, variance, np.where(trusted, skewness, 0.0), trust, trusted, message, densities)


def _sampled(base: Expansion, queries: Queries | Iterable[Queries]) -> Corrected:
    """Correct by draws: all marginals are trusted, or none."""
    sampled = base.sampled
    assert isinstance(queries, Queries)
    every = np.ones(len(queries.mean), dtype=bool)
    trust = np.full(len(every), np.sqrt(2.0 / sampled.effective))
    if sampled.trusted:
        mixtures = Mixtures.of(sampled, *queries[:3], base.likelihood)
        return Corrected(*mixtures.moments(), trust, every, sampled.message, mixtures)
    message = f"{len(every)} of {len(every)} latents are EP's, not corrected ({sampled.message})"
    ep = gaussians(base, queries)
    return Corrected(queries.mean, queries.variance, np.zeros(len(every)), trust, ~every, message, ep)


def require_grade(grade: object) -> None:
    """ValueError unless ``grade`` is one of `GRADES`."""
    if grade not in GRADES:
        raise ValueError(f"correction must be one of {', '.join(map(repr, GRADES))}, got {grade!r}")


def change(first: tuple[np.ndarray, ...], second: tuple[np.ndarray, ...]) -> np.ndarray:
    """|log ratio of variances| + |difference of means| in sd [Q], from moments (mean, variance, ...)."""
    return np.abs(np.log(first[1] / second[1])) + np.abs(first[0] - second[0]) / np.sqrt(second[1])


def _correct(
    base: Expansion, queries: Queries, grade: str, progress: Callable[[int], None] | None
) -> tuple[Densities, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Densities (EP's where not trusted), trust [Q], trusted [Q], and which latents fail by what reason."""
    every = np.ones(len(queries.mean), dtype=bool)
    if base.concern:
        return gaussians(base, queries), np.full(len(every), np.inf), ~every, {base.concern: every}
    fact, first = cheap(base, queries)
    before, concave = (queries.mean, queries.variance), base.likelihood.log_concave
    why = {"they go with tilted distributions of two lobes": _lobes(base, queries)}
    if grade == CHEAP:
        corrected, lesser = fact, fact if concave else fact.with_values(np.maximum(first, -50.0))
    else:
        batches = nearly_exact(base, queries, fact, progress)
        corrected, lesser = (
            join([batch.corrected for batch in batches]),
            join([batch.full for batch in batches]),
        )
        why["EP conditioned on them did not converge"] = ~np.concatenate([batch.settled for batch in batches])
        rough = np.concatenate([batch.roughness for batch in batches]) > ROUGHEST[concave] * SMOOTH
        why["their densities are not smooth enough"] = rough
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        after = corrected.moments()
        between = after if lesser is corrected else lesser.moments()
        total, step = change(after, before), change(after, between)
        relative = step / np.maximum(total, NOTHING)
        trust = total if grade == CHEAP else relative
        lost = ~np.isfinite(after[0] + after[1] + trust)
    why["the correction is too large"] = total > LARGEST_CHANGE
    if grade == NEARLY_EXACT or not concave:
        largest, slight = (
            (LARGEST[concave], SLIGHT[concave]) if grade == NEARLY_EXACT else (LARGEST_FIRST, NOTHING)
        )
        why["the correction does not settle"] = (relative > largest) & (np.minimum(step, total) > slight)
    why["lost to rounding or overflow"] = lost
    falls = np.minimum(*corrected.fall()) > FALLEN
    if grade == NEARLY_EXACT:  # whose values are those where EP-FACT has fallen by so much
        falls &= np.minimum(*fact.fall()) > REACHED
    why["their densities do not fall off"] = ~falls
    trusted = ~np.any(np.stack(list(why.values())), axis=0)
    return corrected.gaussian_where(~trusted), trust, trusted, why


def _lobes(base: Expansion, queries: Queries) -> np.ndarray:
    """Return which latents [Q] are correlated with a datum whose tilted distribution has two lobes."""
    scale = np.sqrt(queries.variance[:, None] * base.inference.state.marginals.variance)
    return np.any((np.abs(queries.covariance) * base.retained > CORRELATED * scale) & base.lobes, axis=1)
