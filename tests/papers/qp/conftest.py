"""Synthetic records and frames: values chosen so that every expected number can be worked out by hand."""

import collections
import functools

import numpy as np
import pandas as pd
import pytest

from papers.core import store
from papers.core.runs import Run
from papers.qp import fit_rows as qp_lines
from papers.qp import published, records
from papers.qp.fit_rows import NO_PAIR
from papers.qp.published import ROWS
from papers.qp.results import Results

PUBLISHED = """\
row,m,n,metric,scale,EP,EP_sd,QP,QP_sd,VB,VB_sd,asterisk
Wine1,130,13,TE,1e-2,10.0,2.0,12.0,2.0,14.0,4.0,
Wine2,107,13,TE,1e-2,0.0,0.0,0.0,0.0,0.0,0.0,
Mining,112,1,TE,1e-2,118.6,27.0,118.6,27.0,170.3,15.9,
Wine1,130,13,NTLL,1e-3,200.0,50.0,190.0,50.0,300.0,20.0,yes
Wine2,107,13,NTLL,1e-3,18.0,1.2,17.8,1.2,26.7,1.9,yes
Mining,112,1,NTLL,1e-3,1606.8,116.3,1606.5,116.3,2007.3,119.8,no
"""

RUNS = {
    "a-run": Run(
        "a-run", "qp/as-released.csv.gz", "abc", "0.2.0", "p", "python 3, fast & small", "2026-01-02"
    )
}
COUNTS = {"sweeps": 12, "evaluations": 7, "clipped": 0, "retries": 1, "negative_sites": 0}
NO_NUMBERS = dict.fromkeys(["variance", "log_evidence", "test_error", "ntll"]) | {"lengthscale": ""}
PAIR = {"pair": "ep", "n_above": 0, "ratio_min": 0.8, "ratio_median": 0.9, "ratio_max": 1.0}


STAMP = {
    "commit": "abc",
    "version": "0.2.0",
    "protocol": "p",
    "environment": "python 3, here",
    "date": "2026-01-02",
}


# Fit records, as jobs write them


def make_record(dataset="wine12", method="ep", seed=0, fold=0, **changes):
    record = {
        "dataset": dataset,
        "protocol": "as-released",
        "seed": seed,
        "fold": fold,
        "method": method,
        "n_train": 117,
        "n_test": 2,
        "hyperparameters": {"variance": 1.0, "lengthscale": 2.0},
        "log_evidence": -15.9,
        "status": {"converged": True, **COUNTS, "residual": 1e-9, "message": "converged"},
        "test_error": 0.1,
        "ntll": 0.2,
        "test_log_density": [-0.1, -0.3],
        "latent_mean": [0.5, -0.5],
        "latent_variance": [1.0, 4.0],
        "seconds": 0.3,
        "run": STAMP,
    }
    return record | changes


def make_failed_record(reason="failed: cavity variance is negative", **where):
    nothing = dict.fromkeys(
        ["hyperparameters", "log_evidence", "test_error", "ntll"]
        + ["test_log_density", "latent_mean", "latent_variance"]
    )
    return make_record(**where, **nothing, status={"converged": False, **COUNTS, "message": reason})


# Lines of frames, as the records hold them


def make_line(dataset="wine12", method="ep", seed=0, fold=0, **changes):
    line = {
        "protocol": "as-released",
        "dataset": dataset,
        "method": method,
        "seed": seed,
        "fold": fold,
        "n_train": 117,
        "n_test": 2,
        "outcome": "ok",
        "reason": "",
        **COUNTS,
        "variance": 1.0,
        "lengthscale": "2",
        "log_evidence": -15.9,
        "test_error": 0.1,
        "ntll": 0.2,
        "seconds": 0.3,
        **NO_PAIR,
        "run": "a-run",
    }
    return line | changes


def make_failed(reason="cavity variance is negative", **where):
    return make_line(**where, **NO_NUMBERS, outcome="failed", reason=reason)


def make_unconverged(reason="1000 evaluations", **where):
    return make_line(**where, outcome="not converged", reason=reason)


def make_seed(errors, ntlls=None, **where):
    """One line a fold, with these test errors and NTLLs in natural units."""
    ntlls = errors if ntlls is None else ntlls
    return [
        make_line(fold=fold, test_error=error, ntll=ntll, **where)
        for fold, (error, ntll) in enumerate(zip(errors, ntlls, strict=True))
    ]


def make_frame(lines):
    return records.DIFFERENCES.frame(lines)


@pytest.fixture(scope="session")
def record():
    return make_record


@pytest.fixture(scope="session")
def failed_record():
    return make_failed_record


@pytest.fixture(scope="session")
def stamp():
    return STAMP


def write_fits(under, name, records, folder="data/fits/qp"):
    first = records[0]
    path = under / folder / first["protocol"] / first["dataset"] / f"{name}.jsonl.gz"
    return store.write_records(path, records)


@pytest.fixture(scope="session")
def fit_writer():
    """Function of a folder, a name such as ``ep-000-004`` and records: the path of the fit file."""
    return write_fits


@pytest.fixture
def fit_file(tmp_path):
    """`fit_writer` in the test's folder."""
    return functools.partial(write_fits, tmp_path)


@pytest.fixture(scope="session")
def line():
    return make_line


@pytest.fixture(scope="session")
def failed():
    return make_failed


@pytest.fixture(scope="session")
def unconverged():
    return make_unconverged


@pytest.fixture(scope="session")
def seed_of():
    return make_seed


@pytest.fixture(scope="session")
def frame():
    return make_frame


@pytest.fixture
def published_csv(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(PUBLISHED)
    return path


@pytest.fixture
def run():
    """Frame of a small run with every kind of trouble in it, two folds a seed."""
    lines = []
    for method, error in (("ep", 0.1), ("qp", 0.12), ("vb-joint", 0.2), ("vb", 0.11)):
        pair = PAIR if method == "qp" else {}
        for dataset in ("wine12", "wine13"):
            lines += make_seed([error, error], dataset=dataset, method=method, **pair)
            lines += make_seed([error, 3 * error], dataset=dataset, method=method, seed=1, **pair)
        lines.append(make_line(dataset="coal", method=method, test_error=1.2, ntll=1.6, **pair))
    bad = [
        make_failed(method="qp", fold=1, seed=1),
        make_unconverged("1000 evaluations & more; a note", method="vb-joint", fold=0),
    ]
    keys = {(r["method"], r["seed"], r["fold"]) for r in bad}
    kept = [r for r in lines if r["dataset"] != "wine12" or (r["method"], r["seed"], r["fold"]) not in keys]
    return make_frame(kept + bad)


@pytest.fixture
def of_folds(monkeypatch):
    """Function of how many folds make a seed of a classification complete."""
    return lambda n: monkeypatch.setattr(qp_lines, "FOLDS", n)


@pytest.fixture(scope="session")
def results_of():
    """Function of fits and a printed table: their results, of which nothing was made again."""

    def make(fits, published_csv):
        results = Results("", "")
        results.fits, results.printed = records.ordered(fits), published.read(published_csv)
        results.runs, results.groups = RUNS, collections.defaultdict(list)
        return results

    return make


@pytest.fixture
def whole(run, results_of, published_csv, of_folds):
    of_folds(2)
    return results_of(run, published_csv)


@pytest.fixture
def table(whole):
    return whole.table


# Records whose differences between methods are set by the test

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
                            "protocol": protocol,
                            "dataset": dataset,
                            "method": method,
                            "seed": seed,
                            "fold": fold,
                            "n_train": 90,
                            "n_test": 10,
                            "outcome": "ok",
                            "reason": "",
                            "variance": 1.5,
                            "lengthscale": "2.5",
                            "log_evidence": -10.0,
                            "ntll": 0.25 + 0.01 * fold + shifts["ntll"][seed],
                            "test_error": 0.1 + 0.01 * fold + shifts["test_error"][seed],
                            **pair_of(method, dataset),
                        }
                    )
    return pd.DataFrame(lines)


def pair_of(method, dataset):
    if method != "qp":
        return {"pair": "", "n_above": np.nan} | dict.fromkeys(["ratio_min", "ratio_median", "ratio_max"])
    pair = "ep" if dataset == "coal" else "ep-tune"
    return {"pair": pair, "n_above": 0, "ratio_min": 0.9, "ratio_median": 0.95, "ratio_max": 0.99}


@pytest.fixture(scope="session")
def fits():
    return make_fits


@pytest.fixture(scope="session")
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
