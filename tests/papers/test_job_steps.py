"""What jobs do, with the experiments themselves: those that tests/workflow does not run."""

import shutil

import pytest

from papers import configuration, data
from papers.core import jobs, records, store
from papers.data import standard
from papers.data.registry import task_of
from papers.pep.records import DIGITS
from papers.pesc.records import REGRET
from papers.qp import fits, protocols
from papers.qp import jobs as jobs_of_qp
from papers.qp.records import LOOKUP_EFFECT, LOOKUP_ERRORS
from papers.rep.records import BOUNDARY, EXACT, FITS

FOLDERS = {"name": "x", "results": "r", "tables": "t", "figures": "f"}


def made(tmp_path, config, *paths):
    """Make some files of a configuration in a folder, from files there; its jobs and records."""
    found = configuration.asked({**FOLDERS, **config})
    for path in paths:
        job = found.jobs[path]
        inputs = {
            name: str(tmp_path / given) if isinstance(given, str) else given
            for name, given in job.files.items()
        }
        log = tmp_path / f"{path}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        jobs.make(tmp_path / path, job.function, job.parameters, inputs, log, job.choices, job.source)
    return found


def joined(tmp_path, *paths):
    """Join files to the tables of a folder; the folder."""
    folder = tmp_path / "results"
    records.collect([tmp_path / path for path in paths], folder)
    assert records.damaged(folder) == []
    return folder


def test_a_search_becomes_lines_of_regret(tmp_path):
    path = "data/fits/pesc/searches/5/gp-0.jsonl.gz"
    found = made(tmp_path, {"pesc": {"searches": {"repeats": 1, "evaluations": 5}}}, path)
    frame = records.load(REGRET, joined(tmp_path, path))
    assert len(frame) == 3 == found.jobs[path].fits and set(frame["evaluations"]) == {5}


def test_a_training_becomes_measurements(tmp_path, mirror, monkeypatch):
    home = tmp_path / "data"
    home.mkdir()
    shutil.copy("data/sources.yaml", home)
    monkeypatch.setenv("TILTED_DATA", str(home))
    monkeypatch.setenv("TILTED_DATA_MIRROR", str(mirror))
    path = "data/fits/mnist/2/alpha0.5-m4-seed0.jsonl.gz"
    grid = {"alphas": [0.5], "m": [4], "seeds": 1, "steps": 2}
    made(tmp_path, {"mnist": {"one": grid, "two": grid}}, path)
    assert len((tmp_path / f"{path}.log").read_text(encoding="utf-8").splitlines()) == 2
    frame = records.load(DIGITS, joined(tmp_path, path))
    assert frame["step"].tolist() == [1, 2] and set(frame["outcome"]) == {"ok"}
    assert 0.05 < frame["error"].iloc[-1] < 0.5 and -0.69 < frame["log_likelihood"].iloc[-1] < -0.2


RELAXED = {
    "rep": {
        "sets": {"blobs": {"splits": 1, "block": 1, "flips": [0.1]}},
        "exact": {"split": 0, "chains": 4, "iterations": 16},
        "boundary": {"split": 0, "steps": 3},
    }
}
CHOICES = "data/fits/rep/choices/blobs-0.1/000.jsonl.gz"


def tried(tmp_path, **line):
    """Scores by which EP with lengthscale 1.5 is chosen on split 0."""
    scored = {"dataset": "blobs", "flips": 0.1, "split": 0, "method": "ep", "value": 1.0}
    scores = [{"lengthscale": 1.5, "error": 0.1, "nll": 0.3}, {"lengthscale": 3.0, "error": 0.2, "nll": 0.2}]
    store.write_records(tmp_path / CHOICES, [{**scored, **score, **line} for score in scores])


def test_relaxed_fits_and_pictures_use_the_parameters_that_were_chosen(tmp_path):
    tried(tmp_path)
    fits, exact, boundary = (
        f"data/fits/rep/{name}.jsonl.gz" for name in ("fits/blobs-0.1/000-000", "exact/0.1", "boundary/0.1")
    )
    made(tmp_path, RELAXED, fits, exact, boundary)
    folder = joined(tmp_path, fits)
    joined(tmp_path, exact)
    joined(tmp_path, boundary)
    (fit,) = records.load(FITS, folder).to_dict("records")
    assert (fit["method"], fit["lengthscale"], fit["chosen_on"], fit["outcome"]) == (
        "ep",
        1.5,
        0,
        "converged",
    )
    (picture,) = records.load(EXACT, folder).to_dict("records")
    assert (picture["chains"], picture["iterations"], picture["lengthscale"]) == (4, 16, 1.5)
    assert set(records.load(BOUNDARY, folder)["method"]) == {"bayes", "ep"}


@pytest.mark.parametrize("line", [{"dataset": "heart"}, {"flips": 0.2}])
def test_parameters_chosen_for_another_set_are_refused(tmp_path, line):
    tried(tmp_path, **line)
    with pytest.raises(store.RecordError, match="000.jsonl.gz: not of blobs with flips 0.1"):
        made(tmp_path, RELAXED, "data/fits/rep/fits/blobs-0.1/000-000.jsonl.gz")


@pytest.mark.slow
def test_parameters_are_chosen_by_cross_validation(tmp_path):
    fits = "data/fits/rep/fits/blobs-0.1/000-000.jsonl.gz"
    made(tmp_path, RELAXED, CHOICES, fits)
    folder = joined(tmp_path, CHOICES)
    joined(tmp_path, fits)
    assert len(records.load(FITS, folder)) > 3


def test_every_fold_starts_from_its_own_tuning(tmp_path, monkeypatch):
    """QP of labels from EP's first, seeds 2 and 3, ten folds: each lengthscale says where it is from."""
    placed(tmp_path, "wine13")
    starts = tmp_path / "data/fits/qp/as-released/wine13/ep-002-003.jsonl.gz"
    about = {"protocol": "as-released", "dataset": "wine13"}
    tuned = [
        {**about, "method": method, "seed": seed, "fold": fold, "number": second + 10 * seed + fold}
        for seed in (2, 3)
        for fold in range(10)
        for second, method in ((0, "ep-tune"), (100, "ep"))
    ]
    store.write_records(starts, tuned[::-1])
    seen = []

    def noted(dataset, protocol, method, seed, fold, start=None, table=None):
        seen.append((method, seed, fold, start["number"]))
        return []

    monkeypatch.setattr(fits, "run_fold", noted)
    inputs = {"data": str(tmp_path / "data/standard/as-released/wine13.h5"), "start": str(starts)}
    assert not list(fits.fit_block("as-released", "wine13", "qp", 2, 3, **inputs, log=tmp_path / "log"))
    assert seen == [("qp", seed, fold, 10 * seed + fold) for seed in (2, 3) for fold in range(10)]


def test_a_job_asks_for_the_data_and_the_start_of_its_protocol():
    """Also of a derived one, whose difference may be the variant."""
    rows = {"wine13": {"seeds": 4, "block": 2}}
    config = {protocol: {"methods": ["ep", "qp"], "rows": rows} for protocol in protocols.names()}
    asked = configuration.asked({**FOLDERS, "qp": config}).jobs
    for protocol in ("as-released", "as-described", "corrected"):
        folder = f"data/fits/qp/{protocol}/wine13"
        job = asked[f"{folder}/qp-002-003.jsonl.gz"]
        assert job.files["data"] == f"data/standard/{protocol}/wine13.h5"
        assert job.files["start"] == f"{folder}/ep-002-003.jsonl.gz"
    derived = [name for name in protocols.derived() if "+" in name]
    assert len(derived) > 10
    variants = set()
    for name in derived:
        for dataset in ("wine13", "coal"):
            try:
                choices = protocols.block(name, task_of(dataset))
            except ValueError:  # changes nothing for these
                continue
            job = jobs_of_qp._fit(name, dataset, "ep", 0, 0)
            assert job.files["data"] == f"data/standard/{choices['variant']}/{dataset}.h5"
            variants.add(choices["variant"])
    assert len(variants) > 1


def placed(tmp_path, name):
    """Write the standard file of a data set."""
    target = tmp_path / f"data/standard/as-released/{name}.h5"
    target.parent.mkdir(parents=True, exist_ok=True)
    standard.write_standard(data.load(name), target)


@pytest.mark.slow
def test_the_study_of_tables_from_fits_to_its_records(tmp_path):
    study = {"points": 10, "timed_rows": 1, "seeds": 1, "protocols": {"as-released": ["coal"]}}
    placed(tmp_path, "coal")
    effect = "data/lookup/effect/as-released/coal.jsonl.gz"
    ep = "data/fits/qp/as-released/coal/ep-000-000.jsonl.gz"
    wanted = {"lookup": {"table": {"counts": [2]}, "study": study}}
    errors = "data/lookup/errors/10.jsonl.gz"
    made(tmp_path, wanted, "data/lookup/probit.table", ep, effect, errors)
    folder = joined(tmp_path, effect, errors)
    assert set(records.load(LOOKUP_EFFECT, folder)["dataset"]) == {"coal"}
    assert set(records.load(LOOKUP_ERRORS, folder)["y"]) == {1, 2}
