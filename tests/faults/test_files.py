"""Full disks, writers that are killed, damaged files, and fits that fail."""

import errno
import gzip
import os
import random
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest

from papers.evidence import files, store
from tilted.projections import table as lookup

LIMIT = 4096  # bytes a file may have, in a child process
NOISE = "import random; noise = random.Random(0).randbytes(100_000)"
WRITERS = {
    "bytes": f"{NOISE}; from papers.evidence import store; store.write_bytes(target, noise)",
    "text": f"{NOISE}; from papers.evidence import store; store.write_text(target, noise.hex())",
    "records": f"""{NOISE}; from papers.evidence import store
store.write_records(target, ({{"noise": noise[i:i + 1000].hex()}} for i in range(0, 100_000, 1000)))""",
    "standard file": """import numpy as np; from papers import data
X = np.random.default_rng(0).normal(size=(500, 9))
data.write_standard(data.Dataset("x", "as-released", X, X[:, 0], tuple("abcdefghi"), {}), target)""",
    "figure": """from matplotlib.figure import Figure; from papers.evidence import style
figure = Figure(); figure.add_subplot().plot(range(99)); style.save(figure, target[:-4])""",
    "raw file": f"""{NOISE}; import os, hashlib; from papers import data
mirror, home = os.environ["MIRROR"], os.environ["HOME_OF_DATA"]
entry = {{"path": "x.bin", "sha256": hashlib.sha256(noise).hexdigest(), "bytes": len(noise), "urls": []}}
data.fetch(entry, home, mirror)""",
    "raw file, compressed here": f"""{NOISE}; import os, hashlib; from papers import data
mirror, home = os.environ["MIRROR"], os.environ["HOME_OF_DATA"]
entry = {{"path": "x.bin.gz", "sha256": "0" * 64, "bytes": len(noise), "urls": [],
         "plain_sha256": hashlib.sha256(noise).hexdigest(), "plain_bytes": len(noise)}}
data.fetch(entry, home, mirror)""",
}
TARGETS = {"figure": "x.pdf", "raw file": "raw/x.bin", "raw file, compressed here": "raw/x.bin.gz"}
RUN = """import sys, os, errno
target = sys.argv[1]
try:
    exec(os.environ["WRITER"])
except (OSError, ValueError) as error:  # a fetch that failed everywhere is a DataError
    print(type(error).__name__, error, file=sys.stderr)
    sys.exit(7)
"""


@pytest.fixture
def place(tmp_path, repository):
    """A folder that is a data folder too, with a mirror beside it."""
    folder, mirror = tmp_path / "home", tmp_path / "mirror"
    (folder / "raw").mkdir(parents=True)
    mirror.mkdir()
    (folder / "sources.yaml").write_bytes((repository / "data/sources.yaml").read_bytes())
    (mirror / "x.bin").write_bytes(random.Random(0).randbytes(100_000))
    return folder, mirror


def write(name, place, child=None):
    """Run a writer in a process of its own; the target, exit status and what it said."""
    folder, mirror = place
    target = folder / TARGETS.get(name, "x.out")
    environment = {**os.environ, "WRITER": WRITERS[name], "MIRROR": str(mirror), "HOME_OF_DATA": str(folder)}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # with no room on the disk it would keep half of it
    command = [sys.executable, "-c", RUN, str(target)]
    done = subprocess.run(command, env=environment, preexec_fn=child, capture_output=True, text=True)
    return target, done.returncode, done.stderr


def listing(place):
    return sorted(str(p.relative_to(place[0])) for p in place[0].rglob("*") if p.is_file())


def full_disk():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.mark.parametrize("name", WRITERS)
def test_a_writer_whose_disk_is_full(name, place):
    """Its error says so, nothing half written is left, and what was there stays; then it writes the same."""
    empty = listing(place)
    failed(write(name, place, full_disk))
    assert listing(place) == empty  # nothing was swept
    target, code, said = write(name, place)
    assert code == 0, said
    whole = content(target)
    if "raw" not in name:  # one that is there is not fetched again
        failed(write(name, place, full_disk))
        assert content(target) == whole
    target.unlink()
    assert write(name, place)[1] == 0 and content(target) == whole
    assert len(listing(place)) == len(empty) + (3 if name == "figure" else 1)


def failed(outcome):
    """A full disk was said to be one."""
    _, code, said = outcome
    assert code == 7 and os.strerror(errno.EFBIG) in said, said


def content(path):
    """What a file holds; of one compressed here the plain bytes, which is what its checksum is of."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


KILLED = """import sys, time
from papers.evidence import store
def lines():
    yield {"x": list(range(10000))}
    print("writing", flush=True)
    time.sleep(60)
store.write_records(sys.argv[1], lines())
"""


def test_what_a_killed_writer_leaves_is_swept_and_a_living_ones_is_not(tmp_path):
    target = store.write_records(tmp_path / "deep" / "x.gz", [{"x": 1}])
    before = target.read_bytes()
    writers = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"writing\n"
    assert len(list(target.parent.iterdir())) == 3
    writers[0].kill()
    writers[0].communicate()
    assert files.sweep(tmp_path) == []  # the other lives
    writers[1].kill()
    writers[1].communicate()
    assert len(files.sweep(tmp_path, tmp_path / "nonesuch")) == 2
    assert list(target.parent.iterdir()) == [target] and target.read_bytes() == before


# Where a file is opened for writing or appending, and why that is no product written in place


# --- in a run of the workflow

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
def test_a_job_that_raises(done, undisturbed, tools):
    """Not a fit that fails but an error of the program: no record, exit status 1, the other jobs are made."""
    done.forget(f"{COAL}/qp-001-001.jsonl.gz", f"{COAL}/ep-000-000.jsonl.gz")
    script = done.folder / "workflow/scripts/fit.py"
    text = script.read_text(encoding="utf-8")
    broken = "assert snakemake.params.parameters['method'] != 'qp', 'made to fail'\n"
    script.write_text(broken + text, encoding="utf-8")
    out = done(code=1)
    assert "made to fail" in out and "Error in rule qp_fit" in out
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
    log = (fresh.folder / "logs/qp/as-released/coal/qp-000-000.log").read_text(encoding="utf-8")
    assert "0/1 fits converged" in log and "made to fail" in log
