"""Processor time, peak memory and size of output of single jobs, which `make plan` and `mem_mb` go by.

    python benchmarks/resources.py [--limit SECONDS] TARGET...

Each target is made by snakemake (config/paper.yaml) in the working directory, what it needs before it. The
target's script is watched in /proc (Linux). One that runs longer than the limit is stopped: its peak so far
counts, its time and size stay empty. One line a target is added to benchmarks/resources.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

FILE = Path("benchmarks/resources.csv")
COLUMNS = ("target", "seconds", "peak_mb", "kilobytes", "date")
TICK = os.sysconf("SC_CLK_TCK")
SCRIPT = re.compile(rb"/\.snakemake/scripts/tmp[^/\0]*\.py\0")


def watched(root: int) -> dict[int, tuple[float, float]]:
    """Process id -> processor seconds, peak memory in MB, of the running scripts below a process."""
    parents, found = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            parents[int(folder.name)] = int(fields[1])
            script = SCRIPT.search((folder / "cmdline").read_bytes())
            peak = re.search(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text())
        except OSError:  # it ended meanwhile
            continue
        if script and peak:
            seconds = sum(map(int, fields[11:13])) / TICK
            found[int(folder.name)] = seconds, int(peak[1]) / 1024
    return {pid: seen for pid, seen in found.items() if root in _ancestors(pid, parents)}


def _ancestors(pid: int, parents: dict[int, int]) -> set[int]:
    parent = parents.get(pid, 0)
    return {parent} | _ancestors(parent, parents) if parent else set()


def measure(target: str, limit: float) -> dict[str, str]:
    """Make a target and watch the last script that runs for it."""
    command = f"{sys.executable} -m snakemake --cores 1 --configfile config/paper.yaml --force {target}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    run = subprocess.Popen(command.split(), start_new_session=True, **quiet)
    seen, stopped = {}, False
    while run.poll() is None:
        seen |= watched(run.pid)
        if not stopped and any(seconds > limit for seconds, _ in seen.values()):
            stopped = True
            os.killpg(run.pid, signal.SIGINT)
        time.sleep(0.5)
    if not seen or (run.returncode and not stopped):
        sys.exit(f"{target} could not be made, or too quickly to be seen")
    seconds, peak = list(seen.values())[-1]
    line = {"target": target, "peak_mb": f"{peak:.0f}", "date": time.strftime("%Y-%m-%d")}
    if stopped:
        return line
    return {**line, "seconds": f"{seconds:.1f}", "kilobytes": f"{Path(target).stat().st_size / 1024:.1f}"}


def main() -> None:
    """Add lines to the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("targets", nargs="+")
    arguments = parser.parse_args()
    for target in arguments.targets:
        line = measure(target, arguments.limit)
        with FILE.open("a", newline="", encoding="utf-8") as stream:
            csv.DictWriter(stream, COLUMNS, lineterminator="\n").writerow(line)
        print(line, flush=True)


if __name__ == "__main__":
    main()
