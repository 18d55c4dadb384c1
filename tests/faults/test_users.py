"""Other users, masks and modes; two commands at once; products dated in the future or the past."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NOBODY = 65534
AS_NOBODY = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""Where this Python is in a folder of root's own: who may read everything, and write what others may."""
FOLD = ("records", "--fits", "data/fits", "--records")
DRAW = ("tables", "--records", "results/tiny", "--tables", "drawn/tables", "--figures", "drawn/figures")


@pytest.fixture
def open_place():
    """A folder that every user may enter; pytest's own may be entered by its user alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def nobody(open_place):
    """Command prefix of a user without rights, who can run this Python."""
    secret = open_place / "secret"
    secret.touch(0o644)
    code = f"import os\ntry: open({str(secret)!r}, 'a')\nexcept PermissionError: print(os.getuid())"
    for prefix in (AS_NOBODY, (*AS_NOBODY, *READING)):
        through_a_shell = [*prefix, "sh", "-c", 'exec "$0" "$@"', sys.executable, "-c", code]
        try:
            tried = subprocess.run(through_a_shell, capture_output=True, text=True)
        except OSError:
            pytest.skip("no setpriv on this machine")
        if tried.stdout.strip() == str(NOBODY):
            return prefix
    return pytest.skip("nobody else can run this Python here")


def command(folder, *arguments, before=(), child=None):
    """Start `tilted` in a folder, by the code there."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "MPLCONFIGDIR": str(folder / "cache")}
    return subprocess.Popen(
        [*before, sys.executable, "-m", "papers", *arguments],
        cwd=folder,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=child,
    )


def everything(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def half_done(run):
    """Half of the fits are to be made again, and all that is made of them."""
    run.forget("data/fits/qp/as-released/coal/*-001-001.jsonl.gz")
    for top in ("results", "tables", "figures"):
        shutil.rmtree(run.folder / top)


def belongs_to_nobody(run, place):
    run.folder = Path(shutil.move(run.folder, place / "theirs"))
    for path in (run.folder, *run.folder.rglob("*")):
        os.chown(path, NOBODY, NOBODY)


def test_another_user_and_then_a_folder_that_may_only_be_read(done, open_place, nobody, undisturbed, tools):
    """A user without rights makes the same; reading needs no right to write, writing says what it lacks."""
    half_done(done)
    belongs_to_nobody(done, open_place)
    done(before=nobody, HOME=str(done.folder / "home"), XDG_CACHE_HOME=str(done.folder / "cache"))
    tools.assert_same(done, undisturbed)
    before = everything(done.folder / "results/tiny")
    for path in (done.folder, *done.folder.rglob("*")):
        path.chmod(path.stat().st_mode & 0o555)
    refused = {FOLD: "results/tiny", DRAW: "drawn"}
    for arguments, name in refused.items():
        arguments = (*arguments, "results/tiny") if arguments == FOLD else arguments
        out = tools.finished(command(done.folder, *arguments, before=nobody), 2)
        assert "Permission denied" in out and name in out and "Traceback" not in out
    out = tools.finished(command(done.folder, "check", "--records", "results/tiny", before=nobody))
    assert "intact" in out and everything(done.folder / "results/tiny") == before


def test_files_that_nobody_else_may_read(done, undisturbed, tools):
    """umask 077: the same products, for their owner alone."""
    half_done(done)
    done(child=lambda: os.umask(0o077))
    tools.assert_same(done, undisturbed)
    made = [path for path in (done.folder / "results").rglob("*") if path.is_file()]
    assert made and all(path.stat().st_mode & 0o077 == 0 for path in made)


@pytest.mark.parametrize("what", ["tables", "records"])
def test_two_commands_at_once(done, tools, what):
    """Each ends well, and together they leave what one alone leaves."""
    arguments = DRAW if what == "tables" else (*FOLD, "drawn")
    tools.finished(command(done.folder, *arguments))
    alone = everything(done.folder / "drawn")
    assert len(alone) > 3
    shutil.rmtree(done.folder / "drawn")
    for process in [command(done.folder, *arguments) for _ in range(2)]:
        tools.finished(process)
    assert everything(done.folder / "drawn") == alone


def test_products_dated_in_the_past(done, undisturbed, tools):
    """As by a clock that leapt back: what is there stays, what is made from it is the same."""
    for top in ("results", "tables", "figures"):
        for path in (done.folder / top).rglob("*"):
            os.utime(path, (0, 0))
    assert "Nothing to be done" in done()
    done.forget("tables/tiny/*", "figures/tiny/as-released/*")
    assert "rule compact:" not in done()
    tools.assert_same(done, undisturbed)


def test_products_dated_in_the_future(done, undisturbed, tools):
    """What is there stays; what would be made from it is refused with its name, until it is touched."""
    later = time.time() + 400 * 86400
    for top in ("data/fits", "data/standard", "results", "tables", "figures"):
        for path in (done.folder / top).rglob("*"):
            os.utime(path, (later, later))
    assert "Nothing to be done" in done()
    done.forget("tables/tiny/*", "figures/tiny/as-released/*")
    out = done(code=1)
    assert "results/tiny/qp" in out and "clock" in out
    for path in (done.folder / "results").rglob("*"):
        path.touch()
    done()
    tools.assert_same(done, undisturbed)
