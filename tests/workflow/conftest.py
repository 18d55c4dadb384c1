"""Clusters that are none: stand-ins of PBS Pro, Grid Engine and LSF."""

import os
import sys
from pathlib import Path

import pytest

COMMANDS = {
    "pbs": ("qsub", "qstat", "qdel"),
    "sge": ("qsub", "qstat", "qdel"),
    "lsf": ("bsub", "bjobs", "bkill"),
}


@pytest.fixture(params=COMMANDS)
def cluster(request, tmp_path):
    """Kind of cluster, folder of the stand-in's state, and the environment that has its commands."""
    kind, state, commands = request.param, tmp_path / "state", tmp_path / "commands"
    state.mkdir()
    commands.mkdir()
    standin = Path(__file__).with_name("standin.py")
    for name in COMMANDS[kind]:
        words = " ".join(map(str, (sys.executable, standin, state, kind, name)))
        (commands / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (commands / name).chmod(0o755)
    ours = {"PATH": f"{commands}:{os.environ['PATH']}", "TILTED_CLUSTER_GRACE": "0"}
    if kind == "sge":
        ours["SGE_ROOT"] = str(tmp_path)
    return kind, state, {**os.environ, **ours}
