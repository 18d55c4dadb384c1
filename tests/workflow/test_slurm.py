"""The workflow through a real Slurm on this machine: the artifacts of a local run, a killed job included.

Slurm is brought up by tools/slurm-one-node.sh, and taken down again. Where it is not installed, these tests
are skipped, unless TILTED_INSTALL_SLURM is set: then Debian's packages are installed, and removed at the end,
and whatever is in the way is a failure, but for a user who is not root, a system without apt-get, packages
whose lists cannot be fetched, and a kernel that says "Operation not permitted".
"""

import csv
import gzip
import importlib.util
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

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "slurm-one-node.sh"
CONF, MARK = Path("/etc/slurm/slurm.conf"), "# made by slurm-one-node.sh"
NO_PACKAGES = 5  # its exit status
SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
pesc:
  accuracy: {problems: 2}
"""
TIMES = ("seconds", "core_seconds", "date")
# core-hours and days in lines of provenance, and seconds of fits
COST = re.compile(rb"[\d.]+(\s*\|\s*|</td>\s*<td[^>]*>)\d{4}-\d\d-\d\d( to \d{4}-\d\d-\d\d)?|[\d.e-]+ s\b")


def give_up(reason, ours=True):
    """Skip these tests; where Slurm was asked for, fail, unless it is this machine that cannot have it."""
    if os.environ.get("TILTED_INSTALL_SLURM") and ours:
        pytest.fail(reason)
    pytest.skip(reason)


def check_machine():
    """Give up where there can be no Slurm."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        give_up("only root can bring up a Slurm", ours=False)
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        give_up("Snakemake's Slurm plugin is not installed: make cluster")
    if CONF.exists() and MARK not in CONF.read_text():
        give_up(f"there is a Slurm of somebody else here ({CONF})")
    if not shutil.which("slurmctld", path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
        if not shutil.which("apt-get"):
            give_up("Slurm is not installed, and there is no apt-get", ours=False)
        if not os.environ.get("TILTED_INSTALL_SLURM"):
            give_up("Slurm is not installed; on Debian, TILTED_INSTALL_SLURM=1 installs it for these tests")


@pytest.fixture(scope="module")
def slurm(tmp_path_factory):
    """Folder of a running Slurm's logs."""
    check_machine()
    base = tmp_path_factory.mktemp("node")
    environment = {**os.environ, "SLURM_TEST_BASE": str(base)}
    try:
        installed = subprocess.run([SCRIPT, "install"], env=environment, capture_output=True, text=True)
        if installed.returncode:
            reason = f"Debian's packages of Slurm: {installed.stderr.strip()[-200:]}"
            give_up(reason, ours=installed.returncode != NO_PACKAGES)
        up = subprocess.run([SCRIPT, "start"], env=environment, stdout=subprocess.DEVNULL)
        if up.returncode or not runs_jobs():
            logs = "".join(path.read_text(errors="replace") for path in (base / "log").glob("*"))
            no_right = "Operation not permitted" in logs
            give_up(f"Slurm is installed here, but runs no job:\n{logs[-2000:]}", ours=not no_right)
        yield base / "log"
    finally:
        subprocess.run([SCRIPT, "stop"], env=environment, check=True)
        subprocess.run([SCRIPT, "remove"], env=environment, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize(
    "asked, ours, failed", [(True, True, True), (True, False, False), (False, True, False)]
)
def test_what_was_asked_for_is_not_skipped(monkeypatch, asked, ours, failed):
    monkeypatch.setenv("TILTED_INSTALL_SLURM", "1" if asked else "")
    with pytest.raises(pytest.fail.Exception if failed else pytest.skip.Exception):
        give_up("for a reason", ours)


def test_a_slurm_of_somebody_else_is_left_alone(monkeypatch, tmp_path):
    conf = tmp_path / "slurm.conf"
    conf.write_text("ClusterName=somebody-elses\n")
    monkeypatch.setitem(globals(), "CONF", conf)
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setenv("TILTED_INSTALL_SLURM", "1")
    with pytest.raises(pytest.fail.Exception, match="of somebody else"):
        check_machine()


def runs_jobs():
    """Whether Slurm runs anything at all, as it may not in a container with few rights."""
    try:
        return subprocess.run(["srun", "-n1", "true"], timeout=60).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def started(folder, log, *arguments):
    """Snakemake in a copy of the repository, its output in a file."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    command = [sys.executable, "-m", "snakemake", *arguments]
    with log.open("w") as stream:
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=stream, stderr=subprocess.STDOUT)


def ended(run, seconds):
    """Exit status of a process; it is interrupted if it takes too long."""
    try:
        return run.wait(seconds)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        run.send_signal(signal.SIGINT)
        run.wait(120)
        raise


def waited(condition, seconds):
    """What a condition gives as soon as it gives anything."""
    for _ in range(int(seconds / 0.2)):
        if found := condition():
            return found
        time.sleep(0.2)
    raise AssertionError("waited in vain")


def running(folder, study):
    """Slurm's number of a running job of a study that has made something but not all."""
    if not list((folder / "data" / "fits" / study).rglob("*.gz")):
        return None
    name = {"pesc": "_pesc_", "qp": "_fits_"}[study]
    jobs = queue("-t", "R", "-o", "%i %k").splitlines()
    return next((line.split()[0] for line in jobs if name in line), None)


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
    """What must be the same in two runs: the bytes, but for times and days in records and provenance."""
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
    if name.endswith((".md", ".html")):
        return COST.sub(b"", data)
    return data


def products(folder):
    """Every file that a run made, by its place; what a killed writer left has a name with a dot."""
    kinds = ("data/fits", "results/preview", "tables/preview", "figures/preview")
    files = (path for kind in kinds for path in (folder / kind).rglob("[!.]*") if path.is_file())
    return {str(path.relative_to(folder)): path for path in files}


RUNS = [("small", "pesc"), pytest.param("preview", "qp", marks=pytest.mark.slow)]


@pytest.mark.parametrize("config, study", RUNS)
def test_a_killed_job_in_slurm_changes_nothing(slurm, tmp_path, copy_of_repository, config, study):
    local, cluster = (copy_of_repository(tmp_path / name, SMALL) for name in ("local", "cluster"))
    chosen = ["--configfile", f"config/{config}.yaml"]
    undisturbed = started(local, tmp_path / "local.log", "--cores", "2", *chosen)
    assert ended(undisturbed, 2400) == 0, (tmp_path / "local.log").read_text()
    log = tmp_path / "cluster.log"
    before = accounted(slurm) if (slurm / "jobcomp.log").is_file() else {}
    quick = "--latency-wait 10 --slurm-status-command squeue --slurm-init-seconds-before-status-checks 2"
    run = started(cluster, log, "--profile", "profiles/slurm", *quick.split(), *chosen)
    try:
        killed = waited(lambda: run.poll() is not None or running(cluster, study), 1200)
        assert run.poll() is None, "it ended before a job was seen to run"
        subprocess.run(["scancel", killed], check=True)
    finally:
        code = ended(run, 2400)
    assert code == 0, log.read_text()
    out = log.read_text()
    states = {job: state for job, state in accounted(slurm).items() if job not in before}
    assert {job for job, state in states.items() if state == "CANCELLED"} == {killed}
    assert set(states.values()) == {"CANCELLED", "COMPLETED"}
    assert set(re.findall(r"submitted with SLURM jobid (\d+)", out)) == set(states)
    assert "Trying to restart" in out
    mine, theirs = products(cluster), products(local)
    assert set(mine) == set(theirs) and len(mine) >= 5
    assert [name for name in mine if content(mine[name]) != content(theirs[name])] == []
    assert len(list((cluster / "logs" / "slurm").rglob("*.log"))) == len(states)
    assert queue() == ""
