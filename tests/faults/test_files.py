"""Full disks, writers that are killed, damaged files, and fits that fail."""

import errno
import gzip
import os
import random
import resource
import subprocess
import sys

import pytest

LIMIT = 4096  # bytes a file may have, in a child process
NOISE = "import random; noise = random.Random(0).randbytes(100_000)"
WRITERS = {
    "records": f"""{NOISE}; from papers.core import store
store.write_records(target, ({{"noise": noise[i:i + 1000].hex()}} for i in range(0, 100_000, 1000)))""",
    "standard file": """import numpy as np; from papers import data
X = np.random.default_rng(0).normal(size=(500, 9))
data.write_standard(data.Dataset("x", "as-released", X, X[:, 0], tuple("abcdefghi"), {}), target)""",
    "figure": """from matplotlib.figure import Figure; from papers.core import style
figure = Figure(); figure.add_subplot().plot(range(99)); style.save(figure, target[:-4])""",
    "raw file, compressed here": f"""{NOISE}; import os, hashlib; from papers import data
mirror, home = os.environ["MIRROR"], os.environ["HOME_OF_DATA"]
entry = {{"path": "x.bin.gz", "sha256": "0" * 64, "bytes": len(noise), "urls": [],
         "plain_sha256": hashlib.sha256(noise).hexdigest(), "plain_bytes": len(noise)}}
data.fetch(entry, home, mirror)""",
}
TARGETS = {"figure": "x.pdf", "raw file, compressed here": "raw/x.bin.gz"}
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


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "figure" else ()) for name in WRITERS]
)
def test_a_writer_whose_disk_is_full(name, place):
    """Its error says so, nothing half written is left, and what was there stays; then it writes the same."""
    empty = listing(place)
    failed(write(name, place, full_disk))
    assert listing(place) == empty
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


ARTIFACTS = ("tables/tiny/*", "figures/tiny/as-released/*")
COAL = "data/fits/qp/as-released/coal"


def small_files():
    """To be called in a child: no file may have more than 64 kB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


@pytest.mark.slow
def test_a_full_disk(done, undisturbed, tools):
    """The job fails and says so, its files are removed; with room again the next run makes them."""
    done.forget(*ARTIFACTS)
    out = done(code=1, PYTHONDONTWRITEBYTECODE="1", child=small_files)  # of bytecode too it would keep half
    assert "File too large" in out and "Error in rule qp_artifacts" in out
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
