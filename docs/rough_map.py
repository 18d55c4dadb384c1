"""Draw docs/rough-map.png: the made-up terrain of docs/rough-data.md and what two approximations make of it.

python docs/rough_map.py
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from tilted import SparseGPClassifier
from tilted.likelihoods.probit import Probit

SIDE = 100  # places of the map along a side


def main() -> None:
    """Fit 3,000 labels by pseudo-points and by blocks, and draw the probabilities of a label."""
    rng = np.random.default_rng(0)
    waves, shifts, heights = rng.normal(size=(2, 300)) / 0.04, rng.uniform(0, 6.3, 300), rng.normal(size=300)

    def terrain(places: np.ndarray) -> np.ndarray:
        return np.cos(places @ waves + shifts) @ heights / 8

    X = rng.uniform(size=(4000, 2))
    y = terrain(X) + rng.normal(size=4000) > 0
    models = {
        "100 pseudo-points": SparseGPClassifier("ep", n_pseudo=100),
        "blocks": SparseGPClassifier("ep", approximation="blocks"),
    }
    side = (np.arange(SIDE) + 0.5) / SIDE
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    ones = np.ones(len(places))
    maps = {"truth": np.exp(Probit().log_predictive(ones, terrain(places), 1e-12 * ones))}
    for name, model in models.items():
        maps[name] = model.fit(X[:3000], y[:3000]).predict_proba(places)[:, 1]
    figure, axes = plt.subplots(1, 3, figsize=(9.0, 3.3), layout="constrained")
    for axis, (name, probabilities) in zip(axes, maps.items(), strict=True):
        grid = probabilities.reshape(SIDE, SIDE)
        image = axis.imshow(
            grid, origin="lower", extent=(0, 1, 0, 1), vmin=0, vmax=1, interpolation="nearest"
        )
        axis.set(title=name, xticks=[0, 1], yticks=[0, 1])
    figure.colorbar(image, ax=axes, label="probability of a label", shrink=0.8)
    figure.savefig(Path(__file__).with_name("rough-map.png"), dpi=85)


if __name__ == "__main__":
    main()
