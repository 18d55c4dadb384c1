"""Stand-in of PBS Pro, Grid Engine and LSF: takes only options that they take, keeps a file a running job.

    standin.py STATE KIND COMMAND WORDS...

Files in the folder STATE make it do otherwise: `says`, what a query answers ([exit status, words]); `mute`, a
submission prints no id; `banner` and `after`, what a submission prints before its id and after it; `slow`, it
prints one when the job has ended; `kill`, the next job is killed as it starts.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

STATE, KIND, COMMAND, WORDS = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
OPTIONS = {
    "pbs": {
        "-N": r"[A-Za-z][\w+-]{0,229}",
        "-j": "oe",
        "-o": "logs/cluster/",
        "-l": r"select=1:ncpus=1:mem=\d+mb|walltime=\d+",
        "-V": None,
        "-q": "short",
    },
    "sge": {
        "-N": r"[A-Za-z][\w-]*",
        "-j": "y",
        "-o": "logs/cluster/",
        "-S": "/bin/sh",
        "-l": r"mem_free=\d+M|h_rt=\d+",
        "-V": None,
        "-cwd": None,
        "-terse": None,
        "-q": "short",
    },
    "lsf": {
        "-J": r"[\w-]+",
        "-n": "1",
        "-R": r"rusage\[mem=\d+MB\]",
        "-M": r"\d+MB",
        "-W": r"\d+",
        "-oo": r"logs/cluster/%J\.log",
        "-q": "short",
    },
}
ID = {"pbs": "PBS_JOBID", "sge": "JOB_ID", "lsf": "LSB_JOBID"}
QUERY = {"pbs": [], "sge": ["-j"], "lsf": ["-noheader", "-o", "stat"]}
THERE = {
    "pbs": "Job id  Name  User  Time Use S Queue\n------  ----  ----  -------- - -----\n{} job me 0 R workq",
    "sge": "job_number: {}",
    "lsf": "RUN",
}
GONE = {
    "pbs": (153, "qstat: Unknown Job Id {}"),
    "sge": (1, "Following jobs do not exist: \n{}"),
    "lsf": (0, "EXIT"),
}


def submit():
    words = iter(WORDS)
    for word in words:
        if word not in OPTIONS[KIND]:
            sys.exit(f"{KIND}: unknown option {word}")
        wanted = OPTIONS[KIND][word]
        if wanted is not None and not re.fullmatch(wanted, value := next(words, "")):
            sys.exit(f"{KIND}: {word} {value} is not well formed")
    number = len(list(STATE.glob("*.sh"))) + 1
    name = f"{number}.server" if KIND == "pbs" else str(number)
    script = STATE / f"{number}.sh"
    script.write_text(sys.stdin.read())
    with (STATE / "commands").open("a") as stream:
        stream.write(" ".join(WORDS) + "\n")
    if (STATE / "kill").exists():
        (STATE / "kill").unlink()
    else:
        start(name, script)
    told("banner")
    if not (STATE / "mute").exists():
        print(f"Job <{name}> is submitted to queue <normal>." if KIND == "lsf" else name)
    told("after")


def told(name):
    if (STATE / name).exists():
        print((STATE / name).read_text())


def start(name, script):
    """Run a job until it ends or is deleted."""
    pid = STATE / f"{name}.pid"
    with script.with_suffix(".log").open("w") as log:
        run = subprocess.Popen(
            ["sh", "-c", f"read go; sh {script}; rm -f {pid}"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env=os.environ | {ID[KIND]: name},
        )
    pid.write_text(str(run.pid))
    run.stdin.write(b"go\n")
    run.stdin.close()
    if (STATE / "slow").exists():
        run.wait()


def query():
    if WORDS[:-1] != QUERY[KIND]:
        sys.exit(f"{KIND}: cannot be asked so: {WORDS}")
    there = (STATE / f"{WORDS[-1]}.pid").exists()
    code, words = (0, THERE[KIND]) if there else GONE[KIND]
    if (STATE / "says").exists():
        code, words = json.loads((STATE / "says").read_text())
    print(words.format(WORDS[-1]), file=sys.stderr if code else sys.stdout)
    sys.exit(code)


def delete():
    for name in WORDS:
        pid = STATE / f"{name}.pid"
        os.killpg(int(pid.read_text()), signal.SIGKILL)
        pid.unlink()


{"sub": submit, "stat": query, "jobs": query, "del": delete, "kill": delete}[COMMAND[1:]]()
