"""A workflow of seconds, ways to disturb it, and what must hold afterwards."""

import csv
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from papers.core import store

TINY = """\
name: tiny
results: results/tiny
tables: tables/tiny
figures: figures/tiny
qp:
  as-released:
    methods: [ep, qp]
    rows:
      coal: {seeds: 2, block: 1}
"""
MADE = ("data/fits", "data/standard", "results", "tables", "figures")
HELD = """
import os, pathlib, time
from papers.core import store

write = store.write_records


def held(lines):
    # with a file `hold-SEED` in the working folder: stop after the first record, the file half written
    for number, line in enumerate(lines):
        yield line
        hold = pathlib.Path(f"hold-{snakemake.params.parameters['first']}")
        if number == 0 and hold.exists():
            pathlib.Path(f"held-{os.getpid()}").touch()
        while number == 0 and hold.exists():
            time.sleep(0.05)


store.write_records = lambda path, lines, *place: write(path, held(lines), *place)
"""


def interruptible():
    """To be called in a child: signals end it, also where these tests run in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run:
    """A copy of the repository with the tiny configuration, and snakemake in it."""

    def __init__(self, folder):
        self.folder = folder

    def start(self, *arguments, child=interruptible, **variables):
        """Start snakemake in a session of its own, so that it can be killed with all its children."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src"), **variables}
        environment.pop("TILTED_DATA", None)
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
        return subprocess.Popen(
            [*command, "--configfile", "config/small.yaml"],
            cwd=self.folder,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=child,
        )

    def __call__(self, *arguments, code=0, **options):
        """Run snakemake to its end; what it printed."""
        return finished(self.start(*arguments, **options), code)

    def hold(self, seed):
        """Let the fits of a seed stop midway."""
        script = self.folder / "workflow/scripts/fit.py"
        text = script.read_text(encoding="utf-8")
        if HELD not in text:
            script.write_text(HELD + text, encoding="utf-8")
        (self.folder / f"hold-{seed}").touch()

    def held(self):
        """Process that stopped midway, once there is one."""
        for _ in range(60_000):  # 20 minutes: a machine may be loaded
            if found := list(self.folder.glob("held-*")):
                found[0].unlink()
                return int(found[0].name.partition("-")[2])
            time.sleep(0.02)
        raise AssertionError("no fit stopped midway")

    def release(self):
        """Let every fit go on."""
        for path in self.folder.glob("hold-*"):
            path.unlink()

    def partial(self):
        """Files half written, which those of a killed writer stay."""
        return [path for top in MADE for path in (self.folder / top).rglob(".*.tmp")]

    def forget(self, *patterns):
        """Remove what a part of the run made, so that it is made again."""
        for pattern in patterns:
            found = list(self.folder.glob(pattern))
            assert found, pattern
            for path in found:
                path.unlink()


def finished(process, code=0):
    """What a process prints until it ends with this exit status."""
    out, _ = process.communicate(timeout=1800)
    assert process.returncode == code, f"exit status {process.returncode}\n{out}"
    return out


def kill_all(process):
    """SIGKILL to a process and its children."""
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


NAMED = re.compile(r"\d{4}-\d\d-\d\d-[0-9a-f]{8}")
"""A run, whose name follows from the times in its lines."""


def numbers(path):
    """A product without times and the parameters of jobs (their blocks): what runs have in common."""
    content = path.read_bytes()
    if path.name == "SHA256SUMS":
        return [line.split()[1] for line in content.decode().splitlines()]
    if path.name.endswith(".jsonl.gz"):
        lines = store.read_records(path)
        own = {"date": "", "parameters": ""}
        return [json.dumps({**line, "seconds": 0, "run": {**line["run"], **own}}) for line in lines]
    if path.name.endswith((".csv.gz", "runs.csv")):
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        lines = list(csv.reader(NAMED.sub("run", text).splitlines()))
        kept = [i for i, name in enumerate(lines[0]) if name not in ("seconds", "core_seconds", "date")]
        return [[line[i] for i in kept] for line in lines]
    return content


def products(folder, tops=MADE):
    """Every product of a run, by its path; what a killed writer left is none."""
    paths = [path for top in tops for path in (folder / top).rglob("*") if path.is_file()]
    paths = [path for path in paths if path.suffix != ".tmp"]
    return {str(path.relative_to(folder)): numbers(path) for path in paths}


def assert_same(run, reference):
    """The products of a run are those of the undisturbed one: no file more or less, no byte different."""
    made, wanted = products(run.folder), products(reference.folder)
    assert sorted(made) == sorted(wanted)
    assert [name for name in wanted if made[name] != wanted[name]] == []


def dated(folder):
    """The folder, where every day is the same: products say on which days the fits were made."""
    module = folder / "src/papers/core/runs.py"
    text = module.read_text(encoding="utf-8")
    assert "datetime.now(UTC).date()" in text
    module.write_text(
        text.replace("datetime.now(UTC).date()", "datetime(2026, 1, 2).date()"), encoding="utf-8"
    )
    return folder


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory, copy_of_repository):
    """A run that nothing disturbs."""
    run = Run(dated(copy_of_repository(tmp_path_factory.mktemp("undisturbed"), TINY)))
    run()
    assert len(products(run.folder)) > 20
    return run


@pytest.fixture
def fresh(tmp_path, copy_of_repository):
    """A copy of the repository in which nothing ran."""
    run = Run(dated(copy_of_repository(tmp_path / "fresh", TINY)))
    yield run
    run.release()


@pytest.fixture
def done(tmp_path, undisturbed):
    """A copy of the undisturbed run, Snakemake's notes included."""
    folder = tmp_path / "done"
    shutil.copytree(undisturbed.folder, folder)
    run = Run(folder)
    yield run
    run.release()


@pytest.fixture(scope="session")
def tools():
    """`finished`, `kill_all`, `assert_same`, `products`, `numbers`: this file cannot be imported."""
    names = (finished, kill_all, assert_same, products, numbers)
    return type("Tools", (), {f.__name__: staticmethod(f) for f in names})


@pytest.fixture(scope="session")
def repository():
    """The root of the repository."""
    return Path(__file__).resolve().parents[2]
