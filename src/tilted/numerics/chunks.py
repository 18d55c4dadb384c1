"""Rows in chunks, so that what is as wide as the training data stays small however many are predicted."""

import numpy as np

CHUNK = 4096


def in_chunks(rows: np.ndarray) -> list[np.ndarray]:
    """Parts [n, ...] of an array [N, ...], n at most `CHUNK`; one part at least."""
    return np.array_split(rows, max(1, -(-len(rows) // CHUNK)))
