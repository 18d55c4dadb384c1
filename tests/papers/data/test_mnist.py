"""MNIST: tiny idx files whose content is known, damaged ones, and the real ones where they are at hand."""

import gzip
import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from papers import data
from papers.data import mnist

ROOT = Path(__file__).resolve().parents[3]
PIXELS = np.array([[[0, 51], [102, 255]], [[1, 2], [3, 4]], [[5, 6], [7, 8]]], np.uint8)


def idx(array, kind=8):
    """An idx file's bytes."""
    sizes = b"".join(size.to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, kind, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


@pytest.fixture
def home(tmp_path):
    """Function of what differs from three images to train (labels 4, 7, 0) and one to test; a data folder."""

    def make(**changed):
        contents = {
            "mnist-train-images": gzip.compress(idx(PIXELS)),
            "mnist-train-labels": gzip.compress(idx(np.array([4, 7, 0]))),
            "mnist-test-images": gzip.compress(idx(PIXELS[:1])),
            "mnist-test-labels": gzip.compress(idx(np.array([9]))),
        } | {f"mnist-{name.replace('_', '-')}": content for name, content in changed.items()}
        registry = yaml.safe_load((ROOT / "data/sources.yaml").read_text(encoding="utf-8"))
        registry["images"]["mnist"]["shapes"] = {"train": [3, 2, 2], "test": [1, 2, 2]}
        for name, content in contents.items():
            path = tmp_path / "raw" / registry["files"][name]["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            right = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content), "urls": []}
            registry["files"][name] = {"path": registry["files"][name]["path"], **right}
        (tmp_path / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")
        return tmp_path

    return make


def test_pixels_from_0_to_1_and_even_against_odd(home):
    digits = mnist.load(home())
    np.testing.assert_array_equal(digits.X[0], [0.0, 0.2, 0.4, 1.0])
    assert digits.X.shape == (3, 4) and digits.X_test.shape == (1, 4)
    assert digits.y.tolist() == [1.0, -1.0, 1.0] and digits.y_test.tolist() == [-1.0]


WHOLE = idx(PIXELS)


@pytest.mark.parametrize(
    "changed, message",
    [
        ({"train_images": gzip.compress(WHOLE)[:-9]}, "cannot be unpacked"),
        ({"train_images": WHOLE}, "cannot be unpacked"),
        ({"train_images": gzip.compress(WHOLE[:-1])}, "has 11 values, its header promises 3 x 2 x 2"),
        ({"train_images": gzip.compress(WHOLE + b"x")}, "has 13 values, its header promises 3 x 2 x 2"),
        ({"train_images": gzip.compress(WHOLE[:10])}, "ends in its header"),
        ({"train_images": gzip.compress(b"")}, "does not start as an idx file"),
        ({"train_images": gzip.compress(idx(PIXELS, kind=13))}, "does not start as an idx file"),
        ({"train_images": gzip.compress(idx(PIXELS[:2]))}, "has shape (2, 2, 2), expected (3, 2, 2)"),
        ({"train_labels": gzip.compress(idx(np.array([4, 7])))}, "has shape (2,), expected (3,)"),
        ({"test_labels": gzip.compress(idx(np.array([10])))}, "label 10 at place 0 is no digit"),
    ],
)
def test_damaged_files_are_refused_by_name(home, changed, message):
    name = next(iter(changed)).split("_")[1]
    with pytest.raises(data.DataError, match=re.escape(message)) as caught:
        mnist.load(home(**changed))
    assert f"-{name}-idx" in str(caught.value)


def test_a_file_of_other_bytes_is_not_used(home):
    folder = home()
    (folder / "raw/mnist/t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(np.array([8]))))
    with pytest.raises(data.DownloadError, match="it is not used"):
        mnist.load(folder)


def test_unknown_files_are_named(home):
    folder = home()
    text = (folder / "sources.yaml").read_text(encoding="utf-8")
    (folder / "sources.yaml").write_text(text.replace("- mnist-test-labels", "- nonesuch"), encoding="utf-8")
    with pytest.raises(data.DataError, match="unknown files \\['nonesuch'\\]"):
        mnist.load(folder)


def test_the_real_files(mirror, tmp_path):
    (tmp_path / "sources.yaml").write_bytes((ROOT / "data/sources.yaml").read_bytes())
    digits = mnist.load(tmp_path, str(mirror))
    assert digits.X.shape == (60000, 784) and digits.X_test.shape == (10000, 784)
    assert (digits.X.min(), digits.X.max()) == (0.0, 1.0)
    assert (digits.y > 0).sum() == 29492 and (digits.y_test > 0).sum() == 4926
    assert digits.y[:5].tolist() == [-1.0, 1.0, 1.0, -1.0, -1.0]  # 5, 0, 4, 1, 9
