"""Time and memory of sparse fits in batches: `million.py [rows columns pseudo-points kind ...]`."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tilted import SparseGPClassifier, SparseGPPoissonRegressor, SparseGPRegressor

BATCH, BLOCK = 5000, 100_000
KINDS = {  # name -> estimator, its own parameters, (f with noise, f, generator) -> targets
    "labels": (SparseGPClassifier, {}, lambda noisy, f, rng: noisy > 0),
    "reals": (SparseGPRegressor, {}, lambda noisy, f, rng: noisy),
    "counts": (SparseGPPoissonRegressor, {}, lambda noisy, f, rng: rng.poisson(np.exp(f))),
    "counts-exp": (
        SparseGPPoissonRegressor,
        {"likelihood": "poisson-exp"},
        lambda noisy, f, rng: rng.poisson(np.exp(f)),
    ),
    "counts-dispersed": (
        SparseGPPoissonRegressor,
        {"likelihood": "negative-binomial"},
        lambda noisy, f, rng: rng.poisson(np.exp(f) * rng.gamma(2.0, 0.5, len(f))),
    ),
}


def main(rows: int = 1_000_000, columns: int = 10, pseudo: int = 200, *kinds: str) -> None:
    """Rows in a memory-mapped file; every kind of targets in a process of its own."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npy")
        made = np.lib.format.open_memmap(path, "w+", np.float64, (rows, columns))
        for first in range(0, rows, BLOCK):
            made[first : first + BLOCK] = rng.normal(size=made[first : first + BLOCK].shape)
        made.flush()
        for kind in kinds or KINDS:
            one = multiprocessing.get_context("spawn").Process(target=measure, args=(path, pseudo, kind))
            one.start()
            one.join()


def measure(path: Path, pseudo: int, kind: str) -> None:
    """One fit: a function of three columns, with noise or through counts."""
    X, rng = np.load(path, mmap_mode="r"), np.random.default_rng(1)
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    estimator, own, targets = KINDS[kind]
    y = targets(f + 0.3 * rng.normal(size=len(X)), f, rng)
    own = {"move_pseudo_inputs": False, **own}
    model = estimator(n_pseudo=pseudo, batch_size=BATCH, **own)
    estimator(n_pseudo=50, batch_size=200, **own).fit(X[:500], y[:500])  # what is imported on first use
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - began
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{kind}: {seconds:.1f} processor seconds, {more:.0f} MB more at most")
    print(f"  {model.status_.message}; score of some rows {model.score(X[:BATCH], y[:BATCH]):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *sys.argv[4:])
