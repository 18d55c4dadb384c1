"""Synthetic compact records: every difference between methods is set by the test."""

import numpy as np
import pandas as pd
import pytest

from tilted.results.published import ROWS

METHODS = ("ep-tune", "ep", "qp", "vb-joint", "vb")
SEEDS = 8


def spread(mean, sd, n):
    """n values whose mean and sample sd are exactly these."""
    if sd == 0:
        return np.full(n, mean)
    values = np.linspace(-1.0, 1.0, n)
    return mean + sd * values / np.std(values, ddof=1)


def make_fits(protocol="as-released", methods=METHODS, rows=tuple(ROWS), seeds=SEEDS, ntll=None, error=None):
    """Records of one protocol.

    Parameters
    ----------
    ntll, error : dict
        (method, data set) or method -> difference to QP's score: a number, or (mean, sd over seeds).
    """
    lines = []
    for dataset in rows:
        for method in methods:
            gaps = {
                name: (given or {}).get((method, dataset), (given or {}).get(method, 0.0))
                for name, given in (("ntll", ntll), ("test_error", error))
            }
            shifts = {
                name: spread(*(gap if isinstance(gap, tuple) else (gap, 0.0)), seeds)
                for name, gap in gaps.items()
            }
            for seed in range(seeds):
                for fold in range(1 if dataset == "coal" else 10):
                    lines.append(
                        {
                            "protocol": protocol, "dataset": dataset, "method": method, "seed": seed,
                            "fold": fold, "n_train": 90, "n_test": 10, "outcome": "ok", "reason": "",
                            "variance": 1.5, "lengthscale": "2.5", "log_evidence": -10.0,
                            "ntll": 0.25 + 0.01 * fold + shifts["ntll"][seed],
                            "test_error": 0.1 + 0.01 * fold + shifts["test_error"][seed],
                            **pair_of(method, dataset),
                        }
                    )  # fmt: skip
    return pd.DataFrame(lines)


def pair_of(method, dataset):
    if method != "qp":
        return {"pair": "", "n_above": np.nan} | dict.fromkeys(["ratio_min", "ratio_median", "ratio_max"])
    pair = "ep" if dataset == "coal" else "ep-tune"
    return {"pair": pair, "n_above": 0, "ratio_min": 0.9, "ratio_median": 0.95, "ratio_max": 0.99}


@pytest.fixture
def fits():
    return make_fits


@pytest.fixture
def studies():
    """Builders of the two small studies."""
    return {"timing": make_timing, "effect": make_effect}


def make_timing(ratio=1.0, jitter=0.02, methods=("ep", "qp", "qp-lookup"), cells=6, protocol="as-released"):
    """``ratio`` of seconds of every method to EP's, times exp(± jitter)."""
    lines = []
    for dataset in ROWS:
        if dataset == "coal":
            continue
        for method in methods:
            for seed in range(cells):
                factor = 1.0 if method == "ep" else ratio * np.exp(jitter * (-1) ** seed)
                lines.append((dataset, protocol, seed, 0, method, 12, (1 + seed) * factor, 100))
    return pd.DataFrame(lines, columns="dataset protocol seed fold method sweeps seconds N".split())


def make_effect(lost=(), moved=(), cells=20, protocol="as-described", bad=1):
    """Fits with the paper's table that did not converge or moved on the data sets named, in some folds."""
    lines = []
    for dataset in ROWS:
        if dataset == "coal":
            continue
        for projection in ("quadrature", "as-described", "certified"):
            for seed in range(cells):
                here = projection == "as-described" and 3 <= seed < 3 + bad
                converged = not (here and dataset in lost)
                shifted = here and dataset in moved
                ntll = 0.3 + 1e-5 * seed + (0.002 if shifted else 0.0)
                outside = 0.9 if shifted else 0.05
                lines.append((dataset, protocol, seed, 0, projection, converged, ntll, outside))
    return pd.DataFrame(
        lines, columns="dataset protocol seed fold projection converged ntll outside_box".split()
    )
