"""What the default starts and priors of the estimators do on the classifications of Table 1.

    python benchmarks/defaults.py [--mirror FOLDER] [--splits 2]

Half of the raw, unscaled inputs is learned from and the other scored. "guess": one search from the summed
variances, without priors, as the estimators did before; "starts": from the median distance and the most
promising places about it, as by default; "starts, priors": with priors="weak". Prints the table of
docs/estimators.md.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from papers.data import load
from tilted import GPClassifier, SquaredExponential

SETS = "ionosphere cancer pima crabs sonar glass wine12 wine13 wine23"


def before(X: np.ndarray) -> GPClassifier:
    """The classifier as it started before there were robust starts."""
    return GPClassifier(kernel=SquaredExponential(1.0, float(np.sqrt(np.sum(np.var(X, axis=0))))))


HOW = {
    "guess": before,
    "starts": lambda X: GPClassifier(),
    "starts, priors": lambda X: GPClassifier(priors="weak"),
}


def compare(name: str, splits: int, mirror: str | None) -> list[tuple[float, ...]]:
    """Evidence, mean test log loss and processor seconds, each way and split."""
    data = load(name, "corrected", mirror=mirror)
    rows = []
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = order[::2], order[1::2]
        row: tuple[float, ...] = ()
        for make in HOW.values():
            began = time.process_time()
            model = make(data.X[train]).fit(data.X[train], data.y[train])
            seconds = time.process_time() - began
            column = np.searchsorted(model.classes_, data.y[test])
            loss = -np.mean(model.predict_log_proba(data.X[test])[np.arange(len(test)), column])
            row += (model.log_evidence_, loss, seconds)
        rows.append(row)
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror")
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--sets", default=SETS)
    given = parser.parse_args()
    print("| data set | " + " | ".join(f"{how}: evidence | log loss | s" for how in HOW) + " |")
    print("|---" * (1 + 3 * len(HOW)) + "|")
    for name in given.sets.split():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            means = np.mean(compare(name, given.splits, given.mirror), axis=0)
        cells = [f"{v:.2f}" if i % 3 != 1 else f"{v:.4f}" for i, v in enumerate(means)]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
