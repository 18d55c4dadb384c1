"""Standard files: under damage, and in the place of another set."""

import hashlib
import io
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
    import h5py

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


def crafted(path, change):
    """A standard file with the right sums whose content somebody made up."""
    X, y = np.full((4, 2), 7.0), np.full(4, 7.0)
    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=standard.BLOCK) as file:
        made = {"X": X, "y": y} | change(file)
        for key, array in made.items():
            if array is not None:
                file[key] = array
        attributes = {"name": "x", "variant": "as-released", "kind": "datasets", "features": '["a", "b"]'}
        for key, value in {**attributes, "provenance": "{}"}.items():
            file.attrs[key] = value
        given = {key: a for key, a in made.items() if isinstance(a, np.ndarray) and a.dtype.kind == "f"}
        file.attrs["content"] = standard.content_hash(*({"X": X, "y": y} | given).values())
    body = buffer.getvalue()[standard.BLOCK :]
    head = standard.MARK + hashlib.sha256(body).hexdigest().encode() + b"\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head.ljust(standard.BLOCK, b"\0") + body)
    return path


def elsewhere(folder):
    """Another file, of HDF5 and of the bytes of the same numbers."""
    with h5py.File(folder / "other.h5", "w") as file:
        file["X"] = np.full((4, 2), 7.0)
    (folder / "other.raw").write_bytes(np.full((4, 2), 7.0).tobytes())
    return folder


def external(file, folder):
    file.create_dataset("X", (4, 2), "<f8", external=[(str(folder / "other.raw"), 0, 64)])
    return {"X": None}


def virtual(file, folder):
    layout = h5py.VirtualLayout((4, 2), "<f8")
    layout[:] = h5py.VirtualSource(folder / "other.h5", "X", (4, 2))
    file.create_virtual_dataset("X", layout)
    return {"X": None}


def bomb(file, _):
    file.create_dataset("X", (10**9, 10**6), "<f8", chunks=(1, 1))
    return {"X": None}


def huge(file, _):
    file.create_dataset("X", (10**9, 10**6), "<f8")
    return {"X": None}


def soft(file, _):
    file["Z"] = np.full((4, 2), 7.0)
    return {"X": h5py.SoftLink("/Z")}


CRAFTED = {
    "an external link": lambda file, folder: {"X": h5py.ExternalLink(str(folder / "other.h5"), "X")},
    "a soft link": soft,
    "numbers in another file": external,
    "a virtual one": virtual,
    "petabytes in chunks": bomb,
    "petabytes": huge,
    "three dimensions": lambda file, _: {"X": np.full((4, 2, 1), 7.0)},
    "one dimension": lambda file, _: {"X": np.full(8, 7.0)},
    "another length": lambda file, _: {"y": np.full(3, 7.0)},
    "another width": lambda file, _: {"X": np.full((4, 3), 7.0)},
    "whole numbers": lambda file, _: {"X": np.full((4, 2), 7)},
    "text": lambda file, _: {"y": np.array([b"a"] * 4)},
    "a folder": lambda file, _: {"y": None} if file.create_group("y") else {},
}


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_file_with_the_right_sums_is_refused(name, tmp_path):
    folder, path = elsewhere(tmp_path), tmp_path / "standard/as-released/x.h5"
    assert data.read_standard(crafted(path, lambda _: {})).X.shape == (4, 2)
    crafted(path, lambda file: CRAFTED[name](file, folder))
    with pytest.raises(data.DataError, match=r"x.h5 is corrupted \([Xy] is .*\); delete it and run again"):
        data.read_standard(path)


def test_a_missing_file_is_not_called_corrupted(tmp_path):
    with pytest.raises(data.DataError, match="cannot read .*No such file"):
        data.read_standard(tmp_path / "x.h5")


def test_other_hdf5_tools_can_read_a_standard_file(intact, tmp_path):
    import h5py

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


SETS = {
    "standard/as-released/pima.h5": ("pima", "as-released", "datasets"),
    "standard/corrected/pima.h5": ("pima", "corrected", "datasets"),
    "standard/corrected/crabs.h5": ("crabs", "corrected", "datasets"),
    "standard/classification/corrected/pima.h5": ("pima", "corrected", "classification"),
    "standard/relaxed/pima.h5": ("pima", "relaxed", "relaxed"),
    "standard/regression/boston.h5": ("boston", "regression", "regression"),
}
"""Place -> set."""


def dataset(name, variant, kind):
    X = np.arange(12.0).reshape(6, 2)
    return data.Dataset(name, variant, X, np.sign(X[:, 0] - 5.0), ("a", "b"), {"title": "x"}, kind)


@pytest.mark.parametrize("place", SETS)
def test_a_standard_file_is_believed_in_its_own_place_only(place, tmp_path):
    made = dataset(*SETS[place])
    assert standard.place_of(*SETS[place]) == place
    for other in SETS:
        data.write_standard(made, tmp_path / other)
        if other == place:
            again = data.read_standard(tmp_path / other)
            assert (again.name, again.variant, again.kind) == SETS[place]
            np.testing.assert_array_equal(again.X, made.X)
            assert again.features == made.features and again.provenance == made.provenance
            continue
        named = f"{other} is the file of .*set '{made.name}', .*place is {place}"
        with pytest.raises(data.DataError, match=named):
            data.read_standard(tmp_path / other)


def test_a_standard_file_is_what_the_caller_asks_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a path may be relative, too
    place = Path("standard/corrected/pima.h5")
    data.write_standard(dataset("pima", "corrected", "datasets"), place)
    assert data.read_standard(place, "pima", "corrected").name == "pima"
    with pytest.raises(data.DataError, match="pima.h5 is of variant 'corrected', not 'as-released'"):
        data.read_standard(place, "pima", "as-released")
    with pytest.raises(data.DataError, match="pima.h5 is of set 'pima', not 'crabs'"):
        data.read_standard(place, "crabs")
