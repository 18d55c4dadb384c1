"""The committed records: what a line of the QP paper must not be, and in which order lines stand."""

import gzip
import random

import pytest

from papers.core import records
from papers.core.store import RecordError
from papers.qp.fit_rows import lengthscales
from papers.qp.records import FITS, VARIANCES, load_fits, ordered, study_of

RELEASED = FITS["as-released"]


@pytest.fixture
def content(run):
    """The text of a file of a small run."""
    return gzip.decompress(RELEASED.encode(run, "there")).decode()


def test_lines_come_in_the_order_of_the_table(run, content):
    shuffled = run.iloc[random.Random(0).sample(range(len(run)), len(run))]
    assert RELEASED.encode(shuffled, "there") == RELEASED.encode(run, "there")
    back = RELEASED.parse(gzip.compress(content.encode()), "there")
    assert list(dict.fromkeys(back["dataset"])) == ["wine12", "wine13", "coal"]
    assert list(dict.fromkeys(back["method"])) == ["ep", "qp", "vb-joint", "vb"]
    assert list(zip(back["seed"], back["fold"], strict=True))[:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_protocols_come_in_their_order(line, frame):
    names = ("corrected", "as-released+ard", "as-described", "as-released")
    lines = frame([line(dataset="coal", protocol=name) for name in names])
    in_order = ["as-released", "as-described", "corrected", "as-released+ard"]
    assert list(ordered(lines)["protocol"]) == in_order
    assert [study_of(name).file for name in in_order[2:]] == ["qp/corrected.csv.gz", "qp/differences.csv.gz"]


def test_numbers_keep_the_agreed_digits(line, frame):
    numbers = {"variance": 2 / 3 * 1e6, "log_evidence": -1 / 3, "test_error": 1 / 7, "ntll": 1 / 7}
    text = gzip.decompress(RELEASED.encode(frame([line(**numbers, seconds=1 / 7)]), "there")).decode()
    written = dict(zip(*(row.split(",") for row in text.splitlines()), strict=True))
    assert written["variance"] == "666666.666667" and written["log_evidence"] == "-0.333333333333"
    assert written["test_error"] == written["ntll"] == "0.1428571429" and written["seconds"] == "0.143"


def test_text_with_commas_quotes_and_lengthscales_survives(line, frame):
    reason = 'pivot 3, of "K"'
    lines = [line(outcome="not converged", reason=reason), line(fold=1, lengthscale="1:2.5:3")]
    back = RELEASED.parse(RELEASED.encode(frame(lines), "there"), "there")
    assert list(back["reason"]) == [reason, ""]
    assert list(lengthscales(back["lengthscale"][1])) == [1.0, 2.5, 3.0]
    assert lengthscales("").shape == (0,)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",-15.9,0.1,0.1,", ",-15.9,5.0,0.1,", "dataset wine12, .*test_error is no share"),
        (",-15.9,0.1,0.1,", ",-15.9,1.01,0.1,", "dataset wine12, .*test_error is no share"),
        (",-15.9,0.1,0.1,", ",-15.9,-0.1,0.1,", "dataset wine12, .*test_error is no share"),
        (",-15.9,1.2,", ",-15.9,-1.2,", "dataset coal, .*test_error is no share"),
    ],
)
def test_a_line_that_contradicts_itself_is_refused(content, old, new, message):
    assert old in content
    with pytest.raises(RecordError, match=rf"(?s)there.*{message}"):
        RELEASED.parse(gzip.compress(content.replace(old, new, 1).encode()), "there")


def test_variances_are_sorted_with_points_in_their_order():
    names = VARIANCES.columns
    points = [("wine13", 1, 0, "main", 1.0, 0.9), ("wine12", 0, 1, "moved", 2 / 3, 0.5)]
    points += [("wine12", 0, 1, "main", v, v / 2) for v in (3.0, 1.0, 2.0)]
    rows = [dict(zip(names, ("as-released", *point), strict=True)) | {"run": "r"} for point in points]
    back = VARIANCES.parse(VARIANCES.encode(VARIANCES.frame(rows), "there"), "there")
    assert list(back["dataset"]) == ["wine12"] * 4 + ["wine13"]
    assert list(back["v_ep"]) == [3.0, 1.0, 2.0, 0.6666667, 1.0]


def test_a_folder_without_fits_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no records of the QP paper's fits"):
        load_fits(tmp_path)
    assert not len(records.load(RELEASED, tmp_path))
