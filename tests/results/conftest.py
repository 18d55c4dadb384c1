"""Synthetic records: values chosen so that every expected number can be worked out by hand."""

import pytest

from tilted.results import published

PUBLISHED = """\
row,m,n,metric,scale,EP,EP_sd,QP,QP_sd,VB,VB_sd,asterisk
Wine1,130,13,TE,1e-2,10.0,2.0,12.0,2.0,14.0,4.0,
Wine2,107,13,TE,1e-2,0.0,0.0,0.0,0.0,0.0,0.0,
Mining,112,1,TE,1e-2,118.6,27.0,118.6,27.0,170.3,15.9,
Wine1,130,13,NTLL,1e-3,200.0,50.0,190.0,50.0,300.0,20.0,yes
Wine2,107,13,NTLL,1e-3,18.0,1.2,17.8,1.2,26.7,1.9,yes
Mining,112,1,NTLL,1e-3,1606.8,116.3,1606.5,116.3,2007.3,119.8,no
"""


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
        "status": {"converged": True, "sweeps": 12, "residual": 1e-9, "message": "converged"},
        "test_error": 0.1,
        "ntll": 0.2,
        "test_log_density": [-0.1, -0.3],
        "latent_mean": [0.5, -0.5],
        "latent_variance": [1.0, 4.0],
        "seconds": 0.3,
    }
    return record | changes


def make_failed(reason="cavity variance is negative", **where):
    nothing = dict.fromkeys(
        ["log_evidence", "test_error", "ntll", "test_log_density", "latent_mean"] + ["latent_variance"]
    )
    return make_record(**where, **nothing, status={"converged": False, "message": reason})


def make_unconverged(reason="1000 evaluations", **where):
    return make_record(**where, status={"converged": False, "message": reason})


def make_seed(errors, ntlls=None, **where):
    """One record a fold, with these test errors and NTLLs in natural units."""
    ntlls = errors if ntlls is None else ntlls
    return [
        make_record(fold=fold, test_error=error, ntll=ntll, **where)
        for fold, (error, ntll) in enumerate(zip(errors, ntlls, strict=True))
    ]


@pytest.fixture
def record():
    return make_record


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
def published_csv(tmp_path):
    path = tmp_path / "published.csv"
    path.write_text(PUBLISHED)
    return path


@pytest.fixture
def run(published_csv):
    """Records of a small run with every kind of trouble in it, two folds a seed."""
    records = []
    for method, error in (("ep", 0.1), ("qp", 0.12), ("vb-joint", 0.2), ("vb", 0.11)):
        for dataset in ("wine12", "wine13"):
            records += make_seed([error, error], dataset=dataset, method=method)
            records += make_seed([error, 3 * error], dataset=dataset, method=method, seed=1)
        records.append(make_record(dataset="coal", method=method, test_error=1.2, ntll=1.6))
    bad = [
        make_failed(method="qp", fold=1, seed=1),
        make_unconverged("1000\n evaluations & more", method="vb-joint", fold=0),
    ]
    keys = {(r["method"], r["seed"], r["fold"]) for r in bad}
    kept = [r for r in records if r["dataset"] != "wine12" or (r["method"], r["seed"], r["fold"]) not in keys]
    return kept + bad


@pytest.fixture
def table(run, published_csv):
    from tilted.results.aggregate import summarise

    return published.compare(summarise(run, folds=2), published_csv)
