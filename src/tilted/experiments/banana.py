"""A made-up binary set in the plane, of the shape of the paper's banana [Bui et al. 2017, figure 23].

The banana set that the paper shows has no licence we know of. Ours has two crescents that reach into each
other, with noise that lets them overlap:

    label +1:  (cos t, sin t),  label -1:  (1 - cos t, 1/2 - sin t),  t uniform on [0, pi], plus N(0, 0.3^2 I)
"""

from __future__ import annotations

import numpy as np

NOISE = 0.3


def draw(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs [n, 2] and labels -1, +1 [n], half of each, in random order."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.where(np.arange(n) < n // 2, 1.0, -1.0))
    t = rng.uniform(0.0, np.pi, n)
    centre = np.where(y > 0, [np.cos(t), np.sin(t)], [1.0 - np.cos(t), 0.5 - np.sin(t)]).T
    return centre + NOISE * rng.standard_normal((n, 2)), y
