"""Rows in chunks, so that what is as wide as the training data stays small, and some rows for all."""

import numpy as np

CHUNK = 4096
LEAST = 10  # rows of a class in a random part


def in_chunks(rows: np.ndarray) -> list[np.ndarray]:
    """Parts [n, ...] of an array [N, ...], n at most `CHUNK`; one part at least."""
    return np.array_split(rows, max(1, -(-len(rows) // CHUNK)))


def some_rows(n: int, most: int) -> np.ndarray:
    """Numbers, ascending, of at most ``most`` of ``n`` rows, by one chance.

    Evenly spaced ones may be all alike where rows have a period, as of days.
    """
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def among_sorted(y: np.ndarray, most: int) -> np.ndarray:
    """Numbers of about ``most`` rows, evenly spaced among sorted targets [N], equal ones by one chance.

    Of two labels the rarer one has ten rows among these, or all of its rows.
    """
    order = np.random.default_rng(0).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    rows = order[:: -(-len(y) // most)]
    labels, counts = np.unique(y, return_counts=True)
    if len(labels) == 2:
        rarer = order[y[order] == labels[np.argmin(counts)]][:LEAST]
        rows = rows if np.sum(y[rows] == y[rarer[0]]) >= len(rarer) else np.union1d(rows, rarer)
    return rows


def by_class(order: np.ndarray, labels: np.ndarray | None, most: int) -> np.ndarray:
    """Return the first ``most`` of row numbers ``order`` [n], ascending; some of every class among them.

    ``labels`` [n] are the classes of the rows in that order. Ten rows of each class come first, or as many as
    fit, so that a random part has rare classes too.
    """
    if labels is not None:
        least = max(1, min(LEAST, most // len(np.unique(labels))))
        early = np.zeros(len(order), dtype=bool)
        for label in np.unique(labels):
            early[np.flatnonzero(labels == label)[:least]] = True
        order = np.concatenate([order[early], order[~early]])
    return np.sort(order[:most])
