"""Commands that are killed, interrupted, or started twice at once."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import papers

HERE = Path(papers.__file__).parents[2]


LONG = """
import os, sys, time
from joblib import Parallel, delayed
from papers import cli

def work(kind):
    open(f"worker-{os.getpid()}", "w").close()
    if kind == "killed":
        os.kill(os.getpid(), 9)
    if kind == "memory":
        raise MemoryError("no more memory")
    time.sleep(600)

two = lambda options: Parallel(n_jobs=2)(delayed(work)(sys.argv[1]) for _ in range(2))
cli.VERBS["datasets"] = cli.VERBS["datasets"]._replace(run=two)
sys.exit(cli.main(["datasets"]))
"""


def at_their_default():
    """To be called in a child: signals are as in a terminal, also where these tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    "kind, code, said",
    [
        ("killed", 2, "SIGKILL"),
        pytest.param("memory", 2, "no more memory", marks=pytest.mark.slow),
        pytest.param("SIGTERM", 130, "interrupted", marks=pytest.mark.slow),
        ("SIGINT", 130, "interrupted"),
    ],
)
def test_a_command_whose_worker_or_itself_is_killed(tmp_path, kind, code, said):
    """A sentence, no traceback, and no worker left behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", LONG, kind],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE / "src")},
        preexec_fn=at_their_default,
    )
    workers = []
    while len(workers) < (2 if code == 130 else 1):
        time.sleep(0.02)
        workers = [int(path.name.partition("-")[2]) for path in tmp_path.glob("worker-*")]
    if code == 130:
        process.send_signal(getattr(signal, kind))
    error = process.communicate(timeout=120)[1]
    assert process.returncode == code and error.startswith("tilted: ") and said in error
    assert "Traceback" not in error
    for _ in range(500):
        if not any(alive(worker) for worker in workers):
            break
        time.sleep(0.02)
    else:
        raise AssertionError("workers live on")


def alive(process):
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return False
    return "State:\tZ" not in status


FOLD = ("records", "--fits", "data/fits", "--records")


DRAW = ("tables", "--records", "results/tiny", "--tables", "drawn/tables", "--figures", "drawn/figures")


def command(folder, *arguments):
    """Start `tilted` in a folder, by the code there."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "MPLCONFIGDIR": str(folder / "cache")}
    return subprocess.Popen(
        [sys.executable, "-m", "papers", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def everything(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("what", ["tables", "records"])
def test_two_commands_at_once(done, tools, what):
    """Each ends well, and together they leave what one alone leaves."""
    arguments = DRAW if what == "tables" else (*FOLD, "drawn")
    tools.finished(command(done.folder, *arguments))
    alone = everything(done.folder / "drawn")
    assert len(alone) > 3
    shutil.rmtree(done.folder / "drawn")
    for process in [command(done.folder, *arguments) for _ in range(2)]:
        tools.finished(process)
    assert everything(done.folder / "drawn") == alone
