"""Snakemake, or a job of it, killed midway; two runs at once."""

import os
import shutil
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
    removed = "Removed 1 half-written files of jobs that were killed"
    assert out.count(removed) == 1 and out.index(removed) < out.index("rule fit:")  # at the start
    assert out.count("rule fit:") == 2 and "ep seed 1: 2/2 fits converged" in out
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
    assert living in done.partial() and len(done.partial()) == 2  # a living writer's file is not swept
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
    assert "Error in rule fit" in out and "ep-001-001.jsonl.gz" in out
    assert "Removed 1 half-written files" in out and done.partial() == []
    made = {path.name for path in (done.folder / "data/fits/qp/as-released/coal").iterdir()}
    assert made == {"ep-000-000.jsonl.gz", "qp-000-000.jsonl.gz"}
    assert not (done.folder / "results/tiny/qp/as-released.csv.gz").exists()
    assert done().count("rule fit:") == 2
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
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_from_the_keyboard(done, undisturbed, tools, number):
    """Ctrl-C, `kill`, or a terminal that is lost: nothing half written and no lock is left."""
    done.forget(*SEED_1)
    done.hold(1)
    process = done.start()
    done.held()
    os.killpg(process.pid, number)
    tools.finished(process, 1)
    done.release()
    assert done.partial() == []
    done()
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_ten_moments(done, undisturbed, tools):
    """Ctrl-C and SIGKILL in turn, after more and more lines of output: what is there is right."""
    wanted = tools.products(undisturbed.folder)
    codes = []
    for moment in range(10):
        for path in [path for pattern in SEED_1 for path in done.folder.glob(pattern)]:
            path.unlink()
        process = done.start()
        for _ in range(4 + 5 * moment):
            process.stdout.readline()
        os.killpg(process.pid, number := signal.SIGKILL if moment % 2 else signal.SIGINT)
        process.communicate()
        codes.append(process.returncode)
        if number == signal.SIGKILL:
            done("--unlock")
        made = tools.products(done.folder, ("data/fits", "data/standard", "tables", "figures"))
        assert [name for name in made.keys() & wanted.keys() if made[name] != wanted[name]] == []
    assert codes[1::2] == [-signal.SIGKILL] * 5
    # while Snakemake starts, an interrupt ends Python itself, or is lost and the run goes on
    assert {*codes[::2]} <= {0, 1, -signal.SIGINT}
    done()
    tools.assert_same(done, undisturbed)


def lose_notes(run):
    """Cut every note of Snakemake in half, as a full disk or a crash may; their number."""
    notes = [path for path in (run.folder / ".snakemake/metadata").rglob("*") if path.is_file()]
    for path in notes:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    return len(notes)


STALE = (
    "Made by other code, or of other data, which Snakemake does not know or was told not to mind; "
    "delete and run again:"
)


def edit(run):
    """Change the code of fits in a way that changes no number."""
    with (run.folder / "src/papers/qp/fits.py").open("a", encoding="utf-8") as file:
        file.write("ADDED = 1\n")


@pytest.mark.slow
def test_fits_of_other_code_are_found_without_snakemakes_notes(done, tools):
    """Else Snakemake, which keeps what it does not know, would say that there is nothing to be done."""
    assert lose_notes(done) > 4
    edit(done)
    before = tools.products(done.folder)
    said = done("--dry-run", code=1).partition(STALE)[2].split()
    assert said == sorted(path for path in before if path.startswith("data/fits"))
    assert tools.products(done.folder) == before


@pytest.mark.slow
def test_fits_of_other_code_are_found_where_snakemake_looks_at_dates_alone(done, tools):
    """By habit (`--rerun-triggers mtime`) an edit changes nothing, and old fits would be shown as today's."""
    edit(done)
    said = done("--dry-run", "--rerun-triggers", "mtime", code=1).partition(STALE)[2].split()
    assert said == sorted(path for path in tools.products(done.folder) if path.startswith("data/fits"))


@pytest.mark.slow
def test_fits_of_other_code_are_found_after_they_were_touched(done, tools):
    """`--touch` writes down that they are of today's code; they say themselves that they are not."""
    assert "Nothing to be done" in done("--dry-run")
    edit(done)
    done("--touch")
    said = done("--dry-run", code=1).partition(STALE)[2].split()
    assert said == sorted(path for path in tools.products(done.folder) if path.startswith("data/fits"))


@pytest.mark.slow
def test_lost_notes_alone_and_what_is_deleted_as_told(done, undisturbed, tools):
    """The same code: nothing is to be done. Other code: what is deleted as told is made again."""
    shutil.rmtree(done.folder / ".snakemake")
    assert "Nothing to be done" in done()
    edit(done)
    with (done.folder / "src/papers/data/standard.py").open("a", encoding="utf-8") as file:
        file.write("ADDED = 1\n")
    said = done(code=1).partition(STALE)[2].split()
    assert "data/standard/as-released/coal.h5" in said and len(said) == 5
    for name in said:
        (done.folder / name).unlink()
    assert done().count("rule fit:") == 4
    made, wanted = tools.products(done.folder), tools.products(undisturbed.folder)
    assert {name for name in wanted if made[name] != wanted[name]} <= {said[-1], *said}


@pytest.mark.slow
def test_a_branch_that_is_switched_and_back_while_a_run_goes_on(done, tools):
    """Fits of the other code would name that from which the run began, and be kept as made by it."""
    wanted, source = tools.products(done.folder), done.folder / "src/papers/qp/fits.py"
    done.forget(*SEED_1)
    done.hold(1)
    process, before = done.start(cores=1), source.read_text(encoding="utf-8")
    done.held()
    edit(done)
    done.release()
    out = tools.finished(process, 1)
    assert "the code of" in out and "changed while the run went on: run again" in out
    assert not [path for pattern in SEED_1 for path in done.folder.glob(pattern)]
    source.write_text(before, encoding="utf-8")
    done()
    made = tools.products(done.folder)
    assert {name for name in wanted if made[name] != wanted[name]} <= {"results/tiny/runs.csv"}
