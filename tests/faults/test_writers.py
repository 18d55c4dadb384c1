"""Every writer: a temporary file in the target's folder, renamed when whole, removed on any failure."""

import ast
import errno
import gzip
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time

import pytest

from papers.evidence import files, store

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


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_replaced_whole_and_its_writer_not_swept(name, place, monkeypatch):
    """Until it is renamed its target is what it was; then it is whole, and on the disk."""
    folder, mirror = place
    target = folder / TARGETS.get(name, "x.out")
    if "raw" not in name:  # one that is there is not fetched again
        target.write_bytes(b"old")
    renamed, flushed, rename, flush = [], {}, os.replace, os.fsync

    def fsync(handle):
        flush(handle)
        flushed[os.fstat(handle).st_ino] = os.fstat(handle).st_size

    def replace(partial, path):
        assert files.PARTIAL.fullmatch(partial.name) and partial.parent == path.parent
        assert flushed[partial.stat().st_ino] == partial.stat().st_size > 0
        assert not path.exists() or path.read_bytes() == b"old"
        assert files.sweep(folder) == []
        whole = partial.read_bytes()
        rename(partial, path)
        assert path.read_bytes() == whole
        renamed.append(path)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setenv("MIRROR", str(mirror))
    monkeypatch.setenv("HOME_OF_DATA", str(folder))
    before = {*listing(place)}
    exec(WRITERS[name], {"target": str(target)})
    assert target in renamed and len(renamed) == (3 if name == "figure" else 1)
    assert {str(path.relative_to(folder)) for path in renamed} >= {*listing(place)} - before


def content(path):
    """What a file holds; of one compressed here the plain bytes, which is what its checksum is of."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("name", ["bytes", "records", "standard file", "raw file"])
def test_a_writer_that_may_not_write(name, place, tools):
    """A read-only folder: the reason is said, nothing is left."""
    folder = place[0] / "raw" if "raw" in name else place[0]
    empty = listing(place)
    folder.chmod(0o555)
    try:
        _, code, said = write(name, place, tools.obey_modes)
    finally:
        folder.chmod(0o755)
    assert code == 7 and os.strerror(errno.EACCES) in said, said
    assert listing(place) == empty


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


def test_only_half_written_files_are_swept(tmp_path):
    kept = [
        ".x.tmp",
        "x.0123456789abcdef0123456789abcdef.tmp",
        ".x.0123456789ABCDEF0123456789abcdef.tmp",
        ".x",
    ]
    for name in [*kept, ".x.h5.0123456789abcdef0123456789abcdef.tmp"]:
        (tmp_path / name).write_bytes(b"")
    (removed,) = files.sweep(tmp_path)
    assert removed.name.startswith(".x.h5.")
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


def test_a_link_to_a_folder_that_is_gone_is_named(tmp_path):
    """A scratch disk was purged; the system says that the file exists."""
    (tmp_path / "raw").symlink_to(tmp_path / "purged")
    for folder in (tmp_path / "raw", tmp_path / "raw/below"):
        with pytest.raises(FileNotFoundError, match=r"raw is a link to .*purged, which is gone"):
            files.ensured(folder)
    with pytest.raises(FileNotFoundError, match="which is gone"), files.writing_in(tmp_path / "raw"):
        pass


def test_folders_behind_links_are_swept_once(tmp_path):
    """Such as data/fits on another disk; links that lead in a circle end."""
    there = tmp_path / "disk" / "qp"
    there.mkdir(parents=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data/fits").symlink_to(tmp_path / "disk")
    (there / "circle").symlink_to(tmp_path / "data")
    (there / f".x.gz.{'a' * 32}.tmp").write_bytes(b"")
    (removed,) = files.sweep(tmp_path / "data")
    assert removed.name.startswith(".x.gz.") and list(there.iterdir()) == [there / "circle"]


def test_no_locks_no_sweep(tmp_path, monkeypatch):
    """Where folders cannot be locked, files are written and none is removed."""
    orphan = tmp_path / f".x.{'a' * 32}.tmp"
    orphan.write_bytes(b"")

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(files.fcntl, "flock", refuse)
    assert store.write_text(tmp_path / "x", "text").read_text() == "text"
    assert files.sweep(tmp_path) == [] and orphan.exists()
    monkeypatch.setattr(files, "fcntl", None)
    assert store.write_text(tmp_path / "x", "new").read_text() == "new"
    assert files.sweep(tmp_path) == [] and orphan.exists()


# Where a file is opened for writing or appending, and why that is no product written in place
ALLOWED = {
    "src/papers/evidence/files.py": {"replacing", "alone", "_write", "_finish"},  # a lock; what is renamed
    "src/papers/data/fetch.py": {"_try", "_accept"},  # temporary, renamed
    "src/papers/evidence/style.py": {"save"},  # in memory
    "src/tilted/bayesopt/log.py": {"append"},  # a log, line by line
    "src/tilted/estimators/saved.py": {"save"},  # temporary, renamed
    "src/papers/qp/steps.py": {"narrate"},  # logs of jobs
    "src/papers/pep/regression.py": {"narrate"},
    "src/papers/evidence/kept.py": {"noted"},  # line by line; a torn one is none
    "src/papers/pep/digits/training.py": {"narrate"},
    "src/papers/compare/report.py": {"write"},  # folders of their own, made anew
    "src/papers/report/pages.py": {"write", "_fill"},
    "src/papers/reproduce/command.py": {"run"},
    "src/papers/reproduce/fits.py": {"_run", "copied", "begin"},
}
METHODS = {
    "write_text",
    "write_bytes",
    "savefig",
    "to_csv",
    "to_hdf",
    "to_json",
    "touch",
    "copyfile",
    "copy",
    "move",
}


def opened_for_writing(source):
    """Functions in which a file is opened for writing, and at module level ""."""
    found = set()

    def visit(node, function):
        if isinstance(node, ast.FunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and writes(node):
            found.add(function)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(source), "")
    return found


def writes(call):
    """Whether a call opens or writes a file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    owner = getattr(getattr(call.func, "value", None), "id", "")
    if name in ("open", "File", "GzipFile"):
        words = [
            c.value for c in (*call.args, *(k.value for k in call.keywords)) if isinstance(c, ast.Constant)
        ]
        return any(isinstance(w, str) and set(w) <= set("rwxab+t") and set(w) & set("wxa+") for w in words)
    if name == "to_csv":
        return bool(call.args)
    if owner in ("store", "shutil"):
        return owner == "shutil"
    return name in METHODS and isinstance(call.func, ast.Attribute) and name != "copy"


def test_every_other_writer_goes_through_these(repository):
    found = {}
    for top in ("src", "workflow/scripts"):
        for path in sorted((repository / top).rglob("*.py")):
            if functions := opened_for_writing(path.read_text(encoding="utf-8")):
                found[str(path.relative_to(repository))] = functions
    found["src/papers/evidence/store.py"] -= {"_pack", "gzipped"}  # what `replacing` opened, or in memory
    found["src/papers/data/standard.py"] -= {"write_standard"}  # packs in memory
    found = {name: functions - {"_packed", "packed"} for name, functions in found.items()}
    assert {name: functions for name, functions in found.items() if functions} == ALLOWED
    rules = [*(repository / "workflow/rules").glob("*.smk"), repository / "Snakefile"]
    shells = [path.name for path in rules if "shell:" in path.read_text(encoding="utf-8")]
    assert shells == []  # a shell would write in place


def test_durations_are_of_clocks_that_do_not_leap(repository):
    """The wall clock is asked for the day of a run alone, and whether that is still to come or long gone."""
    wall, asked = re.compile(r"time\.time\(|time_ns\(|\bnow\(|utcnow\(|today\("), []
    for top in ("src", "workflow/scripts"):
        for path in sorted((repository / top).rglob("*.py")):
            asked += [
                line.strip() for line in path.read_text(encoding="utf-8").splitlines() if wall.search(line)
            ]
    assert asked == [
        'if date.fromisoformat(stamp["date"]) > runs.today() + timedelta(days=1):  # clocks differ a little',
        "path, today = results / runs.FILE, runs.today()",
        '"date": today().isoformat(),',
        "def today() -> date:",
        "return datetime.now(UTC).date()",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "open(p, 'w')",
        "p.open(mode='ab')",
        "p.write_text(x)",
        "frame.to_csv(p)",
        "h5py.File(p, 'w')",
        "shutil.copyfile(a, b)",
        "f.savefig(p)",
    ],
)
def test_the_search_for_writers_can_fail(line):
    assert opened_for_writing(f"def f():\n    {line}") == {"f"}
    for harmless in (
        "open(p)",
        "p.open('rb')",
        "frame.to_csv(index=False)",
        "store.write_text(p, x)",
        "a.copy()",
    ):
        assert opened_for_writing(harmless) == set()


def test_a_killed_writer_takes_its_lock_with_it(tmp_path):
    """A sweep at once after a SIGKILL finds the folder free: no waiting, no time limit."""
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path / "x.gz")], stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"writing\n"
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    began = time.monotonic()
    assert len(files.sweep(tmp_path)) == 1 and time.monotonic() - began < 5
