"""Have the chains converged, and how much are their draws worth? [Vehtari et al. 2021]

Rank-normalised split R-hat (the larger of the one for location and the one, on folded draws, for scale) and
the bulk effective sample size. Both take draws [M, C, T]: M quantities, C chains, T kept draws a chain.
"""

from __future__ import annotations

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata


def split_r_hat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised split R-hat [M]; 1 is converged, above 1.01 is not; inf of draws that are all alike.

    Raises
    ------
    ValueError
        With fewer than 4 draws a chain.
    """
    out = np.empty(len(draws))
    for k, row in enumerate(draws):
        halves = _split(row)
        folded = np.abs(halves - np.median(halves))
        out[k] = max(_r_hat(_rank_normalised(halves)), _r_hat(_rank_normalised(folded)))
    return out


def bulk_size(draws: np.ndarray) -> np.ndarray:
    """Bulk effective sample size [M] of the draws, 0 of draws that are all alike (errors: `split_r_hat`)."""
    return np.array([_effective_size(_rank_normalised(_split(row))) for row in draws])


def _split(chains: np.ndarray) -> np.ndarray:
    """Chains [C, T] cut into halves [2C, T // 2], as doubles."""
    half = chains.shape[1] // 2
    if half < 2:
        raise ValueError(f"need at least 4 draws a chain, got {chains.shape[1]}")
    return np.concatenate([chains[:, :half], chains[:, -half:]]).astype(float)


def _rank_normalised(chains: np.ndarray) -> np.ndarray:
    ranks = rankdata(chains, axis=None).reshape(chains.shape)
    return ndtri((ranks - 0.375) / (chains.size + 0.25))


def _r_hat(chains: np.ndarray) -> float:
    length = chains.shape[1]
    within = chains.var(axis=1, ddof=1).mean()
    between = chains.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return np.inf
    return float(np.sqrt((length - 1) / length + between / within))


def _effective_size(chains: np.ndarray) -> float:
    """Geyer's initial monotone sequence on the combined autocorrelations of chains [C, T]."""
    count, length = chains.shape
    if np.ptp(chains) == 0.0:
        return 0.0
    centred = chains - chains.mean(axis=1, keepdims=True)
    size = next_fast_len(2 * length)
    spectrum = np.abs(rfft(centred, size, axis=1)) ** 2
    covariance = irfft(spectrum, size, axis=1)[:, :length].mean(axis=0) / length
    within = covariance[0] * length / (length - 1)
    correlation = 1.0 - (within - covariance) / (covariance[0] + chains.mean(axis=1).var(ddof=1))
    correlation[0] = 1.0
    even = length - length % 2
    pairs = correlation[0:even:2] + correlation[1:even:2]
    negative = np.flatnonzero(pairs < 0)
    used = int(negative[0]) if len(negative) else len(pairs) - 1
    time = 2.0 * np.minimum.accumulate(pairs[:used]).sum() - 1.0 + max(correlation[2 * used], 0.0)
    return count * length / max(float(time), 1.0 / np.log10(count * length))
