"""Full disks, folders that may not be written, damaged files, fits that fail, other clocks and locales."""

import os
import resource
import shutil
import subprocess
import time

import numpy as np
import pytest

from papers.evidence import store
from tilted.projections import table as lookup

ARTIFACTS = ("tables/tiny/*", "figures/tiny/as-released/*")
COAL = "data/fits/qp/as-released/coal"


def small_disk(path):
    """Command prefix that gives a program a small disk at a folder, in a name space of its own; or None."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        return None
    mount = f"mount -t tmpfs -o size=16k none {path}"
    if subprocess.run(["unshare", "-m", "sh", "-c", mount], capture_output=True).returncode:
        return None
    # what is left there is counted before the name space, and the disk with it, is gone
    return [
        "unshare",
        "-m",
        "sh",
        "-c",
        f'{mount} && "$@"; code=$?; echo LEFT $(find {path} -type f); exit $code',
        "sh",
    ]


def small_files():
    """To be called in a child: no file may have more than 64 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


@pytest.mark.slow
@pytest.mark.parametrize("how", ["disk", "limit"])
def test_a_full_disk(done, undisturbed, tools, how):
    """The job fails and says so, its files are removed; with room again the next run makes them."""
    done.forget(*ARTIFACTS)
    before = small_disk(done.folder / "tables")
    if how == "disk" and before is None:
        pytest.skip("no disk can be mounted here (needs root)")
    trouble = {"before": before} if how == "disk" else {"child": small_files}
    out = done(code=1, PYTHONDONTWRITEBYTECODE="1", **trouble)  # of bytecode too it would keep half
    assert ("No space left on device" if how == "disk" else "File too large") in out
    assert "Error in rule qp_artifacts" in out
    if how == "disk":
        (left,) = [line for line in out.splitlines() if line.startswith("LEFT")]
        assert left == "LEFT"
    assert done.partial() == []
    done()
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_a_folder_that_may_not_be_written(done, undisturbed, tools):
    done.forget(f"{COAL}/*-001-001.jsonl.gz")
    folder = done.folder / COAL
    folder.chmod(0o555)
    out = done(code=1, child=tools.obey_modes)
    folder.chmod(0o755)
    assert "Permission denied" in out and COAL in out
    assert done.partial() == [] and len(list(folder.iterdir())) == 2
    done()
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, said",
    [
        (f"{COAL}/ep-001-001.jsonl.gz", "truncated or corrupt gzip data"),
        ("data/standard/as-released/coal.h5", "is corrupted"),
        ("results/tiny/qp/variances.csv.gz", "variances.csv.gz"),
    ],
)
def test_a_damaged_file_is_named_and_made_again(done, undisturbed, tools, name, said):
    """Detected where it is next read; once deleted, as the message says, it is computed again."""
    path = done.folder / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 64
    times = path.stat()
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # nothing but its content tells
    done.forget(*(ARTIFACTS if name.startswith("results") else (f"{COAL}/qp-*", "results/tiny/qp/*")))
    out = done(code=1)
    assert path.name in out and said in out
    path.unlink(missing_ok=True)
    done()
    tools.assert_same(done, undisturbed)


def test_a_damaged_lookup_table_is_named(tmp_path):
    """By the hash of its numbers."""
    table = lookup.RatioTable((lookup.Patch((0.0, 0.0), (1.0, 1.0), np.eye(40)),))
    whole = lookup.encode(table)
    path = store.write_bytes(tmp_path / "probit.table", whole)
    assert lookup.read(path).patches[0].coefficients.shape == (40, 40)
    content = bytearray(whole)
    place = whole.index(b"\0\0\0\0\0\0\xf0\x3f" + bytes(40 * 8))  # a one of the identity
    content[place + 5] ^= 1
    for damaged in (content, whole[: len(whole) // 2]):
        path.write_bytes(damaged)
        with pytest.raises(
            lookup.TableError, match="probit.table is damaged .content hash differs.; delete it and run again"
        ):
            lookup.read(path)


@pytest.mark.slow
def test_a_damaged_lookup_table_is_made_again(fresh, tools):
    """The fit that reads it names it and fails; once deleted it is made again, and so is the record."""
    config = fresh.folder / "config/small.yaml"
    text = config.read_text(encoding="utf-8").replace("coal: {seeds: 2", "wine13: {seeds: 1")
    config.write_text(text, encoding="utf-8")
    table = fresh.folder / "data/lookup/probit.table"
    record = "data/fits/qp/as-released/wine13/qp-000-000.jsonl.gz"
    fresh(record)
    whole, fits = table.read_bytes(), tools.numbers(fresh.folder / record)
    table.write_bytes(whole[: len(whole) // 2])
    out = fresh(record, code=1)
    assert "data/lookup/probit.table is damaged" in out and "delete it and run again" in out
    table.unlink()
    fresh(record)
    assert table.read_bytes() == whole and tools.numbers(fresh.folder / record) == fits


@pytest.mark.slow
def test_a_job_that_raises(done, undisturbed, tools):
    """Not a fit that fails but an error of the program: no record, exit status 1, the other jobs are made."""
    done.forget(f"{COAL}/qp-001-001.jsonl.gz", f"{COAL}/ep-000-000.jsonl.gz")
    script = done.folder / "workflow/scripts/run.py"
    text = script.read_text(encoding="utf-8")
    broken = "assert snakemake.params.parameters['method'] != 'qp', 'made to fail'\n"
    script.write_text(broken + text, encoding="utf-8")
    out = done(code=1)
    assert "made to fail" in out and "Error in rule fit" in out
    assert not (done.folder / COAL / "qp-001-001.jsonl.gz").exists()
    assert (done.folder / COAL / "ep-000-000.jsonl.gz").exists() and done.partial() == []
    script.write_text(text, encoding="utf-8")
    done()
    tools.assert_same(done, undisturbed)


@pytest.mark.slow
def test_fits_that_do_not_converge_or_fail_are_records(fresh):
    """The run ends well, every table says how many fits gave numbers, and the log why the others did not."""
    module = fresh.folder / "src/papers/qp/fits.py"
    code = module.read_text(encoding="utf-8")
    before = "        if replayed := "
    fails = '        if cell.spec["rule"] == "qp":\n            raise ArithmeticError("made to fail")\n'
    assert code.count(before) == 1
    module.write_text(code.replace(before, fails + before), encoding="utf-8")
    fresh()
    records = [r for path in sorted((fresh.folder / COAL).glob("qp-*")) for r in store.read_records(path)]
    assert [r["status"]["message"] for r in records] == ["failed: made to fail"] * 2
    assert all(r["log_evidence"] is None and not r["status"]["converged"] for r in records)
    lines = (fresh.folder / "tables/tiny/qp_table1.csv").read_text(encoding="utf-8").splitlines()
    (line,) = [line for line in lines if ",qp," in line and ",ntll," in line.lower()]
    assert ",0,2," in line  # converged, attempted
    log = (fresh.folder / "logs/fits/qp/as-released/coal/qp-000-000.jsonl.gz.log").read_text(encoding="utf-8")
    assert "0/1 fits converged" in log and "made to fail" in log


ELSEWHERE = """
import locale, os, time

ahead, now = float(os.environ["AHEAD"]), time.time
time.time = lambda: now() + ahead
time.time_ns = lambda: int(1e9 * time.time())

locale.setlocale(locale.LC_ALL, "")
assert locale.localeconv()["decimal_point"] == os.environ["POINT"]
"""  # sitecustomize of every Python in the run
COMMA = 'comment_char %\nLC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3\nEND LC_NUMERIC\n'


def decimal_comma(folder):
    """Variables for a locale with decimal commas, made in a folder, and the decimal point; C without it."""
    (folder / "comma").write_text(COMMA, encoding="utf-8")
    if shutil.which("localedef"):
        # -c: warnings that all else is missing do not count
        command = ["localedef", "-c", "-i", "comma", "-f", "ANSI_X3.4-1968", "./de_DE"]
        subprocess.run(command, cwd=folder, capture_output=True)
    if not (folder / "de_DE").is_dir():
        return {"LC_ALL": "C", "POINT": "."}
    return {"LC_ALL": "de_DE", "LOCPATH": str(folder), "POINT": ","}


def dated(content):
    """A product as of the day on which every undisturbed run was made."""
    return content.replace(b"2033-05-18", b"2026-01-02") if isinstance(content, bytes) else content


@pytest.mark.slow
def test_other_clocks_locales_cores_and_blocks(fresh, undisturbed, tools):
    """Years later, sources of another day, another zone, decimal commas, one core, other blocks."""
    config = fresh.folder / "config/small.yaml"
    text = config.read_text(encoding="utf-8")
    config.write_text(text.replace("block: 1", "block: 2"), encoding="utf-8")
    module = fresh.folder / "src/papers/evidence/runs.py"
    clock = 'datetime.fromtimestamp(__import__("time").time(), UTC).date()'  # `now` is in C: not set ahead
    text = module.read_text(encoding="utf-8").replace("datetime(2026, 1, 2).date()", clock)
    module.write_text(text, encoding="utf-8")
    (fresh.folder / "src/sitecustomize.py").write_text(ELSEWHERE, encoding="utf-8")
    earlier = time.time() - 400 * 86400
    for path in fresh.folder.rglob("*"):
        os.utime(path, (earlier, earlier))
    noon = 2_000_030_400  # 2033-05-18 12:00 in UTC, the 19th in Kiritimati
    elsewhere = {
        "TZ": "Pacific/Kiritimati",
        "LANG": "C",
        "PYTHONHASHSEED": "7",
        "PYTHONUTF8": "0",
        "AHEAD": str(noon - time.time()),
        **decimal_comma(fresh.folder),
    }
    fresh(cores=1, **elsewhere)
    records = store.read_records(fresh.folder / COAL / "ep-000-001.jsonl.gz")
    assert {record["run"]["date"] for record in records} == {"2033-05-18"}
    made, wanted = tools.products(fresh.folder), tools.products(undisturbed.folder)
    table = "tables/tiny/qp_table1.md"
    assert b"2033-05-18" in made[table]
    made = {name: dated(content) for name, content in made.items()}
    fits = {name for name in {*made, *wanted} if name.startswith("data/fits")}
    assert {name for name in made if name not in fits} == {name for name in wanted if name not in fits}
    assert [name for name in wanted if name not in fits and made[name] != wanted[name]] == []
    for method in ("ep", "qp"):
        parts = [wanted[f"{COAL}/{method}-{seed:03d}-{seed:03d}.jsonl.gz"] for seed in (0, 1)]
        assert made[f"{COAL}/{method}-000-001.jsonl.gz"] == sum(parts, [])
    assert fresh.partial() == []


@pytest.mark.slow
def test_a_source_of_the_future_is_named(done, undisturbed, tools):
    """By a clock that is wrong, or was: its products would be made again for ever."""
    source = done.folder / "data/published/qp_table1.csv"
    later = time.time() + 400 * 86400
    os.utime(source, (later, later))
    done.forget(*ARTIFACTS)
    out = done(code=1)
    assert "data/published/qp_table1.csv" in out and "clock" in out
    source.touch()
    done()
    tools.assert_same(done, undisturbed)
