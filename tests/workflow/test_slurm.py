"""The workflow through a real Slurm on this machine: the artifacts of a local run, a killed job included.

Slurm is brought up by tools/slurm-one-node.sh, and taken down again. Where it is not installed, these tests
are skipped, unless TILTED_INSTALL_SLURM is set: then Debian's packages are installed, and removed at the end.
"""

import csv
import gzip
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "slurm-one-node.sh"
SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
qp:
  as-released:
    methods: [ep, qp]
    rows:
      wine13: {seeds: 1, block: 1}
      coal: {seeds: 4, block: 2}
"""
TIMES = ("seconds", "core_seconds", "date")


def why_not():
    """Why there can be no Slurm here, if so."""
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "Snakemake's Slurm plugin is not installed: make cluster"
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can bring up a Slurm"
    if shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        return None
    if not (shutil.which("apt-get") and os.environ.get("TILTED_INSTALL_SLURM")):
        return "Slurm is not installed; on Debian, TILTED_INSTALL_SLURM=1 installs it for these tests"
    return None


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Folder of a running Slurm's logs."""
    if reason := why_not():
        pytest.skip(reason)
    base = tmp_path_factory.mktemp("node")
    environment = {**os.environ, "SLURM_TEST_BASE": str(base)}
    installed = subprocess.run([SCRIPT, "install"], env=environment, capture_output=True, text=True)
    if installed.returncode:
        pytest.skip(f"Debian's packages of Slurm cannot be had here: {installed.stderr.strip()[-200:]}")
    try:
        subprocess.run([SCRIPT, "start"], env=environment, check=True, stdout=subprocess.DEVNULL)
        yield base / "log"
    finally:
        subprocess.run([SCRIPT, "stop"], env=environment, check=True)
        subprocess.run([SCRIPT, "remove"], env=environment, check=True, stdout=subprocess.DEVNULL)


def started(folder, log, *arguments):
    """Snakemake in a copy of the repository, its output in a file."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "snakemake", *arguments]
    with log.open("w") as stream:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)


def waited(condition, seconds):
    """What a condition gives as soon as it gives anything."""
    for _ in range(int(seconds / 0.2)):
        if found := condition():
            return found
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def running_fits(folder):
    """Slurm's number of a job that has begun to fit."""
    if not list((folder / "logs" / "fit").glob("*.log")):
        return None
    jobs = queue("-t", "R", "-o", "%i %k").splitlines()
    return next((line.split()[0] for line in jobs if "_fits_" in line), None)


def queue(*options):
    """What Slurm has in its queue."""
    return subprocess.run(["squeue", "-h", *options], capture_output=True, text=True, check=True).stdout


def accounted(log):
    """Job's number -> state, from Slurm's record of ended jobs."""
    return dict(re.findall(r"^JobId=(\d+) .*?JobState=(\w+)", (log / "jobcomp.log").read_text(), re.M))


def without_times(value):
    """A record without what is allowed to differ."""
    if isinstance(value, dict):
        return {key: without_times(part) for key, part in value.items() if key not in TIMES}
    return [without_times(part) for part in value] if isinstance(value, list) else value


def content(path):
    """What must be the same in two runs: the bytes, but for times and days in records."""
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    name = path.name.removesuffix(".gz")
    if name.endswith((".json", ".jsonl")):
        lines = [data] if name.endswith(".json") else data.splitlines()
        return [without_times(json.loads(line)) for line in lines]
    if name.endswith(".csv"):
        return [
            {name: value for name, value in row.items() if name not in TIMES}
            for row in csv.DictReader(data.decode().splitlines())
        ]
    return data


def products(folder):
    """Every file that a run leaves, by its place."""
    kinds = ("data/fits", "results/preview", "tables/preview", "figures/preview")
    files = (path for kind in kinds for path in (folder / kind).rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path for path in files}


@pytest.mark.parametrize("config", ["small", pytest.param("preview", marks=pytest.mark.slow)])
def test_a_run_through_slurm_with_a_job_killed_is_a_local_run(slurm, tmp_path, copy_of_repository, config):
    local, cluster = (copy_of_repository(tmp_path / name, SMALL) for name in ("local", "cluster"))
    chosen = ["--configfile", f"config/{config}.yaml"]
    undisturbed = started(local, tmp_path / "local.log", "--cores", "2", *chosen)
    assert undisturbed.wait(1200) == 0, (tmp_path / "local.log").read_text()
    log = tmp_path / "cluster.log"
    before = accounted(slurm) if (slurm / "jobcomp.log").is_file() else {}
    quick = "--latency-wait 10 --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2"
    run = started(cluster, log, "--profile", "profiles/slurm", *quick.split(), *chosen)
    try:
        killed = waited(lambda: running_fits(cluster), 600)
        subprocess.run(["scancel", killed], check=True)
        assert run.wait(2400) == 0, log.read_text()
    finally:
        run.kill()
    out = log.read_text()
    states = {job: state for job, state in accounted(slurm).items() if job not in before}
    assert {job for job, state in states.items() if state == "CANCELLED"} == {killed}
    assert set(states.values()) == {"CANCELLED", "COMPLETED"}
    assert set(re.findall(r"submitted with SLURM jobid (\d+)", out)) == set(states)
    assert "Trying to restart" in out
    mine, theirs = products(cluster), products(local)
    assert set(mine) == set(theirs) and len(mine) > 20
    assert [name for name in mine if content(mine[name]) != content(theirs[name])] == []
    assert len(list((cluster / "logs" / "slurm").rglob("*.log"))) == len(states)
    assert queue() == ""
