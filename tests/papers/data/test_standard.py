"""Standard files under damage."""

import os
import random
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from papers import data
from papers.data import standard

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    path = tmp_path_factory.mktemp("made") / "standard/as-released/coal.h5"
    data.write_standard(data.load("coal"), path)
    return path.read_bytes()


def test_any_damaged_byte_is_refused_before_hdf5_sees_it(intact, tmp_path, monkeypatch):

    def never(*_, **__):
        raise AssertionError("the HDF5 library was given a damaged file")

    monkeypatch.setattr(h5py, "File", never)
    rng = random.Random(0)
    places = [0, 40, standard.BLOCK - 1, standard.BLOCK, len(intact) - 1]
    for place in [*places, *rng.sample(range(len(intact)), 200)]:
        damaged = bytearray(intact)
        damaged[place] ^= 1 << rng.randrange(8)
        (tmp_path / "x.h5").write_bytes(damaged)
        with pytest.raises(data.DataError, match="x.h5 is corrupted .* delete it and run again"):
            data.read_standard(tmp_path / "x.h5")


@pytest.mark.parametrize("length", [0, 1, 511, 512, 513, 3000])
def test_truncated_files_are_refused(intact, tmp_path, length):
    (tmp_path / "x.h5").write_bytes(intact[:length])
    with pytest.raises(data.DataError, match="corrupted"):
        data.read_standard(tmp_path / "x.h5")


def test_a_missing_file_is_not_called_corrupted(tmp_path):
    with pytest.raises(data.DataError, match="cannot read .*No such file"):
        data.read_standard(tmp_path / "x.h5")


def test_other_hdf5_tools_can_read_a_standard_file(intact, tmp_path):

    (tmp_path / "x.h5").write_bytes(intact)
    with h5py.File(tmp_path / "x.h5") as file:
        assert file["X"].shape == (112, 1) and file["y"][()].sum() == 191


def test_the_bytes_do_not_depend_on_the_process(intact, tmp_path):
    code = "import sys; from papers import data; data.write_standard(data.load('coal'), sys.argv[1])"
    path = tmp_path / "other.h5"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONHASHSEED": "5"}
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, env=environment)
    assert path.read_bytes() == intact


def test_a_failed_write_keeps_the_old_file(intact, tmp_path, monkeypatch):
    path = tmp_path / "x.h5"
    path.write_bytes(intact)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        data.write_standard(data.load("wine12"), path)
    assert [p.name for p in tmp_path.iterdir()] == ["x.h5"] and path.read_bytes() == intact


def dataset(name, variant, kind):
    X = np.arange(12.0).reshape(6, 2)
    return data.Dataset(name, variant, X, np.sign(X[:, 0] - 5.0), ("a", "b"), {"title": "x"}, kind)


def test_a_standard_file_is_what_the_caller_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a path may be relative, too
    place = Path("standard/corrected/pima.h5")
    data.write_standard(dataset("pima", "corrected", "datasets"), place)
    assert data.read_standard(place, "pima", "corrected").name == "pima"
    with pytest.raises(data.DataError, match="pima.h5 is of variant 'corrected', not 'as-released'"):
        data.read_standard(place, "pima", "as-released")
    with pytest.raises(data.DataError, match="pima.h5 is of set 'pima', not 'crabs'"):
        data.read_standard(place, "crabs")
