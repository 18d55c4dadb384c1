"""Every call by which a file is opened, written, flushed, renamed or removed fails, one after the other.

The k-th call raises an error of the system, or the process ends there as by SIGKILL, k = 0, 1, 2, ... until a
run passes: what is read next is what was there before or all of the new, and the next run makes it all.
"""

import builtins
import contextlib
import errno
import hashlib
import io
import os
import shutil
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest

from papers import data
from papers.core import checkpoint, jobs, records, runs, store
from papers.core.study import Float, Integer, Study, Text, seconds
from papers.data import standard

CALLS = ("open", "fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
COLUMNS = {"dataset": Text(), "seed": Integer(), "score": Float(6), "seconds": seconds()}
ONE, TWO = (Study(f"toy/{name}", COLUMNS, key=("dataset", "seed")) for name in ("one.csv.gz", "two.csv"))
NOISE = np.random.default_rng(0).bytes(5000)
ENTRY = {"path": "sub/x.bin", "sha256": hashlib.sha256(NOISE).hexdigest(), "bytes": len(NOISE), "urls": []}


class Operation(NamedTuple):
    """What is disturbed: what was there before, what is done, and what of it is read afterwards."""

    before: Callable
    act: Callable
    seen: Callable


def lines(score, *seeds):
    return [{"dataset": "x", "seed": seed, "score": score, "seconds": 1.0} for seed in seeds]


def recorded(folder):
    return {study.file: tuple(records.load(study, folder)["score"]) for study in (ONE, TWO)}


def fold(folder, score, *seeds):
    stamp = {**runs.stamp(), "date": f"2026-01-0{int(score)}"}
    path = store.write_records(folder / "fits.gz", [{**line, "run": stamp} for line in lines(score, *seeds)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "rows_function", lambda path: lambda record: [(ONE, record)])
        return records.collect([path], folder / "results")


def put(folder, score):
    records.put(folder, {ONE: lines(score, 0, 1), TWO: lines(score, 0)})


def fetch(folder):
    with contextlib.suppress(data.DownloadError):  # which says what failed
        data.fetch(ENTRY, folder / "home", str(folder / "mirror"))


def mirror(folder):
    for name in ("mirror", "home"):
        (folder / name).mkdir()
    (folder / "home/sources.yaml").touch()  # only whether it is there is asked
    (folder / "mirror/x.bin").write_bytes(NOISE)


def fetched(folder):
    path = folder / "home/raw" / ENTRY["path"]
    return path.read_bytes() if path.exists() else b""


def written(folder, value):
    X = np.full((4, 2), value)
    path = folder / "standard/as-released/x.h5"
    standard.write_standard(standard.Dataset("x", "as-released", X, X[:, 0], ("a", "b"), {}), path)


def standardised(folder):
    path = folder / "standard/as-released/x.h5"
    return standard.read_standard(path).X[0, 0] if path.exists() else None


def grid(log, kept=()):
    """Records of a job that keeps what it made."""
    done = {record["x"]: record for record in kept}
    for x in range(4):
        yield done.get(x, {"x": x})


def make_grid(folder):
    jobs.make(folder / "fits/a.jsonl.gz", f"{__name__}:grid", {}, {}, "", {}, "key")


def grid_made(folder):
    path = folder / "fits/a.jsonl.gz"
    before = checkpoint.before(path, {"source": "key", "protocol": ""})
    assert [record["x"] for record in before] == list(range(len(before)))
    return [record["x"] for record in store.read_records(path)] if path.exists() else []


OPERATIONS = {
    "record": Operation(
        lambda f: fold(f, 1.0, 0, 1), lambda f: fold(f, 2.0, 1, 2), lambda f: recorded(f / "results")
    ),
    "two records": Operation(lambda f: put(f, 1.0), lambda f: put(f, 2.0), recorded),
    "download": Operation(mirror, fetch, fetched),
    "standardise": Operation(lambda f: written(f, 1.0), lambda f: written(f, 2.0), standardised),
    "grid": Operation(lambda f: None, make_grid, grid_made),
    "table": Operation(
        lambda f: store.write_text(f / "t", "1" * 9999),
        lambda f: store.write_text(f / "t", "2" * 9999),
        lambda f: (f / "t").read_text(),
    ),
}


class Disturbed:
    """Counts calls and does something in place of the k-th."""

    def __init__(self, k, act):
        self.left, self.act, self.came = k, act, False

    def count(self):
        self.left -= 1
        if self.left == -1:
            self.came = True
            self.act()

    def around(self, original):
        def call(*arguments, **more):
            self.count()
            return original(*arguments, **more)

        return call

    def opening(self, file, mode="r", *arguments, **more):
        """In place of `open`; what is written is counted too, and half of the failing piece gets there."""
        if not set(mode) & set("wxa+"):
            return OPEN(file, mode, *arguments, **more)
        self.count()
        opened = OPEN(file, mode, *arguments, **more)
        return Written(opened, self)


OPEN = open


class Written:
    """A file whose writes are counted."""

    def __init__(self, file, disturbed):
        self.file, self.disturbed = file, disturbed

    def __getattr__(self, name):
        return getattr(self.file, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, piece):
        half = len(piece) // 2
        written = self.file.write(piece[:half])
        self.disturbed.count()
        return written + self.file.write(piece[half:])


def disturb(k, act, work):
    """Call ``work`` with the k-th call disturbed; whether it came to that call."""
    disturbed = Disturbed(k, act)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, disturbed.around(getattr(os, name)))
        patch.setattr(builtins, "open", disturbed.opening)
        patch.setattr(io, "open", disturbed.opening)
        with contextlib.suppress(Failed):
            work()
    return disturbed.came


class Failed(OSError):
    pass


def fail():
    raise Failed(errno.EIO, "made to fail")


def killed(k, work):
    """The same in a process that ends at the k-th call."""
    child = os.fork()
    if child == 0:
        try:
            disturb(k, lambda: os._exit(9), work)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def left(folder):
    """What nobody should find once the next run is over."""
    return [path for path in folder.rglob(".*") if path.name != ".lock" and path.suffix != ".tmp"]


@pytest.mark.parametrize("how", ["error", "kill"])
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if "record" in name else ()) for name in OPERATIONS]
)
def test_every_call_may_fail(tmp_path, name, how):
    before, act, seen = OPERATIONS[name]
    first, whole = tmp_path / "first", tmp_path / "whole"
    first.mkdir()
    before(first)
    old = seen(first)
    shutil.copytree(first, whole)
    act(whole)
    new = seen(whole)
    assert new != old
    for k in range(1000):
        folder = tmp_path / str(k)
        shutil.copytree(first, folder)
        work = partial(act, folder)
        came = killed(k, work) if how == "kill" else disturb(k, fail, work)
        assert seen(folder) in (old, new), f"call {k}"
        work()
        assert seen(folder) == new and left(folder) == [], f"after call {k}"
        if not came:
            break
    assert 5 <= k < 999


def test_the_harness_can_fail(tmp_path):
    """A file written in place is found."""
    target = tmp_path / "x"
    target.write_text("old old")
    contents = set()
    for k in range(3):
        target.write_text("old old")
        killed(k, lambda: target.write_text("new new"))
        contents.add(target.read_text())
    assert contents == {"old old", "", "new new"}
