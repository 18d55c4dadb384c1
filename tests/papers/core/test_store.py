"""Records on disk: exact, reproducible, atomic, and refused when anything is wrong."""

import gzip
import math
import os

import pytest

from papers.core import files, store


@pytest.fixture
def record():
    """Function: a record, with what is named changed."""

    def make(**changes):
        return {"method": "ep", "fold": 0, "ntll": 0.2, "latent_mean": [0.5, -0.5], "note": "ok", **changes}

    return make


def test_round_trip_is_exact(tmp_path, record):
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.0**-1074 * 3]
    records = [record(latent_variance=values), record(fold=1, ntll=None, latent_mean=None)]
    path = store.write_records(tmp_path / "deep" / "ep-0.jsonl.gz", records)
    back = store.read_records(path)
    assert back == records
    assert [math.copysign(1, v) for v in back[0]["latent_variance"]] == [1, 1, 1, 1, -1, 1]
    assert list(back[0]) == list(records[0])


def test_bytes_depend_on_the_records_alone(tmp_path, record, monkeypatch):
    first = store.write_records(tmp_path / "a.gz", [record(), record(fold=1)])
    monkeypatch.setattr("time.time", lambda: 2e9)
    second = store.write_records(tmp_path / "other-name.gz", [record(), record(fold=1)])
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes()[4:8] == bytes(4)  # no time stamp in the gzip header


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_non_finite_numbers_are_not_written(tmp_path, record, bad):
    path = store.write_records(tmp_path / "r.gz", [record()])
    before = path.read_bytes()
    with pytest.raises(store.RecordError, match="record 2"):
        store.write_records(path, [record(), record(fold=1, latent_mean=[0.0, bad])])
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["r.gz"]  # no partial file is left


@pytest.mark.parametrize("bad", [{"x": object()}, {"x": {1, 2}}])
def test_what_is_no_record_is_not_written(tmp_path, bad):
    with pytest.raises(store.RecordError, match="record 1"):
        store.write_records(tmp_path / "r.gz", [bad])
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "line",
    [b'{"x": NaN}', b'{"x": -Infinity}', b'{"x": 1', b"", b'"\xff"'],
)
def test_a_corrupt_line_is_named(tmp_path, line):
    path = tmp_path / "r.gz"
    path.write_bytes(gzip.compress(b'{"x": 1.0}\n' + line + b"\n"))
    with pytest.raises(store.RecordError, match=r"r\.gz, line 2"):
        store.read_records(path)


def test_a_truncated_file_is_named(tmp_path, record):
    path = store.write_records(tmp_path / "r.gz", [record(fold=k) for k in range(3)])
    path.write_bytes(path.read_bytes()[:-9])  # all of the data, not all of the check sum
    with pytest.raises(store.RecordError, match=r"r\.gz: truncated or corrupt gzip data"):
        store.read_records(path)


@pytest.mark.parametrize("content", [b"", b'{"x": 1}\n'])
def test_a_file_that_is_no_gzip_is_named(tmp_path, content):
    path = tmp_path / "r.gz"
    path.write_bytes(content)
    with pytest.raises(store.RecordError, match=r"r\.gz: "):
        store.read_records(path)


def test_no_line_is_believed_before_the_check_sum(tmp_path):
    """Damage that leaves lines which are no JSON, or are of another number, is named as damage."""
    path = store.write_records(tmp_path / "r.gz", [{"x": k / 7} for k in range(20)])
    whole = path.read_bytes()
    for place in range(10, len(whole) - 10):  # the last bits of the data are filling
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 64]) + whole[place + 1 :])
        with pytest.raises(store.RecordError, match="corrupt gzip data"):
            store.read_records(path)


def test_no_records_are_a_valid_file(tmp_path):
    assert store.read_records(store.write_records(tmp_path / "r.gz", [])) == []


def test_a_missing_file_is_not_an_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        store.read_records(tmp_path / "r.gz")


def test_an_interrupted_writer_leaves_the_old_files(tmp_path):
    """Of one file or of several, each of which is written before the first is replaced."""
    path = store.write_text(tmp_path / "t.txt", "old")
    with pytest.raises(KeyboardInterrupt), store.replacing(path) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    with pytest.raises(TypeError):
        files.write_together(tmp_path, {"t.txt": b"new", "u.txt": "no bytes"})
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["t.txt"]
    files.write_together(tmp_path, {"t.txt": None, "in/u.txt": b"new"})
    assert os.listdir(tmp_path) == ["in"] and (tmp_path / "in/u.txt").read_bytes() == b"new"
