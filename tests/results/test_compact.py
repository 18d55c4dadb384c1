"""Compact records: exact round trip, the same bytes, and damage named with its file."""

import gzip
import io
import random

import numpy as np
import pandas as pd
import pytest

from tilted.results import compact
from tilted.results.store import RecordError

AS_RELEASED = "as-released.csv.gz"


def content(path):
    return gzip.decompress(path.read_bytes()).decode()


def rewritten(path, old, new):
    """The file with a part of its text replaced, packed again."""
    text = content(path)
    assert old in text
    path.write_bytes(gzip.compress(text.replace(old, new, 1).encode()))
    return path


@pytest.fixture
def path(run, tmp_path):
    return compact.write(run, tmp_path / AS_RELEASED)


def test_round_trip_keeps_columns_types_and_values(run, path):
    back = compact.read(path)
    assert tuple(back.columns) == ("protocol", *compact.COLUMNS)
    assert back.dtypes.to_dict() == run.dtypes.to_dict()
    pd.testing.assert_frame_equal(back, compact.ordered(run))
    failed = back[back["outcome"] == "failed"].iloc[0]
    assert failed[["variance", "log_evidence", "test_error", "ntll"]].isna().all()
    assert failed["lengthscale"] == "" and failed["reason"] == "cavity variance is negative"
    qp = back[back["pair"] == "ep"].iloc[0]
    assert (qp["n_above"], qp["ratio_min"]) == (0, 0.8)
    assert back.loc[back["pair"] == "", "n_above"].isna().all()


def test_text_with_commas_quotes_and_lines_survives(line, frame, tmp_path):
    reason = 'pivot 3, of "K"'
    lines = [line(outcome="not converged", reason=reason), line(fold=1, lengthscale="1:2.5:3")]
    back = compact.read(compact.write(frame(lines), tmp_path / AS_RELEASED))
    assert list(back["reason"]) == [reason, ""]
    assert list(compact.lengthscales(back["lengthscale"][1])) == [1.0, 2.5, 3.0]
    assert compact.lengthscales("").shape == (0,)


def test_numbers_keep_the_agreed_digits_and_writing_again_changes_nothing(line, frame, tmp_path):
    numbers = {
        "variance": 2 / 3 * 1e6,
        "log_evidence": -1 / 3,
        "test_error": 1 / 7,
        "ntll": 1 / 7,
        "seconds": 1 / 7,
    }
    path = compact.write(frame([line(**numbers)]), tmp_path / AS_RELEASED)
    written = dict(zip(*(row.split(",") for row in content(path).splitlines()), strict=True))
    assert written["variance"] == "666666.666667" and written["log_evidence"] == "-0.333333333333"
    assert written["test_error"] == written["ntll"] == "0.1428571429" and written["seconds"] == "0.143"
    before = path.read_bytes()
    assert compact.write(compact.read(path), path).read_bytes() == before


def test_bytes_depend_on_the_lines_alone(run, path, tmp_path, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 2e9)
    shuffled = run.iloc[random.Random(0).sample(range(len(run)), len(run))]
    second = compact.write(shuffled, tmp_path / "elsewhere" / AS_RELEASED)
    assert second.read_bytes() == path.read_bytes()
    assert path.read_bytes()[4:8] == bytes(4)  # no time stamp in the gzip header


def test_lines_come_in_the_order_of_the_table(path):
    back = compact.read(path)
    assert list(dict.fromkeys(back["dataset"])) == ["wine12", "wine13", "coal"]
    assert list(dict.fromkeys(back["method"])) == ["ep", "qp", "vb-joint", "vb"]
    assert list(zip(back["seed"], back["fold"], strict=True))[:4] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_the_file_names_the_protocol_and_takes_no_other(run, path, tmp_path):
    moved = path.rename(tmp_path / "corrected.csv.gz")
    assert set(compact.read(moved)["protocol"]) == {"corrected"}
    with pytest.raises(RecordError, match="records of as-released do not belong"):
        compact.write(run, moved)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dataset,method", "dataset,rule", "columns"),
        ("wine12,ep,0,0,117", "wine12,ep,0,0,many", "many"),
        ("wine12,ep,0,0,117", "wine12,ep,0.5,0,117", ""),
        ("wine12,ep,0,0,117", "wine12,ep,,0,117", ""),
        ("wine12,ep,0,0,117", "iris,ep,0,0,117", "'iris' has no row"),
        ("wine12,ep,0,0,117", "wine12,ep,0,10,117", "wine12 ep, seed 0, fold 10: unexpected fold"),
        ("coal,ep,0,0,117", "coal,ep,0,1,117", "coal ep, seed 0, fold 1: unexpected fold"),
        ("wine12,ep,0,0,117", "wine12,ep,0,1,117", "two records of one fit"),
        (",ok,", ",fine,", "unknown outcome"),
        (",ok,", ",failed,", "numbers do not agree with the outcome"),
        (",-15.9,0.1,0.1,", ",-15.9,0.1,inf,", "numbers do not agree with the outcome"),
        (",-15.9,0.1,0.1,", ",-15.9,0.1,,", "numbers do not agree with the outcome"),
        (
            "failed,cavity variance is negative,12,7,0,1,0,,",
            "failed,x,12,7,0,1,0,1,",
            "a failed fit with numbers",
        ),
        (",1,2,-15.9,", ",1,,-15.9,", "lengthscale does not agree"),
        (",ep,0,0.8,", ",vb,0,0.8,", "unexpected pair"),
        (",ep,0,0.8,0.9,1", ",ep,0,0.8,0.9,", "numbers do not agree with the pair"),
        (",ep,0,0.8,0.9,1", ",,,0.8,,", "numbers without a pair"),
        (",ep,0,0.8,0.9,1", ",ep,0.5,0.8,0.9,1", "non-equivalent"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_by_name(path, old, new, message):
    with pytest.raises(RecordError, match=rf"(?s)as-released\.csv\.gz.*{message}"):
        compact.read(rewritten(path, old, new))


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "not gzip"])
def test_a_damaged_file_is_named(path, damage):
    packed = bytearray(path.read_bytes())
    if damage == "flipped":
        packed[len(packed) // 2] ^= 0xFF
    bad = {"truncated": packed[:-9], "flipped": packed, "empty": b"", "not gzip": b"dataset,method\n"}
    path.write_bytes(bytes(bad[damage]))
    with pytest.raises(RecordError, match=r"as-released\.csv\.gz"):
        compact.read(path)


def test_a_missing_file_is_not_an_empty_one(tmp_path):
    with pytest.raises(FileNotFoundError):
        compact.read(tmp_path / AS_RELEASED)


def test_what_would_not_read_back_is_not_written(run, path):
    before = path.read_bytes()
    with pytest.raises(RecordError, match="two records of one fit"):
        compact.write(pd.concat([run, run.iloc[:1]]), path)
    assert path.read_bytes() == before


def test_an_unknown_protocol_is_refused(line, frame, tmp_path):
    """`protocol_files` would not find its file again."""
    with pytest.raises(RecordError, match="unknown protocol 'as-dreamt'"):
        compact.write(frame([line(protocol="as-dreamt")]), tmp_path / "as-dreamt.csv.gz")


def test_protocol_files_are_those_of_known_protocols_in_their_order(run, tmp_path):
    for name in ("corrected", "as-released", "as-dreamt", "variances"):
        (tmp_path / f"{name}.csv.gz").write_bytes(b"")
    assert [path.name for path in compact.protocol_files(tmp_path)] == [AS_RELEASED, "corrected.csv.gz"]


@pytest.fixture
def variances():
    rows = [
        ("as-released", "wine13", 1, 0, "main", 1.0, 0.9),
        ("as-released", "wine12", 0, 1, "moved", 2 / 3, 0.5),
    ]
    rows += [("as-released", "wine12", 0, 1, "main", v, v / 2) for v in (3.0, 1.0, 2.0)]
    return pd.DataFrame(rows, columns=list(compact.VARIANCE_COLUMNS)).astype(compact.VARIANCE_TYPES)


def test_variances_round_trip_sorted_with_points_in_their_order(variances, tmp_path):
    path = compact.write_variances(variances, tmp_path / "variances.csv.gz")
    back = compact.read_variances(path)
    assert list(back["dataset"]) == ["wine12"] * 4 + ["wine13"]
    assert list(back["v_ep"]) == [3.0, 1.0, 2.0, 0.6666667, 1.0]
    assert back.dtypes.to_dict() == variances.dtypes.to_dict()
    before = path.read_bytes()
    assert compact.write_variances(back, path).read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [("main,3,", "main,-3,"), ("main,3,", "main,nan,"), ("main,3,", "other,3,"), ("v_ep", "v")],
)
def test_damaged_variances_are_named(variances, tmp_path, old, new):
    path = compact.write_variances(variances, tmp_path / "variances.csv.gz")
    with pytest.raises(RecordError, match=r"variances\.csv\.gz"):
        compact.read_variances(rewritten(path, old, new))


def test_a_hundred_thousand_fits_stay_small(line, frame, tmp_path):
    """A few MB on disk; read back in seconds (the types are compact in memory too)."""
    rng = np.random.default_rng(0)
    n = 20_000
    big = pd.concat([frame([line()])] * n, ignore_index=True)
    big["seed"], big["fold"] = np.arange(n) // 10, np.arange(n) % 10
    for name in ("variance", "log_evidence", "ntll"):
        big[name] = rng.lognormal(size=n)
    big["test_error"] = rng.integers(0, 13, n) / 13
    path = compact.write(big, tmp_path / AS_RELEASED)
    assert path.stat().st_size < 40 * n
    back = compact.read(path)
    assert back.memory_usage(deep=True).sum() < 1000 * n
    buffer = io.BytesIO(path.read_bytes())
    assert gzip.GzipFile(fileobj=buffer).read(7) == b"dataset"
