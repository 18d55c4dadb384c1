"""Snakemake, or a job of it, killed midway; two runs at once."""

import os
import signal

import pytest

SEED_1 = ("data/fits/qp/as-released/coal/*-001-001.jsonl.gz", "results/tiny/qp/*", "tables/tiny/*")


@pytest.mark.slow
def test_snakemake_and_its_jobs_killed_midway(done, undisturbed, tools):
    """The lock stays and is named; after --unlock the next run makes what is missing and nothing else."""
    done.forget(*SEED_1)
    done.hold(1)
    process = done.start()
    done.held()
    tools.kill_all(process)
    done.release()
    assert len(done.partial()) == 1  # what the killed writer leaves
    out = done(code=1)
    assert "Directory cannot be locked" in out and "--unlock" in out
    done("--unlock")
    out = done()
    assert out.count("rule qp_fit:") == 2
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_snakemake_killed_while_its_job_lives_on(done, undisturbed, tools):
    """Two writers of one record: each fills a file of its own, and they write the same."""
    done.forget(*SEED_1)
    done.hold(1)
    process = done.start()
    writer = done.held()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (living,) = done.partial()
    done("--unlock")
    second = done.start()
    done.held()
    assert living in done.partial() and len(done.partial()) == 2
    os.kill(writer, 0)
    done.release()
    tools.finished(second)
    tools.finished(process, -signal.SIGKILL)  # waits for the writer, which holds the other end of the pipe
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_a_job_killed_while_it_writes(done, undisturbed, tools):
    """Its record is missing, the others are made, the exit status says so, and the next run makes it."""
    done.forget(*SEED_1, "data/fits/qp/as-released/coal/*-000-000.jsonl.gz")
    done.hold(1)
    process = done.start()
    os.kill(done.held(), signal.SIGKILL)
    done.release()
    out = tools.finished(process, 1)
    assert "Error in rule qp_fit" in out and "ep-001-001.jsonl.gz" in out
    made = {path.name for path in (done.folder / "data/fits/qp/as-released/coal").glob("[!.]*")}
    assert made == {"ep-000-000.jsonl.gz", "qp-000-000.jsonl.gz"}
    assert not (done.folder / "results/tiny/qp/as-released.csv.gz").exists()
    assert done().count("rule qp_fit:") == 2
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_two_runs_at_once(done, undisturbed, tools):
    """The second says who is in its way and does nothing; the first is not disturbed."""
    done.forget(*SEED_1)
    done.hold(1)
    process = done.start()
    done.held()
    out = done(code=1)
    assert "Directory cannot be locked" in out and "no other Snakemake process" in out
    assert len(done.partial()) == 1
    done.release()
    tools.finished(process)
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_from_the_keyboard(done, undisturbed, tools, number):
    """Ctrl-C or `kill`: no lock is left, and what was half written is no product."""
    done.forget(*SEED_1)
    done.hold(1)
    process = done.start()
    done.held()
    os.killpg(process.pid, number)
    tools.finished(process, 1)
    done.release()
    done()
    tools.assert_same(done, undisturbed)
