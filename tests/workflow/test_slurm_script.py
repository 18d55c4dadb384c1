"""tools/slurm-one-node.sh with stand-ins of every command it calls: nothing of a real Slurm is touched."""

import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "tools" / "slurm-one-node.sh"
REAL, HERE = "CONF=/etc/slurm/slurm.conf ", "command -v slurmctld "
FOREIGN = "ClusterName=somebody-elses\n"
OURS = "# made by slurm-one-node.sh in {}\nClusterName=toy\n"
QUIET = ("scancel", "squeue", "sinfo", "scontrol", "slurmctld", "slurmd", "munged", "munge", "unmunge")
SAYS = {
    "sinfo": "echo idle",
    "scontrol": "echo is UP",
    "slurmctld": "while :; do sleep 0.1; done",
    "slurmd": "while :; do sleep 0.1; done",
}


@pytest.fixture
def script(tmp_path):
    """Function of a command and of what stand-ins do; its exit status, its errors and what was called."""
    text = SCRIPT.read_text()
    assert text.count(REAL) == 1 and text.count("/etc/slurm") == 1 and text.count(HERE) == 1
    copy, commands = tmp_path / "script.sh", tmp_path / "commands"
    copy.write_text(text.replace(REAL, f"CONF={tmp_path}/etc/slurm.conf ").replace(HERE, "false "))
    commands.mkdir()

    def run(*words, base="base", **does):
        for name in (*QUIET, "apt-get", "dpkg-query"):
            body = does.get(name.replace("-", "_"), SAYS.get(name, ""))
            new = tmp_path / "new"  # renamed: one that is being started cannot be written to
            new.write_text(f'#!/bin/sh\necho "{name} $* ${{SLURM_CONF-}}" >> {tmp_path}/called\n{body}\n')
            new.chmod(0o755)
            new.replace(commands / name)
        environment = {
            **os.environ,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "SLURM_CONF": "/the/clusters/slurm.conf",
            "SLURM_TEST_BASE": str(tmp_path / base),
        }
        errors = tmp_path / "errors"
        with errors.open("w") as stream:
            code = subprocess.run(
                ["bash", copy, *words], env=environment, stdout=subprocess.DEVNULL, stderr=stream, timeout=60
            ).returncode
        called = tmp_path / "called"
        return code, errors.read_text(), called.read_text() if called.exists() else ""

    return run


def configured(folder, text):
    (folder / "etc").mkdir()
    (folder / "etc" / "slurm.conf").write_text(text)
    return folder / "etc" / "slurm.conf"


@pytest.mark.parametrize("words, code", [(["stop"], 0), (["start"], 3), (["run", "true"], 3)])
def test_nothing_is_done_to_a_slurm_of_somebody_else(script, tmp_path, words, code):
    conf = configured(tmp_path, FOREIGN)
    (tmp_path / "base" / "run").mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as other:  # its id as an earlier run may have left it
        (tmp_path / "base" / "run" / "ctld.childpid").write_text(f"{other.pid}\n")
        assert script(*words)[::2] == (code, "")
        assert conf.read_text() == FOREIGN and other.poll() is None
        other.kill()


def test_stop_does_nothing_where_start_did_not_begin(script, tmp_path):
    conf = configured(tmp_path, OURS.format(tmp_path / "base"))
    assert script("stop")[::2] == (0, "")
    assert conf.exists()


def test_start_and_stop_end_what_they_started(script, tmp_path):
    assert script("start")[0] == 0
    run = tmp_path / "base" / "run"
    started = [int((run / f"{name}.childpid").read_text()) for name in ("ctld", "slurmd")]
    assert all(Path(f"/proc/{pid}").exists() for pid in started)
    code, _, called = script("stop")
    assert code == 0 and "scancel -u" in called and "/the/clusters" not in called
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert not list(run.glob("*pid")) and not (tmp_path / "etc").exists()
    before = called.count("scancel")
    assert script("stop")[2].count("scancel") == before


def test_a_second_user_neither_starts_nor_stops_the_firsts(script, tmp_path):
    """In another folder or in the same: the configuration, the processes and the jobs of the first stay."""
    assert script("start", base="first")[0] == 0
    controller = int((tmp_path / "first/run/ctld.childpid").read_text())
    conf = (tmp_path / "etc/slurm.conf").read_text()
    for base, words in (("second", ["start"]), ("second", ["run", "true"]), ("first", ["run", "true"])):
        code, said, _ = script(*words, base=base)
        assert code == 3 and ("did not make in" in said or "already started" in said)
    code, said, called = script("stop", base="second")
    assert code == 0 and "nothing was started here" in said and "scancel" not in called
    assert (tmp_path / "etc/slurm.conf").read_text() == conf and Path(f"/proc/{controller}").exists()
    code, _, called = script("stop", base="first")
    assert code == 0 and called.count("scancel") == 1 and not Path(f"/proc/{controller}").exists()


@pytest.mark.parametrize("words, code", [(["stop"], 0), (["run", "true"], 0)])
def test_a_process_that_has_an_old_number_is_not_ended(script, tmp_path, words, code):
    """After a restart of the host the numbers that were written down are those of others."""
    configured(tmp_path, OURS.format(tmp_path / "base"))
    (tmp_path / "base" / "run").mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as other:
        for name in ("ctld.childpid", "slurmd.childpid", "munged.pid"):
            (tmp_path / "base" / "run" / name).write_text(f"{other.pid}\n")
        assert script(*words)[0] == code
        assert other.poll() is None
        other.kill()


def test_packages_that_cannot_be_had_are_told_from_an_install_that_fails(script):
    download = 'case "$*" in *--download-only*) exit 100;; esac'
    for does, code in (
        (f'case "$*" in update*) exit 100;; esac\n{download}', 5),
        (download, 6),
        ('case "$*" in update* | *--download-only*) exit 0;; esac\nexit 100', 100),
        ('case "$*" in update*) exit 100;; esac', 0),
        ("", 0),
    ):
        assert script("install", apt_get=does)[0] == code
