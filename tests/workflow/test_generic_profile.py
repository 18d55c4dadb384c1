"""The profile for PBS Pro, Grid Engine and LSF, against stand-ins that take only what those commands take."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCHEDULER = Path(__file__).resolve().parents[2] / "profiles" / "generic" / "scheduler.sh"
SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
pesc:
  accuracy: {problems: 1}
"""

# A scheduler: takes no other options, runs what comes on standard input, keeps a file a running job.
STANDIN = """\
#!{python}
import os, re, signal, subprocess, sys
from pathlib import Path

STATE, KIND, WORDS = Path({state!r}), {kind!r}, sys.argv[1:]
OPTIONS = {{
    "pbs": {{"-N": r"[A-Za-z][\\w+-]{{0,229}}", "-j": "oe", "-o": "logs/cluster/",
            "-l": r"select=1:ncpus=1:mem=\\d+mb|walltime=\\d+", "-V": None, "-q": "short"}},
    "sge": {{"-N": r"[A-Za-z][\\w-]*", "-j": "y", "-o": "logs/cluster/", "-S": "/bin/sh",
            "-l": r"h_vmem=\\d+M|h_rt=\\d+", "-V": None, "-cwd": None, "-terse": None, "-q": "short"}},
    "lsf": {{"-J": r"[\\w-]+", "-n": "1", "-R": r"rusage\\[mem=\\d+MB\\]", "-M": r"\\d+MB", "-W": r"\\d+",
            "-oo": r"logs/cluster/%J\\.log", "-q": "short"}},
}}
ID = {{"pbs": "PBS_JOBID", "sge": "JOB_ID", "lsf": "LSB_JOBID"}}


def submit():
    words = iter(WORDS)
    for word in words:
        if word not in OPTIONS[KIND]:
            sys.exit(f"{{KIND}}: unknown option {{word}}")
        wanted = OPTIONS[KIND][word]
        if wanted is not None and not re.fullmatch(wanted, value := next(words, "")):
            sys.exit(f"{{KIND}}: {{word}} {{value}} is not well formed")
    number = len(list(STATE.glob("*.sh"))) + 1
    name = f"{{number}}.server" if KIND == "pbs" else str(number)
    script = STATE / f"{{number}}.sh"
    script.write_text(sys.stdin.read())
    (STATE / "commands").open("a").write(" ".join(WORDS) + "\\n")
    log = (STATE / f"{{number}}.log").open("w")
    pid = STATE / f"{{name}}.pid"
    watch = f'sh {{script}}; rm -f {{pid}}'
    options = {{"stdin": subprocess.PIPE, "stdout": log, "stderr": log, "start_new_session": True}}
    options["env"] = os.environ | {{ID[KIND]: name}}
    run = subprocess.Popen(["sh", "-c", f"read go; {{watch}}"], **options)
    pid.write_text(str(run.pid))
    run.stdin.write(b"go\\n")
    run.stdin.close()
    print(f"Job <{{name}}> is submitted to queue <normal>." if KIND == "lsf" else name)


def query():
    wanted = {{"pbs": [], "sge": ["-j"], "lsf": ["-noheader", "-o", "stat"]}}[KIND]
    if WORDS[:-1] != wanted:
        sys.exit(f"{{KIND}}: cannot be asked so: {{WORDS}}")
    there = (STATE / f"{{WORDS[-1]}}.pid").exists()
    if KIND == "lsf":
        print("RUN" if there else "EXIT")
    elif not there:
        sys.exit(f"{{WORDS[-1]}}: no such job")


def delete():
    for name in WORDS:
        pid = STATE / f"{{name}}.pid"
        os.killpg(int(pid.read_text()), signal.SIGKILL)
        pid.unlink()


{{"sub": submit, "stat": query, "jobs": query, "del": delete, "kill": delete}}[Path(sys.argv[0]).name[1:]]()
"""
COMMANDS = {
    "pbs": ("qsub", "qstat", "qdel"),
    "sge": ("qsub", "qstat", "qdel"),
    "lsf": ("bsub", "bjobs", "bkill"),
}


@pytest.fixture(params=COMMANDS)
def cluster(request, tmp_path):
    """Kind of cluster, its folder, and the environment in which it is there."""
    state = tmp_path / "state"
    commands = tmp_path / "commands"
    state.mkdir()
    commands.mkdir()
    for name in COMMANDS[request.param]:
        text = STANDIN.format(python=sys.executable, state=str(state), kind=request.param)
        (commands / name).write_text(text)
        (commands / name).chmod(0o755)
    ours = {"PATH": f"{commands}:{os.environ['PATH']}", "TILTED_CLUSTER_GRACE": "0"}
    if request.param == "sge":
        ours["SGE_ROOT"] = str(tmp_path)
    return request.param, state, {**os.environ, **ours}


def call(cluster, folder, *words):
    """What scheduler.sh prints."""
    done = subprocess.run(
        [SCHEDULER, *words], cwd=folder, env=cluster[2], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def ended(cluster, folder, job):
    """State of a job that is no longer running."""
    for _ in range(600):
        if (state := call(cluster, folder, "status", job)) != "running":
            return state
    raise AssertionError("it runs on")


@pytest.mark.parametrize(
    "text, state", [("exit 0", "success"), ("exit 3", "failed"), ("kill -9 $$", "failed")]
)
def test_a_job_ends_as_its_script_does(cluster, tmp_path, text, state):
    script = tmp_path / "a job.sh"
    script.write_text(f"{text}\n")
    job = call(cluster, tmp_path, "submit", "tilted-1", "1500", "90", str(script))
    assert ended(cluster, tmp_path, job) == ("success" if text == "exit 0" else "failed")
    command = (cluster[1] / "commands").read_text()
    for words in {
        "pbs": ("mem=1500mb", "walltime=5400"),
        "sge": ("h_vmem=1500M", "h_rt=5400"),
        "lsf": ("-M 1500MB", "-W 90"),
    }[cluster[0]]:
        assert words in command


def test_a_job_that_is_cancelled_or_vanishes_has_failed(cluster, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("sleep 100\n")
    job = call(cluster, tmp_path, "submit", "tilted-1", "100", "1", str(script))
    assert call(cluster, tmp_path, "status", job) == "running"
    call(cluster, tmp_path, "cancel", job)
    assert ended(cluster, tmp_path, job) == "failed"


def test_options_reach_the_cluster_and_wrong_ones_are_errors(cluster, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text("exit 0\n")
    for options, code in (("-q short", 0), ("--no-such", None)):
        done = subprocess.run(
            [SCHEDULER, "submit", "tilted-1", "100", "1", script],
            cwd=tmp_path,
            env={**cluster[2], "TILTED_CLUSTER_OPTIONS": options},
            capture_output=True,
            text=True,
        )
        assert bool(done.stdout.strip()) == (code == 0), done.stderr
        assert ("unknown option" in done.stderr) == (code is None)
    assert "-q short" in (cluster[1] / "commands").read_text()


def test_the_workflow_runs_through_it(cluster, tmp_path, copy_of_repository):
    if importlib.util.find_spec("snakemake_executor_plugin_cluster_generic") is None:
        pytest.skip("Snakemake's cluster-generic plugin is not installed: make cluster")
    folder = copy_of_repository(tmp_path / "copy", SMALL)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "--profile",
            "profiles/generic",
            "--configfile",
            "config/small.yaml",
        ]
        + ["--latency-wait", "10", "--max-status-checks-per-second", "5"],
        cwd=folder,
        env={**cluster[2], "PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert len(list((folder / "data/fits/pesc/accuracy/1").glob("*.jsonl.gz"))) == 4
    assert (folder / "results/preview/pesc/accuracy.csv").is_file()
    commands = (cluster[1] / "commands").read_text().splitlines()
    assert len(commands) == 2  # four jobs in a group, and their records
    assert {path.read_text().strip() for path in (folder / "logs/cluster").glob("*.exit")} == {"0"}
    assert len(list((folder / "logs/cluster").glob("*.exit"))) == 2
