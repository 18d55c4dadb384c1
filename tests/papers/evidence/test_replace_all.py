"""Several files of a folder replaced as one, whatever call fails or wherever the process is killed."""

import itertools
import os
import subprocess
import sys

import pytest

from papers.evidence import files

OLD = {"a": b"1", "deep/b": b"1", "gone": b"1"}
NEW = {"a": b"2", "deep/b": b"2", "c": b"2", "gone": None, "never there": None}
LEFT = {name: content for name, content in NEW.items() if content is not None}


def put(folder, contents):
    with files.alone(folder):
        files.replace_all(folder, contents)


def there(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file() and p.name != ".lock"
    }


def test_all_files_are_replaced(tmp_path):
    put(tmp_path, OLD)
    put(tmp_path, NEW)
    assert there(tmp_path) == LEFT


class Stop(OSError):
    pass


@pytest.mark.parametrize("name", ["replace", "rename", "fsync", "rmdir"])
def test_old_or_new_but_never_a_mixture(tmp_path, monkeypatch, name):
    """The k-th call of a system function fails, k = 1, 2, ... until none does."""
    original = getattr(os, name)
    for k in itertools.count():
        folder = tmp_path / str(k)
        put(folder, OLD)
        calls = itertools.count()

        def failing(*arguments, calls=calls, k=k, **more):
            if next(calls) == k:
                raise Stop("no")
            return original(*arguments, **more)

        with monkeypatch.context() as patch:
            patch.setattr(os, name, failing)
            try:
                put(folder, NEW)
                failed = False
            except Stop:
                failed = True
        files.finished(folder)
        with files.alone(folder):  # the next writer tidies up
            pass
        assert there(folder) in (OLD, LEFT), f"call {k}"
        if not failed and next(calls) <= k:
            assert k > 0
            break


def test_killed_between_two_files_the_next_reader_finishes(tmp_path):
    put(tmp_path, OLD)
    code = (
        "import os, sys\nfrom papers.evidence import files\n"
        "original, seen = os.replace, []\n"
        "def replace(*names):\n    original(*names)\n    os._exit(9)\n"
        "os.replace = replace\n"
        "with files.alone(sys.argv[1]):\n    files.replace_all(sys.argv[1], {'a': b'2', 'deep/b': b'2'})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)])
    assert done.returncode == 9 and (tmp_path / files.JOURNAL).is_dir()
    files.finished(tmp_path)
    assert there(tmp_path) == {"a": b"2", "deep/b": b"2", "gone": b"1"}


def test_files_without_the_list_of_their_names_are_not_thrown_away(tmp_path):
    """No kill leaves this, but a disk that lost the list may: better an error than the loss of them."""
    (tmp_path / files.JOURNAL).mkdir()
    (tmp_path / files.JOURNAL / "0").write_bytes(b"2")
    with pytest.raises(OSError, match="not empty"):
        files.finished(tmp_path)
    assert (tmp_path / files.JOURNAL / "0").read_bytes() == b"2"


def test_two_writers_wait_for_each_other(tmp_path):
    code = (
        "import sys\nfrom papers.evidence import files\n"
        "for k in range(30):\n"
        "    with files.alone(sys.argv[1]):\n"
        "        files.replace_all(sys.argv[1], {name: sys.argv[2].encode() * 1000 for name in 'abc'})\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), letter]) for letter in "xy"]
    for _ in range(200):
        if (tmp_path / "a").exists():
            with files.alone(tmp_path):
                assert len({(tmp_path / name).read_bytes() for name in "abc"}) == 1
    assert [process.wait() for process in both] == [0, 0]
