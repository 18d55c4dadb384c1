"""Readers: what is malformed is refused with its file and line, and nothing is dropped silently."""

from pathlib import Path

import numpy as np
import pytest

from papers import data
from papers.data import readers
from papers.data.readers import numbers, rows_of, signs

ROOT = Path(__file__).resolve().parents[3]
CRABS = "sp sex index FL RW CL CW BD\nB M 1 8.1 6.7 16.1 19.0 7.0\nO F 2 8.8 7.7 18.1 20.8 7.4\n"
CANCER = "1,5,1,1,1,2,1,3,1,1,2\n2,5,1,1,1,2,?,3,1,1,2\n3,8,10,10,8,7,10,9,7,1,4\n"
PIMA = "npreg glu bp skin bmi ped age type\n5 86 68 28 30.2 0.364 24 No\n7 195 70 33 25.1 0.163 55 Yes\n"
GLASS = "1,1.52,13.6,4.4,1.1,71.7,0.06,8.7,0,0,1\n2,1.51,13.8,3.6,1.3,72.7,0.48,7.8,0,0,7\n"


def read(tmp_path, name, *texts, variant="as-released"):
    paths = [tmp_path / f"{name}.{i}" for i in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="ascii")
    return readers.read(name, variant, paths, tmp_path)


@pytest.mark.parametrize("name", ["ionosphere", "cancer", "crabs", "sonar", "glass"])
def test_an_empty_file_is_refused(tmp_path, name):
    with pytest.raises(data.DataError, match=f"{name}.0 has no rows"):
        read(tmp_path, name, "\n")


def test_lines_are_those_of_the_file_after_headers_blank_and_skipped_rows(tmp_path):
    with pytest.raises(data.DataError, match=r"cancer\.0, line 4: .*'x8'"):
        read(tmp_path, "cancer", CANCER.replace("3,8", "\n3,x8").replace("\n\n", "\n \n"))
    with pytest.raises(data.DataError, match=r"crabs\.0, line 3: label 'Q'"):
        read(tmp_path, "crabs", CRABS.replace("O F", "O Q"))
    with pytest.raises(data.DataError, match=r"pima\.2, line 3: .*'x'"):
        read(tmp_path, "pima", PIMA, PIMA, PIMA.replace("195", "x"))


@pytest.mark.parametrize("bad", ["nan", "inf", "-inf"])
def test_values_must_be_finite(tmp_path, bad):
    with pytest.raises(data.DataError, match="line 2: a value is not finite"):
        read(tmp_path, "glass", GLASS.replace("1.51", bad))


def test_unknown_glass_types_and_other_headers_are_refused(tmp_path):
    with pytest.raises(data.DataError, match="line 2: label '99'"):
        read(tmp_path, "glass", GLASS.replace(",7\n", ",99\n"))
    with pytest.raises(data.DataError, match="line 1: header"):
        read(tmp_path, "crabs", CRABS.replace("FL RW", "RW FL"))
    with pytest.raises(data.DataError, match="cannot read"):
        readers.read("glass", "corrected", [tmp_path / "nowhere"], tmp_path)


def test_quirks_on_two_rows(tmp_path):
    assert read(tmp_path, "cancer", CANCER).y.tolist() == [-1.0, 1.0]  # the row with ? is left out
    raw = read(tmp_path, "crabs", CRABS)
    np.testing.assert_array_equal(raw.X[:, :3], [[1, 1, 8.1], [-1, 2, 8.8]])
    assert raw.y.tolist() == [1.0, -1.0]
    assert read(tmp_path, "glass", GLASS).y.tolist() == [-1.0, 1.0]
    incomplete = PIMA.replace("28", "NA")
    assert len(read(tmp_path, "pima", PIMA, incomplete, PIMA).y) == 5
    assert len(read(tmp_path, "pima", PIMA, incomplete, PIMA, variant="corrected").y) == 4


@pytest.mark.parametrize("count", ["-1", "2.5", "many"])
def test_coal_counts_must_be_counts(tmp_path, count):
    text = "year,count_released_code,count_from_dates\n1851,4,4\n1852,5,{}\n"
    (tmp_path / "coal_counts.csv").write_text(text.format(count), encoding="ascii")
    with pytest.raises(data.DataError, match="coal_counts.csv, line 3"):
        readers.read("coal", "corrected", [], tmp_path)


def test_rows_keep_file_order(mirror):
    path = mirror / "sonar.all-data"
    rows = rows_of(path, 61)
    table = np.loadtxt(path, delimiter=",", usecols=range(60))
    np.testing.assert_array_equal(numbers(rows, slice(0, 60)), table)
    assert np.all(np.diff(signs(rows, 60, {"R"}, {"M"})) <= 0)  # the file is sorted: R, then M


def test_the_optional_wine_file_is_registered_with_its_checksum(tmp_path, mirror):
    home = tmp_path / "data"
    home.mkdir()
    (home / "sources.yaml").write_bytes((ROOT / "data" / "sources.yaml").read_bytes())
    path = data.fetch(data.file_entry("wine.data", home), home, mirror=str(mirror))
    table = np.loadtxt(path, delimiter=",")
    for name, pair in (("wine12", (1, 2)), ("wine13", (1, 3)), ("wine23", (2, 3))):
        rows = table[np.isin(table[:, 0], pair)]
        dataset = data.load(name)
        np.testing.assert_array_equal(dataset.X, rows[:, 1:])
        np.testing.assert_array_equal(dataset.y > 0, rows[:, 0] == pair[1])
