"""profiles/generic/scheduler.sh against stand-ins that take only what PBS Pro, Grid Engine and LSF take."""

import json
import re
import subprocess
import time
from pathlib import Path

import pytest

PROFILE = Path(__file__).resolve().parents[2] / "profiles" / "generic"
LISTED = (
    "Job id  Name  User  Time Use S Queue\n------  ----  ----  -------- - -----\n{} tilted me 0 STATE workq"
)
# What a scheduler answers, with its exit status, about a job that left no exit status -> what becomes of it.
ALIVE = {
    "pbs": [(0, LISTED.replace("STATE", state)) for state in "QHWTRSE"]
    + [(111, "Connection refused\nqstat: cannot connect to server head (errno=111)"), (1, "")],
    "sge": [
        (0, "job_number: {}\nscheduling info: queue is full"),
        (1, "error: commlib error: got select error (Connection refused)\nerror: unable to contact qmaster"),
    ],
    "lsf": [(0, state) for state in "PEND PROV PSUSP RUN USUSP SSUSP WAIT UNKWN ZOMBI".split()]
    + [(255, "Failed in an LSF library call: LIM is down; try later. Please wait ...")],
}
LOST = {
    "pbs": [(0, LISTED.replace("STATE", state)) for state in "CF"]
    + [(153, "qstat: Unknown Job Id {}"), (35, "qstat: {} Job has finished, use -x or -H to obtain more")],
    "sge": [
        (1, "Following jobs do not exist: \n{}"),
        (1, "Following jobs do not exist or permissions are not sufficient: \n{}"),
        (0, "job_number: {}\nerror reason    1:          11/22/2026 04:07:21 [0:1]: can't chdir to /home"),
    ],
    "lsf": [(0, "DONE"), (0, "EXIT"), (255, "Job <{}> is not found")],
}


def call(cluster, folder, command, *words, code=0, **variables):
    """What a script prints, or its error messages where its exit status is not 0."""
    done = subprocess.run(
        [PROFILE / command, *words],
        cwd=folder,
        env={**cluster[2], **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout.strip()


def submit(cluster, folder, text, **options):
    """Id of a job with this script."""
    script = folder / "a job.sh"
    script.write_text(f"{text}\n")
    return call(cluster, folder, "scheduler.sh", "submit", "tilted-1", "1500", "90", str(script), **options)


def state_of(cluster, folder, job, **variables):
    return call(cluster, folder, "scheduler.sh", "status", job, **variables)


def ended(cluster, folder, job):
    """State of a job that is no longer running."""
    for _ in range(600):
        if (state := state_of(cluster, folder, job)) != "running":
            return state
    raise AssertionError("it runs on")


def without_exit_status(cluster, folder):
    """Id of a job that was killed."""
    (cluster[1] / "kill").touch()
    return submit(cluster, folder, "exit 0")


@pytest.mark.parametrize("text", ["exit 0", "exit 3", "kill -9 $$"])
def test_a_job_ends_as_its_script_does(cluster, tmp_path, text):
    job = submit(cluster, tmp_path, text)
    assert ended(cluster, tmp_path, job) == ("success" if text == "exit 0" else "failed")
    command = (cluster[1] / "commands").read_text()
    for words in {
        "pbs": ("mem=1500mb", "walltime=5400"),
        "sge": ("mem_free=1500M", "h_rt=5400"),
        "lsf": ("-M 1500MB", "-W 90"),
    }[cluster[0]]:
        assert words in command


@pytest.mark.parametrize("text", ["exit 0", "exit 3"])
def test_a_job_may_end_before_its_id_is_known(cluster, tmp_path, text):
    (cluster[1] / "slow").touch()
    job = submit(
        cluster, tmp_path, f"touch -d 'now + 100 seconds' 'a job.sh'; {text}"
    )  # a clock that is ahead
    assert not (cluster[1] / f"{job}.pid").exists()
    state = state_of(cluster, tmp_path, job, TILTED_CLUSTER_GRACE="60")
    assert state == ("success" if text == "exit 0" else "failed")


def test_every_submission_has_a_word_of_its_own(cluster, tmp_path):
    words = [tmp_path / "logs/cluster" / f"{submit(cluster, tmp_path, 'exit 0')}.mine" for _ in range(2)]
    assert words[0].read_text() != words[1].read_text()


def test_a_job_whose_word_cannot_be_kept_is_cancelled(cluster, tmp_path):
    job = "1.server" if cluster[0] == "pbs" else "1"
    (tmp_path / "logs/cluster" / f"{job}.mine").mkdir(parents=True)
    submit(cluster, tmp_path, "sleep 100", code=1)
    assert not (cluster[1] / f"{job}.pid").exists()


def test_a_job_that_is_cancelled_has_failed(cluster, tmp_path):
    job = submit(cluster, tmp_path, "sleep 100")
    assert state_of(cluster, tmp_path, job) == "running"
    call(cluster, tmp_path, "cancel.sh", job)
    assert not (cluster[1] / f"{job}.pid").exists()
    assert state_of(cluster, tmp_path, job) == "failed"


def test_only_the_schedulers_own_words_end_a_job(cluster, tmp_path):
    job = without_exit_status(cluster, tmp_path)
    for answers, state in ((ALIVE, "running"), (LOST, "failed")):
        for answer in answers[cluster[0]]:
            (cluster[1] / "says").write_text(json.dumps(answer))
            assert state_of(cluster, tmp_path, job) == state, answer


def test_an_exit_status_may_come_late(cluster, tmp_path):
    job = without_exit_status(cluster, tmp_path)
    late = {key: value for key, value in cluster[2].items() if key != "TILTED_CLUSTER_GRACE"}
    waiting = (*cluster[:2], late)
    assert state_of(waiting, tmp_path, job) == "running"
    (tmp_path / "logs/cluster" / f"{job}.gone").write_text(f"{time.time() - 50:.0f}\n")
    assert state_of(waiting, tmp_path, job) == "running"
    (tmp_path / "logs/cluster" / f"{job}.gone").write_text(f"{time.time() - 70:.0f}\n")
    assert state_of(waiting, tmp_path, job) == "failed"
    left = (tmp_path / "logs/cluster" / f"{job}.mine").read_text().strip()
    (tmp_path / "logs/cluster" / f"{job}.exit").write_text(f"{left} 0\n")
    assert state_of(waiting, tmp_path, job) == "success"


def test_a_job_that_the_scheduler_finds_again_has_its_time_again(cluster, tmp_path):
    job = without_exit_status(cluster, tmp_path)
    gone = tmp_path / "logs/cluster" / f"{job}.gone"
    assert state_of(cluster, tmp_path, job, TILTED_CLUSTER_GRACE="60") == "running" and gone.exists()
    (cluster[1] / "says").write_text(json.dumps(ALIVE[cluster[0]][0]))
    assert state_of(cluster, tmp_path, job) == "running" and not gone.exists()


def test_what_an_earlier_job_with_the_same_id_left_does_not_count(cluster, tmp_path):
    job = "1.server" if cluster[0] == "pbs" else "1"
    logs = tmp_path / "logs" / "cluster"
    logs.mkdir(parents=True)
    for name, text in {"exit": "node-1790-99 0", "mine": "node-1790-99", "gone": "1000"}.items():
        (logs / f"{job}.{name}").write_text(f"{text}\n")
    assert without_exit_status(cluster, tmp_path) == job
    assert state_of(cluster, tmp_path, job, TILTED_CLUSTER_GRACE="60") == "running"


def test_a_folders_name_is_never_a_command(cluster, tmp_path):
    folder = tmp_path / "it's $(touch owned) `touch owned`"
    folder.mkdir()
    job = submit(cluster, folder, "touch here")
    assert ended(cluster, folder, job) == "success"
    assert (folder / "here").exists() and not list(tmp_path.rglob("owned"))


@pytest.mark.slow
def test_the_workflow_refuses_a_folder_whose_name_the_plugin_would_run(
    tmp_path, copy_of_repository, snakemake
):
    folder = copy_of_repository(tmp_path / "a$(touch owned)b", "")
    assert "clone to another" in snakemake(folder, "--dry-run", config="config/preview.yaml", code=1)


def test_options_reach_the_cluster_and_wrong_ones_are_errors(cluster, tmp_path):
    submit(cluster, tmp_path, "exit 0", TILTED_CLUSTER_OPTIONS="-q short")
    assert "-q short" in (cluster[1] / "commands").read_text()
    assert "unknown option" in submit(cluster, tmp_path, "exit 0", TILTED_CLUSTER_OPTIONS="--no-such", code=1)


def test_a_submission_without_an_id_is_an_error(cluster, tmp_path):
    (cluster[1] / "mute").touch()
    assert "gave no id" in submit(cluster, tmp_path, "exit 0", code=1)


@pytest.mark.parametrize(
    "said", ["** NOTE: project 'default' has 8/10 hours left **", "Goodbye", "-----", "a\\cb"]
)
@pytest.mark.parametrize("place", ["banner", "after"])
def test_what_a_site_says_is_no_part_of_the_id(cluster, tmp_path, said, place):
    """The job ran and was called failed: its id was a name with the banner in it."""
    (cluster[1] / place).write_text(said)
    job = submit(cluster, tmp_path, "exit 0")
    assert re.fullmatch(r"[\d][\w.]*", job) and ended(cluster, tmp_path, job) == "success"


def test_an_answer_without_an_id_is_shown(cluster, tmp_path):
    (cluster[1] / "mute").touch()
    (cluster[1] / "banner").write_text("** see you **")
    said = submit(cluster, tmp_path, "exit 0", code=1)
    assert "gave no id" in said and (cluster[0] == "lsf" or "see you" in said)


def test_an_unknown_scheduler_is_an_error(cluster, tmp_path):
    assert "not PBS" in submit(cluster, tmp_path, "exit 0", TILTED_SCHEDULER="PBS", code=2)
