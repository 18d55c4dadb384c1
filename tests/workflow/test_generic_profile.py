"""The workflow through profiles/generic, against the stand-ins of clusters."""

import re
import subprocess
import sys

import pytest

SMALL = """\
name: small
results: results/preview
tables: tables/preview
figures: figures/preview
pesc:
  accuracy: {problems: 1}
"""
QUICK = "--latency-wait 10 --max-status-checks-per-second 5 --seconds-between-status-checks 2"
pytestmark = pytest.mark.slow  # and with Snakemake's plugin for clusters, which `make cluster` installs


def through(cluster, folder, *arguments, code=0):
    """What Snakemake prints, both streams."""
    command = "-m snakemake --profile profiles/generic --configfile config/small.yaml"
    done = subprocess.run(
        [sys.executable, *command.split(), *QUICK.split(), *arguments],
        cwd=folder,
        env={**cluster[2], "PYTHONPATH": str(folder / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )
    assert done.returncode == code, done.stdout
    return done.stdout


def asked(cluster):
    """Memory and time that each submission asked for, in MB and minutes (PBS Pro, Grid Engine: seconds)."""
    found = []
    for line in (cluster[1] / "commands").read_text().splitlines():
        memory, time = (
            re.search(r"mem=(\d+)|mem_free=(\d+)", line),
            re.search(r"(?:time=|_rt=|-W )(\d+)", line),
        )
        found.append((int(memory[1] or memory[2]), int(time[1]) // (1 if cluster[0] == "lsf" else 60)))
    return found


def fits(folder):
    """Name -> time of change of what the group of four jobs makes."""
    made = (folder / "data/fits/pesc/accuracy/1").glob("[!.]*.jsonl.gz")
    return {path.name: path.stat().st_mtime_ns for path in made}


def test_the_workflow_runs_through_it_with_more_for_a_second_attempt(cluster, tmp_path, copy_of_repository):
    folder = copy_of_repository(tmp_path / "copy", SMALL)
    (cluster[1] / "kill").touch()
    assert "Trying to restart" in through(cluster, folder)
    assert len(fits(folder)) == 4 and (folder / "results/preview/pesc/accuracy.csv").is_file()
    assert asked(cluster) == [
        (1000, 40),
        (2000, 80),
        (1000, 10),
    ]  # four jobs in a group twice, and their records
    exits = list((folder / "logs/cluster").glob("*.exit"))
    assert [path.read_text().split()[-1] for path in exits] == ["0", "0"]
    assert "Provided cores: 1 " in (cluster[1] / "2.log").read_text()  # one after the other


@pytest.mark.parametrize("cluster", ["pbs"], indirect=True)
def test_a_failed_group_keeps_what_it_made(cluster, tmp_path, copy_of_repository, snakemake):
    folder = copy_of_repository(tmp_path / "copy", SMALL)
    script = folder / "workflow/scripts/fit.py"
    text = script.read_text()
    script.write_text(f"import glob\nassert len(glob.glob('data/fits/pesc/accuracy/1/*')) < 2\n{text}")
    through(cluster, folder, "--retries", "0", code=1)
    assert "AssertionError" in (cluster[1] / "1.log").read_text()
    kept = fits(folder)
    assert len(kept) == 2
    script.write_text(text)
    snakemake(folder)
    made = fits(folder)
    assert len(made) == 4 and {name: made[name] for name in kept} == kept


@pytest.mark.parametrize("cluster", ["pbs"], indirect=True)
def test_what_a_failed_group_did_not_make_again_is_not_kept(cluster, tmp_path, copy_of_repository, snakemake):
    folder = copy_of_repository(tmp_path / "copy", SMALL)
    snakemake(folder)
    source = folder / "src/papers/pesc/accuracy.py"
    source.write_text(source.read_text() + "\nEDITED = True\n")
    (cluster[1] / "kill").touch()
    through(cluster, folder, "--retries", "0", code=1)
    assert re.search(r"pesc_accuracy +4\n", snakemake(folder, "--dry-run"))
