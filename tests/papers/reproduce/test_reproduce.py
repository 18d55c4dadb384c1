"""Repeated by name: what names stand for, which rows are drawn, receipts that pass and fail, the preview."""

import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from papers.cli import main
from papers.configuration import Asked
from papers.core import claims, records, repeat, slices
from papers.core.jobs import Job
from papers.core.runs import CHECKOUT
from papers.core.statistics import share_interval
from papers.core.study import RUN, Source
from papers.core.verdicts import YES, Inference, Line
from papers.pep.records import LIMITS, REGRESSION
from papers.pesc.records import ACCURACY, REGRET
from papers.qp.records import FITS as QP_FITS
from papers.rep.records import FITS
from papers.reproduce import command, comparison, names, preview, receipt, sample

RECORDS = CHECKOUT / "results"


# Names


def test_every_claim_row_and_paper_has_a_name():
    known = names.targets_by_name()
    assert set(claims.load()) | {"Table1", "Table1:Glass", "REP-figure4", "QP-figure1a", "qp", "all"} <= set(
        known
    )
    assert [x.name for x in known["pesc"]] == ["PESC1", "PESC2", "PESC3"]
    assert {x.paper for x in known["all"]} == {"QP", "PEP", "REP", "PESC"}
    assert names.find(["rep-FIGURE4"])[0].claims == ("REP3", "REP4")
    assert len(names.find(["PESC1", "pesc"])) == 3


def test_an_unknown_name_lists_near_ones(capsys):
    assert main(["reproduce", "PEP55"]) == 2
    err = capsys.readouterr().err
    assert "nothing is called 'PEP55'" in err and "PEP5" in err


def test_every_figure_names_its_records():
    for of_name in names.targets_by_name().values():
        for target in of_name:
            assert target.slices or target.name == "QP7", target.name
            for one in target.slices:
                assert set(one.where) <= set(one.study.types), target.name


@pytest.mark.parametrize("name", ["REP1", "REP6", "PEP1", "PEP5", "PEP8", "PESC2", "QP5"])
def test_a_claim_depends_on_nothing_but_the_named_rows(name, monkeypatch):
    """Judged by these alone it has the verdict of the audit."""
    (target,) = names.find([name])
    find, read = records.find, []

    def alone(study, folder):
        frame = find(study, folder)
        if frame is not None:
            frame = frame[slices.mask(target.slices, study, frame)]
            read.append(len(frame))
        return frame

    monkeypatch.setattr(records, "find", alone)
    assert comparison.verdicts(target, RECORDS) == comparison.committed_verdicts(target) and sum(read) > 0


def test_a_claim_is_judged_without_the_rows_of_others(tmp_path):
    """A receipt judges on the repeated rows alone, so that other studies have no file."""
    for name in claims.load():
        (target,) = names.find([name])
        assert {finding.id for finding in comparison.findings(target, tmp_path)} == {name}


def test_rows_of_another_claim_are_not_compared():
    """Several claims in one run repeat their rows together; each receipt is about its own."""
    chosen = {study: records.load(study, RECORDS)[:1] for study in (ACCURACY, LIMITS)}
    repeated = repeat.repeat(chosen, Source(None, RECORDS))
    assert repeated.rows[LIMITS] and repeated.rows[ACCURACY]
    pairs = comparison.paired({ACCURACY: chosen[ACCURACY]}, repeated, RECORDS)
    assert set(pairs.recorded) == set(pairs.agreements) == {ACCURACY}


# Drawn rows


@pytest.fixture(scope="module")
def frames():
    return {study: records.load(study, RECORDS) for study in (FITS, ACCURACY, QP_FITS["as-released"])}


def test_whole_blocks_are_drawn_within_the_budget_from_every_stratum(frames):
    (target,) = names.find(["REP4"])
    drawn = sample.draw(target.slices, {FITS: frames[FITS]}, 100.0, 0)
    rows = drawn.rows[FITS]
    assert 0 < drawn.seconds <= 100.0 < drawn.every and len(rows) < drawn.recorded
    together = list(FITS.together)
    every = frames[FITS][slices.mask(target.slices, FITS, frames[FITS])]
    counts = [frame.groupby(together).size() for frame in (rows, every)]
    assert (counts[0] == counts[1].loc[counts[0].index]).all()
    assert set(rows["flips"]) == {0.1, 0.2}
    again = sample.draw(target.slices, {FITS: frames[FITS]}, 100.0, 0).rows[FITS]
    other = sample.draw(target.slices, {FITS: frames[FITS]}, 100.0, 1).rows[FITS]
    assert again.equals(rows) and not other.index.equals(rows.index)


def test_claims_of_one_paper_draw_the_same_seeds(frames):
    study = QP_FITS["as-released"]
    seeds = [
        set(
            map(
                tuple,
                sample.draw(t.slices, {study: frames[study]}, 30.0, 0)
                .rows[study][["dataset", "seed"]]
                .values,
            )
        )
        for t in names.find(["QP1", "QP3"])
    ]
    assert seeds[0] & seeds[1]


def test_everything_is_drawn_without_a_budget_and_long_rows_never_with_one(frames):
    (target,) = names.find(["PESC1"])
    assert len(sample.draw(target.slices, {ACCURACY: frames[ACCURACY]}, None, 0).rows[ACCURACY]) == 4000
    slow = frames[FITS].assign(seconds=sample.LONGEST + 1)
    (target,) = names.find(["REP4"])
    drawn = sample.draw(target.slices, {FITS: slow}, 1e9, 0)
    assert not drawn.rows and drawn.recorded > 0


# Receipts


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """The study of PEP8 alone, in a folder of records of its own."""
    folder = tmp_path / "results"
    rows = records.load(LIMITS, RECORDS).drop(columns=RUN).to_dict("records")
    records.put(folder, {LIMITS: rows})
    monkeypatch.setattr(command, "RESULTS", folder)
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path)
    return folder


def said(capsys, *arguments):
    ended = main(["reproduce", "PEP8", "--json", "--cores", "1", *arguments])
    return ended, json.loads(capsys.readouterr().out)


def test_a_claim_passes_and_its_receipt_says_what_was_repeated(checkout, capsys):
    ended, found = said(capsys)
    assert ended == 0 and found["name"] == "PEP8" and found["passed"] and found["result"] == receipt.PASS
    assert found["verdict"] == found["committed_verdict"] and "PEP8" in found["verdict"]
    assert found["rows"]["repeated"] == found["rows"]["same"] == found["rows"]["recorded"] == 78
    assert len(found["statistics"]) == 6 and all(one["agrees"] for one in found["statistics"])
    page = (checkout.parent / "reproduced/pep8/receipt.md").read_text()
    assert "PASS: 78 of 78 repeated rows agree with the record" in page and "openblas" in page.lower()


def test_an_altered_record_fails_and_the_row_is_named(checkout, capsys, monkeypatch):
    path, before = checkout / LIMITS.file, (checkout / LIMITS.file).read_bytes()
    monkeypatch.setattr(command.runs, "committed", lambda path: before)
    lines = before.decode().splitlines(keepends=True)
    cells = lines[1].split(",")
    lines[1] = ",".join([*cells[:-2], "0.125", cells[-1]])
    path.write_text("".join(lines))
    ended, found = said(capsys)
    assert ended == 1 and not found["passed"]
    text = " ".join(found["failures"])
    assert "differs from its check sum" in text
    assert f"the row problem {cells[0]}" in text and f"has difference 0.125, committed {cells[-2]}" in text


def test_a_record_that_is_not_what_the_code_makes_fails(checkout, capsys):
    frame = records.load(LIMITS, checkout).drop(columns=RUN)
    wrong = frame.assign(difference=frame["difference"] + 0.1)
    records.put(checkout, {LIMITS: wrong.to_dict("records")})
    ended, found = said(capsys)
    assert ended == 1 and found["rows"]["different"] == 78
    assert any("pep/limits.csv: problem" in line for line in found["failures"])


def test_an_interrupted_run_goes_on(checkout, capsys, monkeypatch):
    folder = checkout.parent / "reproduced/pep8"
    said(capsys)
    shutil.rmtree(folder)
    stopped = []

    def interrupted(piece, source):
        stopped.append(piece)
        if len(stopped) == 2:
            raise KeyboardInterrupt
        return repeat_piece(piece, source)

    repeat_piece = repeat._make
    monkeypatch.setattr(repeat, "_make", interrupted)
    assert main(["reproduce", "PEP8", "--cores", "1"]) == 130
    assert len((folder / command.PROGRESS).read_text().split()) > 1
    monkeypatch.setattr(
        repeat, "_make", lambda piece, source: stopped.append(piece) or repeat_piece(piece, source)
    )
    assert main(["reproduce", "PEP8", "--cores", "1"]) == 0
    assert len(stopped) == 2 + 2 and not (folder / command.PROGRESS).exists()


def test_a_claim_whose_rows_take_too_long_is_re_evaluated(checkout, capsys, monkeypatch):
    monkeypatch.setattr(command, "BUDGET", 0.0)
    ended, found = said(capsys)
    assert ended == 0 and found["passed"] and found["result"] == receipt.RE_EVALUATED
    assert found["rows"]["repeated"] == 0 and found["core_seconds_of_all"] > 0


def test_a_claim_without_records_is_computed(capsys, tmp_path, monkeypatch):
    assert main(["reproduce", "QP7", "--json", "--output", str(tmp_path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["result"] == receipt.PASS and found["rows"]["recorded"] == 0


def test_a_dry_run_repeats_nothing(capsys, monkeypatch):
    monkeypatch.setattr(command, "repeat", None)
    assert main(["reproduce", "REP4", "PESC1", "--dry-run"]) == 0
    assert "recorded rows, about" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("statuses", "statistic", "means", "result"),
    [
        (["same"] * 19 + ["different"], 0.0, 0, receipt.PASS),
        (["same"] * 18 + ["different"] * 2, 0.0, 0, receipt.FAIL),
        (["same"] * 15 + ["better optimum"] * 3 + ["worse optimum"] * 2, 0.0, 0, receipt.PASS),
        (["same"] * 14 + ["worse optimum"] * 6, 0.0, 0, receipt.FAIL),
        (["chaotic"] * 20, 0.0, 0, receipt.PASS),
        (["chaotic"] * 20, 0.0, 1, receipt.FAIL),
        (["same"] * 20, 0.2, 0, receipt.FAIL),
        ([], 0.0, 0, receipt.RE_EVALUATED),
    ],
)
def test_the_rule_of_a_receipt(statuses, statistic, means, result):
    rows = [SimpleNamespace(status=status) for status in statuses]
    agreement = SimpleNamespace(rows=rows, differing=["a row differs"], means=["a mean differs"] * means)
    pairs = comparison.Pairs({}, {}, 0, {LIMITS: agreement})
    made = receipt.Receipt(
        names.find(["PEP8"])[0],
        sample.Sample({}, 20, 1.0, 1.0),
        pairs,
        [comparison.Statistic("a mean", statistic, 0.0, 0.1)],
        {},
        {},
        [],
        [],
        0,
        1.0,
    )
    assert made.result == result


@pytest.mark.parametrize(("repeated", "agrees"), [(5, True), (0, False)])
def test_a_share_that_all_units_support_has_an_interval_of_its_own(repeated, agrees):
    record, again = (
        Line("row", "experiments won", "share", won / 6, sample=Inference(YES, low, high), n=6)
        for won, low, high in [(6, 1.0, 1.0), (repeated, 0.1, 0.2)]
    )
    (statistic,) = comparison.compare_lines({("p", "row", "won", 0): record}, {("p", "row", "won", 0): again})
    low, _ = share_interval(6, 6)
    assert statistic.allowed == pytest.approx(np.hypot((1 - low) / 2, 0.05))
    assert statistic.agrees == agrees


def test_a_number_without_an_interval_is_compared_unless_rounding_decides_it():
    record, again = ({("p", "row", "NTLL", 0): Line("row", "NTLL", "nats", x, n=1)} for x in (0.04, 0.037))
    (compared,) = comparison.compare_lines(record, again)
    assert not compared.agrees and not [*comparison.compare_lines(record, again, chaotic=True)]


# The end of a preview


def ended(tmp_path, study, lines, tables=()):
    """Return the lines that end a run which made some rows of a study of its paper."""
    records.put(tmp_path / "rows", {study: lines})
    config = {"results": str(tmp_path / "rows"), "tables": str(tmp_path), "figures": "f"}
    paper = study.file.split("/")[0]
    made = Job("f.jsonl.gz", "toy", "toy:run", {}, (), rows=(slices.Slice(study),))
    asked = Asked({made.path: made}, {paper: (list(tables), [])}, config)
    return preview.lines(asked)


@pytest.mark.parametrize(
    ("study", "column", "factor", "text"),
    [
        (REGRESSION, "evaluations", 2, "2 rows repeated:     2 agree with the records"),
        (REGRESSION, "smse", 2, "1 agree with the records"),
        (REGRESSION, "nlml", 0.5, "1 agree with the records; 1 reached a better optimum, 0 a worse one"),
        (FITS, "seconds", 2, "2 agree with the records"),
        (QP_FITS["as-released"], "variance", 2, "2 agree with the records"),
        (QP_FITS["as-released"], "ntll", 1.1, "1 agree with the records"),
    ],
)
def test_a_preview_says_how_many_rows_agree_and_names_those_that_differ(
    study, column, factor, text, tmp_path
):
    lines = records.load(study, RECORDS).drop(columns="run").head(2).to_dict("records")
    lines[0][column] *= factor
    end = ended(tmp_path, study, lines)
    (line,) = [x for x in end if "rows repeated" in x]
    assert text in line
    differing = [x for x in end if "different: " in x]
    assert len(differing) == (column in ("smse", "ntll"))
    assert all(study.name_of(lines[0]) in x and f": {column} by " in x for x in differing)


def test_of_rows_that_depend_on_rounding_a_preview_compares_the_means(tmp_path):
    frame = records.load(QP_FITS["as-released"], RECORDS).drop(columns="run")
    lines = frame[(frame["method"] == "vb-joint") & (frame["dataset"] == "wine12")].head(40)
    shifted = lines.assign(ntll=lines["ntll"] + np.where(np.arange(40) % 2, 0.01, -0.01))
    end = ended(tmp_path / "a", QP_FITS["as-released"], shifted.to_dict("records"))
    assert any("40 depend on rounding, so that only their means are compared" in x for x in end)
    assert not any("different" in x for x in end)
    apart = ended(
        tmp_path / "b", QP_FITS["as-released"], lines.assign(ntll=lines["ntll"] + 0.01).to_dict("records")
    )
    assert [x for x in apart if "different" in x] == [
        "     different: qp/as-released.csv.gz: as-released wine12 vb-joint: mean ntll by 0.01"
    ]


def test_a_preview_ends_with_table_1_where_it_was_asked_for(tmp_path):
    table = (CHECKOUT / "tables/qp_table1.md").read_text(encoding="utf-8")
    (tmp_path / preview.TABLE1).write_text(table, encoding="utf-8")
    lines = records.load(REGRET, RECORDS).drop(columns="run").head(2).to_dict("records")
    assert not any("Table 1" in x for x in ended(tmp_path, REGRET, lines))
    end = ended(tmp_path, REGRET, lines, [preview.TABLE1])
    assert end[0].startswith("Table 1, protocol as-released") and sum(x.startswith("|") for x in end) == 21
