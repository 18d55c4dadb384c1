"""Kills, full disks and restarts at random, over a small set of jobs; minutes, or as long as `SOAK` says.

    SOAK=3600 SOAK_SEED=7 python -m pytest -m slow tests/faults/test_soak.py -s

The jobs go the way of the workflow's: files of fits by `jobs.make`, folded into a record, drawn as a table.
"""

import os
import resource
import shutil
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from papers.evidence import files, jobs, records, store
from papers.evidence.study import Study

SECONDS = float(os.environ.get("SOAK", 300))
SEED = int(os.environ.get("SOAK_SEED", 0))
STUDY = Study(
    "toy/fits.csv.gz",
    ("dataset", "seed", "score"),
    ("dataset", "seed"),
    {"score": 6},
    ("dataset",),
    order=("dataset", "seed"),
    group=("dataset",),
)
SETS, BLOCKS, SIZE = ("coal", "wine12"), 6, 40
LEAST = 64, 20_000
"""Bytes that a file may have on a disk that is full: from nothing to almost all."""


def fits(dataset, first, log, kept=()):
    """Stands for an experiment that keeps what it made."""
    done = {record["seed"]: record for record in kept if record["dataset"] == dataset}
    for seed in range(first, first + SIZE):
        score = np.random.default_rng((seed, len(dataset))).normal()
        yield done.get(seed) or {"dataset": dataset, "seed": seed, "score": score}


def run(folder):
    """What is missing is made; then the record and the table."""
    files.sweep(folder)
    paths = []
    for dataset in SETS:
        for block in range(BLOCKS):
            path = folder / "fits" / dataset / f"{block}.jsonl.gz"
            paths.append(path)
            if not path.exists():
                given = {"dataset": dataset, "first": block * SIZE}
                jobs.make(path, f"{__name__}:fits", given, {}, "", {}, "code")
    records.fold_in(STUDY, paths, folder / "results")
    lines = records.load(STUDY, folder / "results")
    store.write_text(folder / "table.csv", lines.drop(columns="run").to_csv(index=False))


def products(folder):
    """Path -> bytes of everything that is there."""
    found = (
        p for p in sorted(folder.rglob("*")) if p.is_file() and p.name != ".lock" and p.suffix != ".kept"
    )
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def child(work, limit=None):
    """Start work in a process of its own, whose files may have so many bytes."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        if limit is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        work()
        code = 0
    except OSError as error:
        code = 28 if "File too large" in str(error) else 1
    finally:
        os._exit(code)


def status(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def soak(folder, whole, length, seconds, rng):
    """Disturb runs until the time is over; how often by what. After each what is there is right."""
    count, end = Counter(), time.monotonic() + seconds
    while time.monotonic() < end:
        fault = str(rng.choice(["kill", "kill two", "full disk", "lost"]))
        if fault == "lost":  # what somebody deletes, as told
            there = sorted(p for p in (folder / "fits").rglob("*.gz")) if folder.exists() else []
            for path in there:
                if rng.random() < 0.3:
                    path.unlink()
        limit = int(rng.integers(*LEAST)) if fault == "full disk" else None
        running = [child(lambda: run(folder), limit) for _ in range(2 if fault == "kill two" else 1)]
        if fault.startswith("kill"):
            time.sleep(rng.random() * length)
            for process in running:
                os.kill(process, signal.SIGKILL)
        codes = [status(process) for process in running]
        assert set(codes) <= {0, 28, -signal.SIGKILL}, (fault, codes)
        count[fault, "struck" if any(codes) else "came too late"] += 1
        assert records.wrong(folder / "results") == [] if (folder / "results").exists() else True
        left = {
            name: content for name, content in products(folder).items() if name.startswith(("fits", "tab"))
        }
        assert {n for n in left if "/." not in n and left[n] != whole[n]} == set(), fault
        if rng.random() < 0.2 or (folder / "table.csv").exists() and rng.random() < 0.3:
            assert status(child(lambda: run(folder))) == 0
            assert products(folder) == whole
            count["restarted", "whole"] += 1
            shutil.rmtree(folder)
    return count


@pytest.mark.slow
def test_an_hour_of_faults(tmp_path):
    """Or five minutes: after each nothing is wrong, and a run that nothing disturbs makes the same bytes."""
    shared = Path("/dev/shm")
    place = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else tmp_path))
    try:
        run(place / "first")  # imports, and what the stamp of a run asks for once
        began = time.monotonic()
        run(place / "whole")
        length = time.monotonic() - began
        whole = products(place / "whole")
        assert len(whole) == len(SETS) * BLOCKS + 4
        count = soak(place / "soaked", whole, length, SECONDS, np.random.default_rng(SEED))
    finally:
        shutil.rmtree(place)
    print(f"seed {SEED}, {SECONDS:.0f} s: {sum(count.values())} rounds, {dict(sorted(count.items()))}")
    assert min(count[fault, "struck"] for fault in ("kill", "kill two", "full disk")) > 0
    assert count["restarted", "whole"] > 0
