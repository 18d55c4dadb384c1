"""What every record of the four papers keeps: written byte for byte, its lines checked, damage named."""

import gzip
import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.core import records
from papers.core.store import RecordError
from papers.core.study import Integer, Text
from papers.pesc import records as pesc
from papers.qp import records as qp
from papers.rep import records as rep

RESULTS = Path(__file__).resolve().parents[3] / "results"
STUDIES = records.studies()

every_study = pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.file)
SMALL = [study for study in STUDIES if len((RESULTS / study.file).read_bytes()) < 300_000]


def test_every_committed_file_is_of_a_study():
    listed = set(records.sums(RESULTS))
    committed = {p.relative_to(RESULTS).as_posix() for p in RESULTS.rglob("*") if p.is_file()}
    committed = {name for name in committed if not name.startswith("preview/") and not name.endswith(".lock")}
    assert committed - {records.SUMS} == listed
    assert listed - {"runs.csv", "verified.csv"} == {study.file for study in STUDIES}


@pytest.fixture(scope="module")
def listed_runs():
    return records.read_runs(RESULTS)


@every_study
def test_a_record_is_read_and_written_byte_for_byte(study, listed_runs):
    """Its rows are of listed runs."""
    frame = records.load(study, RESULTS)
    assert len(frame) and study.encode(frame, study.file) == (RESULTS / study.file).read_bytes()
    assert set(frame["run"]) <= listed_runs.keys()


@every_study
def test_key_group_and_unit_are_columns(study):
    columns = set(study.types)
    assert {*study.key, *study.group, *study.unit, *study.order, *study.together} <= columns
    assert set(study.group) <= {*study.key, "protocol"}, "a group is named by a line's key"
    assert study.objective.removeprefix("-") in {"", *study.floats}
    assert not any(name in columns for name in ("source", "date", "environment"))


@pytest.fixture(scope="module")
def texts():
    """File -> its content as text."""
    found = {}
    for study in SMALL:
        content = (RESULTS / study.file).read_bytes()
        found[study.file] = (gzip.decompress(content) if study.file.endswith(".gz") else content).decode()
    return found


def parsed(study, text):
    content = text.encode()
    return study.parse(gzip.compress(content) if study.file.endswith(".gz") else content, "there/file")


small = pytest.mark.parametrize("study", SMALL, ids=lambda study: study.file)
plain_and_packed = pytest.mark.parametrize("study", [rep.EXACT, pesc.REGRET], ids=lambda study: study.file)


@plain_and_packed
def test_two_lines_of_one_name_are_refused(study, texts):
    lines = texts[study.file].splitlines(keepends=True)
    with pytest.raises(RecordError, match="there/file: .*two lines of one name"):
        parsed(study, "".join([*lines[:2], lines[1]]))


@plain_and_packed
def test_other_columns_are_refused(study, texts):
    header, rest = texts[study.file].split("\n", 1)
    for wrong in (header.replace("run", "source"), f"{header},more", header.split(",", 1)[1]):
        with pytest.raises(RecordError, match="there/file: columns"):
            parsed(study, f"{wrong}\n{rest}")


@small
def test_a_cell_of_another_type_is_refused(study, texts):
    lines = texts[study.file].splitlines(keepends=True)
    table = pd.read_csv(io.StringIO("".join(lines[:3])), dtype=str, keep_default_na=False)
    numbers = [name for name, column in study.columns.items() if not isinstance(column, Text)]
    for name in numbers:
        with pytest.raises(RecordError, match="there/file"):
            parsed(study, table.assign(**{name: "x"}).to_csv(index=False))


@plain_and_packed
def test_an_empty_or_cut_off_file_is_refused(study, texts):
    with pytest.raises(RecordError, match="there/file"):
        study.parse(b"", "there/file")
    if study.file.endswith(".gz"):
        with pytest.raises(RecordError, match="there/file"):
            study.parse((RESULTS / study.file).read_bytes()[:-9], "there/file")


@pytest.mark.parametrize("study", [s for s in SMALL if "outcome" in s.columns], ids=lambda study: study.file)
def test_an_unknown_outcome_is_refused(study, texts):
    if study is rep.EXACT:
        pytest.skip("any outcome is shown")
    lines = texts[study.file].splitlines(keepends=True)
    table = pd.read_csv(io.StringIO("".join(lines[:2])), dtype=str, keep_default_na=False)
    with pytest.raises(RecordError, match="unknown outcome"):
        parsed(study, table.assign(outcome="fine").to_csv(index=False))


@pytest.mark.parametrize(
    "study", [s for s in SMALL if {"error", "test_error"} & {*s.columns}], ids=lambda study: study.file
)
@pytest.mark.parametrize("value", ["5.0", "-0.1", "1.01"])
def test_an_error_that_is_no_share_is_refused(study, texts, value):
    lines = texts[study.file].splitlines(keepends=True)
    table = pd.read_csv(io.StringIO("".join(lines[:2])), dtype=str, keep_default_na=False)
    (name,) = {"error", "test_error"} & {*study.columns}
    with pytest.raises(RecordError, match=f"{name} is no share"):
        parsed(study, table.assign(**{name: value}).to_csv(index=False))


@small
def test_numbers_that_cannot_be_are_refused(study, texts):
    """Negative times and counts, what is infinite, shares beyond 1."""
    lines = parsed(study, texts[study.file]).head(1)
    columns = study.columns
    wrong = {name: -1 for name, c in columns.items() if isinstance(c, Integer) and not c.signed}
    wrong |= dict.fromkeys(study.floats, np.inf)
    wrong |= dict.fromkeys(columns.keys() & {"seconds"}, -0.5)
    wrong |= {name: 1.5 for name, column in study.floats.items() if column.share}
    assert len(wrong) > 3
    for name, value in wrong.items():
        with pytest.raises(RecordError, match="somewhere: .*: "):  # by a rule of its own, or of all
            study.check(lines.assign(**{name: value}).astype(study.types), "somewhere")


def test_lines_of_another_protocol_do_not_belong_in_a_file():
    frame = records.load(qp.FITS["as-described"], RESULTS)
    with pytest.raises(RecordError, match="lines of protocol as-described do not belong here"):
        qp.FITS["corrected"].encode(frame, "results/qp/corrected.csv.gz")
