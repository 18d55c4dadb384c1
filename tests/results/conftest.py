"""Synthetic records and frames: values chosen so that every expected number can be worked out by hand."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from tilted.results import compact, store, summary
from tilted.results.runs import Runs

PUBLISHED = """\
row,m,n,metric,scale,EP,EP_sd,QP,QP_sd,VB,VB_sd,asterisk
Wine1,130,13,TE,1e-2,10.0,2.0,12.0,2.0,14.0,4.0,
Wine2,107,13,TE,1e-2,0.0,0.0,0.0,0.0,0.0,0.0,
Mining,112,1,TE,1e-2,118.6,27.0,118.6,27.0,170.3,15.9,
Wine1,130,13,NTLL,1e-3,200.0,50.0,190.0,50.0,300.0,20.0,yes
Wine2,107,13,NTLL,1e-3,18.0,1.2,17.8,1.2,26.7,1.9,yes
Mining,112,1,NTLL,1e-3,1606.8,116.3,1606.5,116.3,2007.3,119.8,no
"""

COUNTS = {"sweeps": 12, "evaluations": 7, "clipped": 0, "retries": 1, "negative_sites": 0}
NO_NUMBERS = dict.fromkeys(["variance", "log_evidence", "test_error", "ntll"]) | {"lengthscale": ""}
NO_PAIR = {"pair": ""} | dict.fromkeys(compact.PAIR[1:])
PAIR = {"pair": "ep", "n_above": 0, "ratio_min": 0.8, "ratio_median": 0.9, "ratio_max": 1.0}


# Fit records, as experiments write them


def make_record(dataset="wine12", method="ep", seed=0, fold=0, **changes):
    record = {
        "paper": "qp",
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
    }
    return record | changes


def make_failed_record(reason="failed: cavity variance is negative", **where):
    nothing = dict.fromkeys(
        ["hyperparameters", "log_evidence", "test_error", "ntll"]
        + ["test_log_density", "latent_mean", "latent_variance"]
    )
    return make_record(**where, **nothing, status={"converged": False, **COUNTS, "message": reason})


# Lines of frames, as compact records hold them


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
    return pd.DataFrame(lines, columns=["protocol", *compact.COLUMNS]).astype(compact.TYPES)


@pytest.fixture
def record():
    return make_record


@pytest.fixture
def failed_record():
    return make_failed_record


@pytest.fixture
def fits(tmp_path):
    """Writer of a fit file: a name such as ``ep-000-004`` and records; its path."""

    def write(name, records, folder="fits"):
        first = records[0]
        path = tmp_path / folder / first["protocol"] / first["dataset"] / f"{name}.jsonl.gz"
        return store.write_records(path, records)

    return write


@pytest.fixture
def line():
    return make_line


@pytest.fixture
def failed():
    return make_failed


@pytest.fixture
def unconverged():
    return make_unconverged


@pytest.fixture
def seed_of():
    return make_seed


@pytest.fixture
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
def whole(run, published_csv):
    """Summary of `run`, without provenance."""
    return summary.summarise(run, Runs(), published_csv, folds=2)


@pytest.fixture
def table(whole):
    return whole.table


@pytest.fixture
def classification_fit(regression_fit):
    """The same of `tilted.experiments.pep_classification`."""

    def make(outcome="ok", run=None, **named):
        record = regression_fit(outcome, run, dataset="crabs", protocol="as-released", error=0.05, nll=0.25)
        record = {name: value for name, value in record.items() if name not in ("start", "smse", "smll")}
        if outcome == "failed":
            record |= dict.fromkeys(("error", "nll"))
        return {**record, "n_train": 180, "n_test": 20, **named}

    return make


@pytest.fixture
def regression_fit():
    """Function: a fit record of `tilted.experiments.pep`, with what is named changed."""

    def make(outcome="ok", run=None, **named):
        message = {"ok": "CONVERGENCE: done", "stopped": "STOP:  too many\n", "failed": "failed: no Kuu"}
        record = {
            "paper": "pep", "dataset": "boston", "split": 0, "alpha": 0.5, "m": 5, "start": "data",
            "n_train": 455, "n_test": 51, "nlml": 123.456789012345, "smse": 0.1234567890123, "smll": -1.25,
            "hyperparameters": {"variance": 1.0, "lengthscale": [1.0], "noise": 0.1},
            "status": {"converged": outcome == "ok", "evaluations": 77, "message": message[outcome]},
            "seconds": 1.5,
        }  # fmt: skip
        if outcome == "failed":
            record |= dict.fromkeys(("nlml", "smse", "smll", "hyperparameters"))
        return {**record, **named, **({"run": run} if run else {})}

    return make


@pytest.fixture(scope="session")
def browser():
    """The helper of tests that look at pages; they are skipped where there is no Chromium."""
    spec = importlib.util.spec_from_file_location("browser", Path(__file__).with_name("browser.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.program() is None:
        pytest.skip("no Chromium on this machine")
    return module
