"""Expected reduction of entropy, PESC's acquisition function [Hernandez-Lobato et al. 2015, eqs 8 to 10].

How much less is known of an observation at x than would be if the place of the constrained minimum were
known, in nats: a difference of entropies, which for Gaussians is half a difference of log variances, noise
included, averaged over places x*. It is a sum over functions, one of which may be observed alone.
"""

from __future__ import annotations

import numpy as np

from tilted.bayesopt.nfcpd import Nfcpd, predict

CHUNK = 500  # inputs at once


def entropy_reduction(nfcpd: Nfcpd, Xs: np.ndarray) -> np.ndarray:
    """Expected reduction [K + 1, n] of every function at ``Xs`` [n, D], the objective first.

    The sum over functions is the acquisition function where all are observed together. The places x* count
    alike, whether EP converged there or not (`Nfcpd.status` says where it did).
    """
    Xs = np.atleast_2d(np.asarray(Xs, dtype=float))
    reductions = [_reduction(nfcpd, Xs[i : i + CHUNK]) for i in range(0, len(Xs), CHUNK)]
    return np.concatenate(reductions, axis=1)


def _reduction(nfcpd: Nfcpd, Xs: np.ndarray) -> np.ndarray:
    noise = np.array([function.noise for function in nfcpd.functions])
    before = np.array([function.predict(Xs)[1] for function in nfcpd.functions])
    after = predict(nfcpd, Xs).variance
    return reduction(before, np.mean(np.log(after + noise[:, None, None]), axis=1), noise)


def reduction(before: np.ndarray, log_after: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Half the difference of log variances [K + 1, n]: ``before`` without noise, ``log_after`` with it."""
    return 0.5 * (np.log(before + noise[:, None]) - log_after)
