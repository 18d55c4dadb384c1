"""Time and memory of sparse fits in batches: `benchmarks/million.py [rows] [columns] [pseudo-points]`."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tilted import SparseGPClassifier, SparseGPRegressor

BATCH, BLOCK = 5000, 100_000


def main(rows: int = 1_000_000, columns: int = 10, pseudo: int = 200) -> None:
    """Labels and reals of a function of three columns, rows in a memory-mapped file."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "X.npy")
        made = np.lib.format.open_memmap(path, "w+", np.float64, (rows, columns))
        for first in range(0, rows, BLOCK):
            made[first : first + BLOCK] = rng.normal(size=made[first : first + BLOCK].shape)
        made.flush()
        X = np.load(path, mmap_mode="r")
        f = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=rows)
        how = {"n_pseudo": pseudo, "batch_size": BATCH, "move_pseudo_inputs": False}
        for model, y in ((SparseGPClassifier(**how), f > 0), (SparseGPRegressor(**how), f)):
            before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
            model.fit(X, y)
            seconds = time.process_time() - began
            more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            print(f"{type(model).__name__}: {seconds:.1f} processor seconds, {more:.0f} MB more at most")
            print(f"  {model.status_.message}; score of some rows {model.score(X[:BATCH], y[:BATCH]):.3f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
