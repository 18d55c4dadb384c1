"""Five points in the plane, the last of them mislabelled [Qi and Guo 2012, section 6.1, figure 1].

The paper does not list its points. ``points(None)`` is a set of that kind (`BASE`): two points of class +1 on
the left, two of class -1 on the right, and far on the right a fifth that is labelled +1. ``points(seed)`` is
one of any number of variations, each coordinate uniform on a range that holds the base set's:

    two points of class +1   first coordinate on [-2, -1], second on [-1, 1]
    two points of class -1   first coordinate on [1, 2],   second on [-1, 1]
    the mislabelled one      first coordinate on [3, 6],   second on [-2, 2]

So the first four are separated by the line through the origin on which the first coordinate is 0, and the
fifth is on the wrong side of it.
"""

from __future__ import annotations

import numpy as np

EPS = 0.2
"""Error rate of labels in the likelihood, which is the share of wrong labels."""
LABELS = np.array([1.0, 1.0, -1.0, -1.0, 1.0])
BASE = np.array([[-2.0, 1.0], [-1.5, -1.0], [1.0, -1.0], [1.5, 0.5], [4.0, 1.0]])
LOW = np.array([[-2.0, -1.0], [-2.0, -1.0], [1.0, -1.0], [1.0, -1.0], [3.0, -2.0]])
HIGH = np.array([[-1.0, 1.0], [-1.0, 1.0], [2.0, 1.0], [2.0, 1.0], [6.0, 2.0]])


def points(seed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [5, 2] and labels -1, +1 [5], the last one wrong: the base set, or the variation of a seed."""
    X = BASE.copy() if seed is None else np.random.default_rng(seed).uniform(LOW, HIGH)
    return X, LABELS.copy()


def sets(n: int, first: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """The variations of ``n`` seeds from ``first`` on; settings are judged on other seeds than chosen on."""
    return [points(seed) for seed in range(first, first + n)]
