"""The same record whatever the worker, the number of cores, the size of a block or its place in the order."""

import json
import os
import random
import subprocess
import sys

import pytest

from papers import data
from papers.pep import classification as pep_classification
from papers.pep import regression as pep
from papers.qp import fits as qp
from papers.rep import points as rep_points

TIMES = ("seconds", "run")
GRID = {"protocol": "as-described", "alphas": [0.5], "m": [3]}
CLASSES = {"protocol": "as-released", "alphas": [0.5], "m": [3]}
STUDIES = {
    "ep, counts": lambda block: qp.run_job(data.load("coal"), "as-released", "ep", block),
    "vb, counts": lambda block: qp.run_job(data.load("coal"), "as-released", "vb", block),
    "relaxed ep, five points": rep_points.study,
    "power ep, regression": lambda block: pep.run_block("synthetic", block, GRID),
}
LONG = {
    "ep, labels": lambda block: qp.run_job(data.load("wine13"), "as-released", "ep", block),
    "power ep, labels": lambda block: pep_classification.run_block("banana", block, CLASSES),
}


def plain(records):
    """Records as they are written, without times, in one order."""
    return sorted(json.dumps({k: v for k, v in record.items() if k not in TIMES}) for record in records)


def shuffled(indices, size, rng):
    """Blocks of so many indices; neither they nor what is in them in order."""
    blocks = [rng.sample(indices[i : i + size], size) for i in range(0, len(indices), size)]
    return rng.sample(blocks, len(blocks))


def same_in_other_blocks(study):
    """In one block and in shuffled ones of another size: the same bytes."""
    indices, rng = [0, 1, 2, 3], random.Random(3)
    expected = plain(study(indices[:2])) + plain(study(indices[2:]))
    assert len(expected) >= 4 and len(set(expected)) == len(expected)
    blocks = shuffled(indices, 1, rng)
    assert [block[0] for block in blocks] != indices
    assert plain_of(study, blocks) == sorted(expected)
    assert plain_of(study, [[2, 0, 3, 1]]) == sorted(expected)


def plain_of(study, blocks):
    return sorted(line for block in blocks for line in plain(study(block)))


@pytest.mark.parametrize("name", STUDIES)
def test_blocks_of_other_sizes_in_another_order(name):
    same_in_other_blocks(STUDIES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_blocks_of_other_sizes_in_another_order_of_longer_fits(name):
    same_in_other_blocks(LONG[name])


THREADS = """
import json, sys
from papers import data
from papers.qp import fits as qp
from tilted.kernels import SquaredExponential
name, method, variance, lengthscale = json.loads(sys.argv[1])
kernel = SquaredExponential(variance, lengthscale)
(record,) = qp.run_cell(data.load(name), "as-released", method, 0, 0, fixed=kernel)
print(json.dumps([record["log_evidence"], record["ntll"], record["status"]["converged"]]))
"""


@pytest.mark.parametrize(
    "name, method", [("wine13", "ep"), ("wine13", "qp"), ("coal", "ep"), ("wine12", "vb")]
)
def test_evidence_does_not_depend_on_the_number_of_threads(name, method):
    """At recorded hyperparameters: 1e-8 relative, with one BLAS thread and with several."""
    found = [evidence(name, method, threads) for threads in (1, 4)]
    assert found[0][2] and found[1][2]
    for one, several in zip(found[0][:2], found[1][:2], strict=True):
        assert several == pytest.approx(one, rel=1e-8)
    assert evidence(name, method, 1) == found[0]  # another worker: the same bytes


def evidence(name, method, threads):
    variables = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    cell = json.dumps([name, method, 2.5, 1.7 if name != "coal" else 9.0])
    out = subprocess.run(
        [sys.executable, "-c", THREADS, cell],
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    return json.loads(out.stdout)


POOLS = """
import json
import numpy, scipy.linalg  # whose pools of threads are asked about
from threadpoolctl import threadpool_info

pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
open(snakemake.output[0], "w").write(json.dumps(pools))
"""
RULE = """
include: "Snakefile"

rule pools:
    output: "pools.json"
    threads: 1
    script: "pools.py"
"""


def test_a_job_has_one_blas_thread(fresh):
    """Whatever the environment says; that every rule says one is in tests/workflow/test_profiles.py."""
    (fresh.folder / "pools.py").write_text(POOLS, encoding="utf-8")
    (fresh.folder / "pools.smk").write_text(RULE, encoding="utf-8")
    four = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "4")
    fresh("--snakefile", "pools.smk", "pools", **four)
    pools = json.loads((fresh.folder / "pools.json").read_text(encoding="utf-8"))
    assert pools and {*pools} == {1}
