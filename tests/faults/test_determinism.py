"""The same record whatever the worker, the number of cores, the size of a block or its place in the order."""

import json
import os
import random
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

import pytest

from papers import data
from papers.pep import classification as pep_classification
from papers.pep import jobs as pep_jobs
from papers.pep import regression as pep
from papers.qp import fits as qp
from papers.rep import points as rep_points

TIMES = ("seconds", "run")
GRID = {"protocol": "as-described", "alphas": [0.5], "m": [3]}
CLASSES = {"protocol": "as-released", "alphas": [0.5], "m": [3]}
STUDIES = {
    "ep, counts": lambda block: qp.run_job(data.load("coal"), "as-released", "ep", block),
    "vb, counts": lambda block: qp.run_job(data.load("coal"), "as-released", "vb", block),
    "power ep, regression": lambda block: pep_jobs.run_block(pep, "synthetic", block, GRID),
    "relaxed ep, five points": rep_points.study,
    "ep, labels": lambda block: qp.run_job(data.load("wine13"), "as-released", "ep", block),
    "power ep, labels": lambda block: pep_jobs.run_block(pep_classification, "banana", block, CLASSES),
}


def plain(records):
    """Records as they are written, without times, in one order."""
    return sorted(json.dumps({k: v for k, v in record.items() if k not in TIMES}) for record in records)


def shuffled(indices, size, rng):
    """Blocks of so many indices; neither they nor what is in them in order."""
    blocks = [rng.sample(indices[i : i + size], size) for i in range(0, len(indices), size)]
    return rng.sample(blocks, len(blocks))


def plain_of(study, blocks):
    return sorted(line for block in blocks for line in plain(study(block)))


QUICK = ("ep, counts", "power ep, regression")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in STUDIES]
)
def test_blocks_of_other_sizes_in_another_order(name):
    """In one block and in shuffled ones of another size: the same bytes."""
    study, indices, rng = STUDIES[name], [0, 1, 2, 3], random.Random(3)
    expected = plain(study(indices[:2])) + plain(study(indices[2:]))
    assert len(expected) >= 4 and len(set(expected)) == len(expected)
    blocks = shuffled(indices, 1, rng)
    assert [block[0] for block in blocks] != indices
    assert plain_of(study, blocks) == sorted(expected)
    assert plain_of(study, [[2, 0, 3, 1]]) == sorted(expected)


@pytest.mark.parametrize("name", QUICK)
def test_the_number_of_workers_changes_nothing(name):
    """Blocks made side by side: the bytes of each are those of one after the other."""
    blocks = [[0], [1], [2], [3]]
    with ProcessPoolExecutor(4, get_context("fork")) as pool:
        assert list(pool.map(partial(made, name), blocks)) == [made(name, block) for block in blocks]


def made(name, block):
    return plain(STUDIES[name](block))


THREADS = """
import json
from papers import data
from papers.qp import fits as qp
from papers.qp.accuracy import exact_posterior as truth
from tilted.kernels import SquaredExponential

def cell(name, method, kernel=None):
    record = qp.run_fold(data.load(name), "as-released", method, 0, 0, fixed=kernel)[0]
    assert record["status"]["converged"]
    hyperparameters = {} if kernel else record["hyperparameters"]
    return {"evidence": record["log_evidence"], "ntll": record["ntll"], **hyperparameters}

def sampled(kernel):
    found = truth.run(data.load("wine13"), truth.Effort(16, 40, 32, 0.97), kernel)
    return {"evidence": found["log_evidence"], "mean": found["latents"]["test"]["mean"][0]}

given = [("wine13", "ep", 1.7), ("wine12", "vb", 1.7), ("coal", "ep", 9.0)]
print(json.dumps({
    "given": {f"{n} {m}": cell(n, m, SquaredExponential(2.5, l)) for n, m, l in given},
    "searched": {m: cell("coal", m) for m in ("ep", "vb")},
    "sampled": {"wine13": sampled(SquaredExponential(30.0, 5.0))},
}))
"""
NUMBERS = Path(__file__).with_name("numbers.json")
BOUNDS = {"given": 1e-8, "searched": 1e-6, "sampled": 1e-8}
"""Largest difference with one BLAS thread and with two, relative to 1 or, if that is larger, the number."""


@pytest.fixture(scope="module")
def numbers():
    """Function of a number of threads: what a new process finds with so many."""

    @cache
    def run(threads):
        variables = dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads)
        )
        variables["OPENBLAS_THREAD_TIMEOUT"] = "4"  # waiting threads leave the processor to others
        command = [sys.executable, "-c", THREADS]
        done = subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True)
        return json.loads(done.stdout)

    return run


def differences(ones, others):
    """Of all numbers, relative to 1 or, if that is larger, the first."""
    for name, values in ones.items():
        for quantity, value in values.items():
            yield f"{name}, {quantity}", abs(others[name][quantity] - value) / max(1, abs(value))


@pytest.mark.slow
@pytest.mark.parametrize("what", BOUNDS)
def test_numbers_with_one_blas_thread_and_with_two(what, numbers):
    assert [x for x in differences(numbers(1)[what], numbers(2)[what]) if not x[1] <= BOUNDS[what]] == []


@pytest.mark.parametrize("what", BOUNDS)
def test_the_numbers_of_another_python_and_machine(what, numbers):
    """`NUMBERS` are those of Python 3.11 with the locked packages, one thread, on an x86-64 of AMD."""
    theirs = json.loads(NUMBERS.read_text(encoding="utf-8"))[what]
    assert [x for x in differences(theirs, numbers(1)[what]) if not x[1] <= BOUNDS[what]] == []
