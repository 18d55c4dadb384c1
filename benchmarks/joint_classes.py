"""More than two classes: one model of all ("joint", "joint-kernels") beside one against the rest.

    python benchmarks/joint_classes.py [glass.data]

Prints the table of docs/estimators.md: means over random splits of the log loss, of its paired difference
with two standard errors, of the error, of the calibration error (mean distance of the highest probability
from how often it is right, in ten bins of equal counts) and of processor seconds of fit and prediction.
Columns are scaled by the training half. ``glass.data`` is the UCI file (six classes).
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

import tilted
from tilted import SquaredExponential

Data = tuple[np.ndarray, np.ndarray]
KINDS = ("one_vs_rest", "joint", "joint-kernels")


def glass(path: Path) -> Data:
    """Nine columns between an identifier and the kind."""
    rows = np.loadtxt(path, delimiter=",")
    return rows[:, 1:-1], rows[:, -1].astype(int)


def drawn(seed: int) -> Data:
    """Labels of five classes drawn from the joint model itself, in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, (350, 2))
    K = SquaredExponential(4.0, 1.0).matrix(X) + 1e-8 * np.eye(350)
    f = np.linalg.cholesky(K) @ rng.normal(size=(350, 5))
    return X, np.argmax(f + rng.normal(size=f.shape), axis=1)


def calibration_error(p: np.ndarray, labels: np.ndarray) -> float:
    """Of the highest probabilities of ``p`` [N, C], in ten bins of equal counts."""
    highest, right = p.max(axis=1), p.argmax(axis=1) == labels
    bins = np.array_split(np.argsort(highest), 10)
    return float(sum(abs(np.sum(highest[b]) - np.sum(right[b])) for b in bins) / len(labels))


def scores(data: Data, train: int, test: int, seed: int) -> list[list[float]]:
    """Log loss, error, calibration error and seconds of every kind on one split."""
    X, y = data
    order = np.random.default_rng(seed).permutation(len(y))
    rows, others = order[:train], order[train : train + test]
    scaler = StandardScaler().fit(X[rows])
    found = []
    for kind in KINDS:
        start = time.process_time()
        model = tilted.GPClassifier(multi_class=kind).fit(scaler.transform(X[rows]), y[rows])
        log_p = model.predict_log_proba(scaler.transform(X[others]))
        seconds = time.process_time() - start
        labels = np.searchsorted(model.classes_, y[others])
        known = np.isin(y[others], model.classes_)  # a rare class may be missing from the training half
        log_p, labels = log_p[known], labels[known]
        sound = np.mean([status.converged for status in np.atleast_1d(np.array(model.status_, object))])
        log_loss = -float(np.mean(log_p[np.arange(len(labels)), labels]))
        wrong = float(np.mean(log_p.argmax(axis=1) != labels))
        found.append([log_loss, wrong, calibration_error(np.exp(log_p), labels), seconds, float(sound)])
    return found


def main() -> None:
    """Print the table."""
    sets: dict[str, tuple[Callable[[int], Data], int, int, int]] = {  # training rows, test rows, splits
        "iris, C = 3": (lambda seed: datasets.load_iris(return_X_y=True), 75, 75, 10),
        "wine, C = 3": (lambda seed: datasets.load_wine(return_X_y=True), 89, 89, 10),
        "drawn from the model, C = 5": (drawn, 100, 250, 10),
        "digits, C = 10": (lambda seed: datasets.load_digits(return_X_y=True), 150, 300, 5),
    }
    if len(sys.argv) > 1:
        sets["glass, C = 6"] = (lambda seed: glass(Path(sys.argv[1])), 107, 107, 10)
    print("| data set | model | log loss | less rest's | error | calibration | s | converged |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (load, train, test, splits) in sets.items():
        all_scores = np.array([scores(load(seed), train, test, seed) for seed in range(splits)])
        means = all_scores.mean(axis=0)
        apart = all_scores[:, :, 0] - all_scores[:, :1, 0]
        errors = 2.0 * apart.std(axis=0, ddof=1) / np.sqrt(splits)
        for kind, mean, d, error in zip(KINDS, means, apart.mean(axis=0), errors, strict=True):
            loss, wrong, off, seconds, sound = mean
            difference = "" if kind == KINDS[0] else f"{d:+.3f} ± {error:.3f}"
            print(
                f"| {name} | {kind} | {loss:.3f} | {difference} | {wrong:.3f} | {off:.3f} | {seconds:.1f} "
                f"| {sound:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
