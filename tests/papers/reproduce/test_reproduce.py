"""Made again by name: what names stand for, what they need, receipts that pass and fail."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pandas as pd
import pytest

from papers.cli import main
from papers.configuration import Asked
from papers.evidence import claims, records, runs, slices
from papers.evidence.runs import CHECKOUT
from papers.evidence.verdicts import VERDICTS
from papers.evidence.verification import again, verified
from papers.evidence.verification.outcome import DIFFERS, PASSED, Outcome
from papers.evidence.verification.verify import Result as Verified
from papers.pep.records import REGRESSION
from papers.pesc.records import ACCURACY, REGRET
from papers.qp.records import FITS as QP_FITS
from papers.rep.records import FITS
from papers.reproduce import command, fits, names, needs, preview, receipt, results, sample

RECORDS = CHECKOUT / "results"


def test_every_claim_row_and_paper_has_a_name():
    known = names.known()
    assert set(claims.load()) | {"Table1", "Table1:Glass", "REP-figure4", "QP-figure1a", "qp", "all"} <= set(
        known
    )
    assert [x.name for x in known["pesc"]] == ["PESC1", "PESC2", "PESC3"]
    assert {x.paper for x in known["all"]} == {"QP", "PEP", "REP", "PESC"}
    assert names.find(["rep-FIGURE4"])[0].claims == ("REP3", "REP4")
    assert len(names.find(["PESC1", "pesc"])) == 3


def asked(*names, **other):
    usual = {"share": None, "sample": sample.LINES, "seed": 0, "fresh": False, "protocol": []}
    return SimpleNamespace(output="out", names=list(names), **usual | other)


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"fresh": True}, "pep5,fresh"),
        ({"fresh": True, "share": 0.1}, "pep5,share=0.1"),
        ({"share": 0.1, "seed": 8}, "pep5,share=0.1,seed=8"),
        ({"sample": 100}, "pep5,sample=100"),
        ({"protocol": ["converged"]}, "pep5,converged"),
    ],
)
def test_what_took_hours_is_not_replaced_by_what_takes_seconds(other, name):
    """The receipt, and the fits of an interrupted one, were: by the same name without `--fresh`."""
    assert command._folder(asked("PEP5", **other)) == Path("out", name)
    assert command._folder(asked("PEP5")) == Path("out/pep5")


def test_two_long_lists_of_names_have_two_folders():
    """Of which the first eighty letters are the same."""
    long = [f"QP{k}" for k in range(1, 11)] + [f"REP{k}" for k in range(1, 7)] + ["PEP1", "PEP2", "PEP3"]
    lists = (long, [*long, "PESC1"], [*long, "PEP4"])
    folders = [command._folder(asked(*x)) for x in lists]
    assert len({*folders}) == 3 and all(len(folder.name) <= 97 for folder in folders)
    assert command._folder(asked("Table1:Glass")) == Path("out/table1-glass")


def test_an_unknown_name_lists_near_ones(capsys):
    assert main(["reproduce", "PEP55"]) == 2
    err = capsys.readouterr().err
    assert "nothing is called 'PEP55'" in err and "PEP5" in err


def test_every_figure_names_its_records():
    for of_name in names.known().values():
        for target in of_name:
            assert target.slices or target.name == "QP7", target.name
            for one in target.slices:
                assert set(one.where) <= set(one.study.types), target.name


@pytest.mark.parametrize("name", ["REP1", "REP6", "PEP1", "PEP5", "PEP8", "PESC2", "QP5"])
def test_a_claim_depends_on_nothing_but_the_named_lines(name, monkeypatch, tmp_path):
    """Judged by these alone it has the verdict and the numbers of the audit."""
    (target,) = names.find([name])
    find, read = records.find, []

    def alone(study, folder):
        frame = find(study, folder)
        if frame is not None:
            frame = frame[slices.mask(target.slices, study, frame)]
            read.append(len(frame))
        return frame

    monkeypatch.setattr(records, "find", alone)
    found = results.of(target, RECORDS, tmp_path, refitted=False)
    assert sum(read) > 0 and found.mine == found.committed and found.passed
    printed = [line.published for line in found.lines if line.what.startswith("as-described")]
    assert name != "PEP5" or printed == [0.93, 0.71, 0.93]


def test_fresh_covers_every_recorded_line_and_a_share_less():
    targets = names.find(["REP4"])
    every = needs.of(targets, RECORDS, fresh=True)
    made = [found for job, found in needs._jobs() if job in every.jobs]
    assert slices.mask(made, FITS, every.frames[FITS]).all()
    some = needs.of(targets, RECORDS, fresh=True, share=0.3, seed=1)
    assert 0 < len(some.jobs) < len(every.jobs)
    assert some.jobs == needs.of(targets, RECORDS, fresh=True, share=0.3, seed=1).jobs
    assert every.as_dict()["core_minutes"] > 1
    with pytest.raises(ValueError, match="share"):
        needs.of(targets, RECORDS, fresh=True, share=0.0)


def test_what_a_rule_lacks_is_asked_for_up_to_its_coverage(monkeypatch):
    (target,) = names.find(["QP4"])
    asked = {"QP4": ["as-released"]}
    assert needs.of([target], RECORDS).jobs == ()
    assert needs.of([target], RECORDS, asked).jobs == ()  # twenty seeds a row are there: all it asks for
    whole = records.load

    def without_pima(study, folder):
        frame = whole(study, folder)
        lost = (frame["dataset"] == "pima") & frame["method"].str.startswith("vb-joint")
        lost &= frame["seed"] == 3
        return frame[~lost]

    monkeypatch.setattr(needs.records, "load", without_pima)
    (lacking,) = needs.of([target], RECORDS, asked).jobs
    assert {
        "protocol": "as-released",
        "dataset": "pima",
        "first": 3,
        "last": 3,
    }.items() <= lacking.parameters.items()


def test_a_dry_run_runs_nothing(capsys, monkeypatch):
    monkeypatch.setattr(fits, "_run", lambda *_: pytest.fail("something ran"))
    assert main(["reproduce", "PESC1", "--fresh", "--dry-run"]) == 0
    err = capsys.readouterr().err
    assert "at least 4 rows, 300 units" in err and "core-minutes" in err


@pytest.mark.parametrize("how", [[], ["--dry-run"], ["--fresh"]], ids=str)
def test_without_records_nothing_is_planned(how, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(command, "CHECKOUT", tmp_path)
    assert main(["reproduce", "QP7", *how]) == 2
    assert "results/ has no records" in capsys.readouterr().err


@pytest.fixture
def reproduce(tmp_path, capsys, monkeypatch, undrawn):
    """Function of a name and arguments: exit status and the receipt, of a checkout that is as committed."""
    monkeypatch.setattr(receipt.runs, "uncommitted", lambda *_: [])

    def run(*arguments):
        code = main(["reproduce", *arguments, "--cores", "1", "--json", "--output", str(tmp_path)])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_a_claim_is_confirmed(reproduce, tmp_path):
    code, said = reproduce("PESC1", "--sample", "1")
    schema = json.loads(receipt.SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(said, schema)
    assert code == 0 and said["passed"]
    assert said["verdict"] == said["committed_verdict"] == {"PESC1": {"corrected": "holds in part"}}
    assert [check["passed"] for check in said["sample"]["checks"]] == ["yes"]
    assert all(line["passed"] and line["mine"] == pytest.approx(line["committed"]) for line in said["lines"])
    text = (tmp_path / "pesc1,sample=1" / "receipt.md").read_text(encoding="utf-8")
    assert "PASS: 4 of 4 numbers" in text and "holds in part" in text


def test_a_figure_that_an_earlier_run_drew_is_not_compared(reproduce, monkeypatch, tmp_path):
    """In the same folder: a run that drew nothing passed by what was there."""
    _, said = reproduce("REP-figure3", "--sample", "0")
    assert [line["passed"] for line in said["lines"]] == [True]
    assert (tmp_path / "rep-figure3,sample=0/figures/rep/figure3.csv").exists()
    monkeypatch.setattr(names.ARTIFACTS["REP"], "draw", lambda *_: None)
    _, said = reproduce("REP-figure3", "--sample", "0")
    assert [(line["passed"], line["note"]) for line in said["lines"]] == [(False, "not drawn")]


def test_a_receipt_says_what_the_rule_asks_for_under_each_protocol(reproduce):
    """Under one of them half as many: the receipt had the number of the others for it."""
    _, said = reproduce("QP1", "--sample", "0")
    jsonschema.validate(said, json.loads(receipt.SCHEMA.read_text(encoding="utf-8")))
    assert {*said["coverage"]["QP1"]} == {*said["verdict"]["QP1"]}
    assert said["coverage"]["QP1"]["as-described"] == {"rows": 9, "units": 10}
    assert said["coverage"]["QP1"]["as-released"] == {"rows": 9, "units": 20}


def test_problems_that_have_names_are_no_range_of_numbers(reproduce):
    """Made, compared, and then no receipt. The seed draws a search at random, which takes no time."""
    code, said = reproduce("PESC-regret", "--sample", "1", "--seed", "11")
    assert code == 0 and "problem" not in said["seeds"] and "seed" in said["seeds"]
    assert [check["passed"] for check in said["sample"]["checks"]] == ["yes"]


def test_it_does_not_pass_where_a_sampled_line_differs(reproduce, monkeypatch, tmp_path):
    made = sample.verify.execute

    def differing(*arguments):
        found = made(*arguments)
        return Verified([check._replace(passed=DIFFERS) for check in found.checks], [], [])

    monkeypatch.setattr(sample.verify, "execute", differing)
    code, said = reproduce("PESC1", "--sample", "1")
    assert code == 1 and not said["passed"] and not said["sample"]["passed"]
    text = (tmp_path / "pesc1,sample=1" / "receipt.md").read_text(encoding="utf-8")
    assert (
        "FAIL: 4 of 4 numbers are the committed ones; 1 of 4,000 recorded lines made again, 1 differs" in text
    )
    assert "- pesc/accuracy.csv, " in text


def test_a_receipt_says_that_what_it_compares_with_is_not_committed(reproduce, monkeypatch, tmp_path):
    """Own fits folded in, and tables made of them: mine would be compared with mine."""
    own = [f"tables/{name}.csv" for name in ("audit", "audit_rows", "pesc", "pesc_wins")]
    monkeypatch.setattr(receipt.runs, "uncommitted", lambda *_: own)
    _, said = reproduce("PESC1", "--sample", "1")
    assert said["uncommitted"] == own
    jsonschema.validate(said, json.loads(receipt.SCHEMA.read_text(encoding="utf-8")))
    text = (tmp_path / "pesc1,sample=1" / "receipt.md").read_text(encoding="utf-8")
    changed = "tables/audit.csv, tables/audit_rows.csv, tables/pesc.csv, 1 more are not committed"
    assert f"4 of 4 numbers are those of this checkout, {changed}" in text


def test_a_receipt_says_which_fits_are_older_than_it(reproduce, monkeypatch, tmp_path):
    """A run that was interrupted, and its packages upgraded: the receipt named the new ones alone."""
    stamp = {**runs.stamp(), "date": "2026-11-01"}
    now = runs.Run("now", "pesc/accuracy.csv", lines=7, **stamp)
    old = runs.Run("old", "pesc/accuracy.csv", lines=200, **{**stamp, "environment": "scipy 1.17"})
    read, own = records.read_runs, tmp_path / "pesc1,sample=1/results"
    added = {own: {"old": old, "now": now}}
    monkeypatch.setattr(command, "read_runs", lambda folder: read(folder) | added.get(folder, {}))
    _, said = reproduce("PESC1", "--sample", "1")
    jsonschema.validate(said, json.loads(receipt.SCHEMA.read_text(encoding="utf-8")))
    assert [made["lines"] for made in said["made_by"]] == [200, 7]
    text = (tmp_path / "pesc1,sample=1" / "receipt.md").read_text(encoding="utf-8")
    assert "200 lines of pesc/accuracy.csv were made on 2026-11-01 by scipy 1.17; commit" in text
    assert text.count("were made on") == 1


def test_an_interrupted_run_that_moved_goes_on_with_the_data_of_its_own_checkout(tmp_path, monkeypatch):
    """A link that was made in another checkout leads to that one's registry and printed numbers."""
    for name in ("old", "new"):
        monkeypatch.setattr(fits, "CHECKOUT", tmp_path / name)
        place = fits._workplace(tmp_path / "run/fits")
        for link in (*(place / "data" / file for file in fits.DATA), place / "profiles"):
            assert str(link.readlink()).startswith(str(tmp_path / name))
    (place / "profiles").unlink()
    (place / "profiles").mkdir()
    with pytest.raises(ValueError, match="profiles is no link, as in a copy that followed links: delete"):
        fits._workplace(place)


@pytest.mark.parametrize(("differing", "moved", "code"), [(1, 0.01, 0), (1, -100.0, 1), (2, 0.01, 1)])
def test_fits_that_end_elsewhere_are_judged_in_their_records_place(
    reproduce, monkeypatch, tmp_path, differing, moved, code
):
    """One of four is let pass if the claim's numbers stand with it; its SMLL counts, and two are too many."""

    def execute(drawn, *_):
        ((study, lines),) = drawn.items()
        checks, elsewhere = [], []
        for k, line in enumerate(lines.to_dict("records")):
            found = Outcome("scratch", DIFFERS if k < differing else PASSED, 1.0)
            checks.append(verified.check(study, line, found, runs.stamp()))
            if k < differing:
                elsewhere.append((study, {**line, "smll": line["smll"] + moved}))
        return Verified(checks, [], elsewhere)

    monkeypatch.setattr(sample.verify, "execute", execute)
    drawn_at_the_ends_of_m = "3"  # of the seed
    found, said = reproduce("PEP1", "--sample", "4", "--seed", drawn_at_the_ends_of_m)
    assert found == code and said["sample"]["passed"] == (differing == 1)
    assert f"({differing} judged in the records' place)" in said["sample"]["sentence"]
    before, after = (
        records.load(REGRESSION, x)["smll"]
        for x in (RECORDS, tmp_path / f"pep1,sample=4,seed={drawn_at_the_ends_of_m}" / "results")
    )
    assert sorted((after - before)[after != before].round(6)) == [moved] * differing


def test_a_fold_in_its_records_place_leaves_the_rest_of_the_seed(tmp_path):
    study = QP_FITS["as-described"]
    copy = fits.copied(RECORDS, tmp_path, [])
    before = records.load(study, copy)
    line = before[(before["dataset"] == "wine12") & (before["method"] == "qp")].iloc[13].to_dict()
    made = [{**line, "ntll": 7.0}, {**line, "ntll": line["ntll"] + 0.5}]
    assert sample._put_in_place(study, made, copy) == 1
    after = records.load(study, copy)
    moved = (after["ntll"] - before["ntll"]).abs() > 0
    assert after[moved][["seed", "fold"]].to_numpy().tolist() == [[line["seed"], line["fold"]]]
    assert after["ntll"][moved].item() == pytest.approx(line["ntll"] + 0.5, abs=1e-9)
    rest = [name for name in study.columns if name != "ntll"]
    pd.testing.assert_frame_equal(before[rest], after[rest])


def test_it_does_not_pass_where_a_number_differs(tmp_path):
    """Half of the problems are not those of the committed table."""
    folder = tmp_path / "results"
    lines = records.load(ACCURACY, RECORDS)
    records.put(folder, {ACCURACY: lines[lines["problem"] < 500].drop(columns="run").to_dict("records")})
    (target,) = names.find(["PESC1"])
    found = results.of(target, folder, tmp_path, refitted=False)
    assert not found.passed and not all(line.passed for line in found.lines)
    assert results.of(target, RECORDS, tmp_path, refitted=False).passed


def test_it_does_not_pass_where_rows_are_gone(tmp_path):
    """PEP1 holds with ten of its sixteen rows: those of a power that is no longer there are missed anyway."""
    folder = tmp_path / "results"
    lines = records.load(REGRESSION, RECORDS)
    made_up = lines[(lines["dataset"] == "synthetic") & (lines["start"] == "data")]
    some = made_up[made_up["alpha"] != "0.6"]
    (target,) = names.find(["PEP1"])
    for kept, passed in ((made_up, True), (some, False)):
        shutil.rmtree(folder, ignore_errors=True)
        records.put(folder, {REGRESSION: kept.drop(columns="run").to_dict("records")})
        found = results.of(target, folder, tmp_path, refitted=True)
        assert found.mine == found.committed and found.passed == passed
    gone = [line for line in found.lines if not line.passed]
    assert {line.note for line in gone} == {"no data, committed: yes"} and len(gone) == 4
    assert all("α = 0.6" in line.what and line.mine is None for line in gone)


def test_table_rows_and_figures_are_compared(tmp_path):
    (figure,) = names.find(["REP-figure3"])
    drawn = results.of(figure, RECORDS, tmp_path, refitted=False)
    assert drawn.passed and drawn.lines[0].mine == drawn.lines[0].committed
    path = tmp_path / "figures" / "rep" / "figure3.csv"
    table = pd.read_csv(path)
    table.to_csv(path.with_suffix(".csv.gz"), index=False)  # as where it is larger than the committed one
    path.unlink()
    assert results._drawn("rep/figure3.csv", tmp_path / "figures", results.DRAWN).passed
    table.loc[3, "y"] *= 1.5
    table.to_csv(path, index=False)
    assert not results._drawn("rep/figure3.csv", tmp_path / "figures", results.DRAWN).passed
    shutil.rmtree(tmp_path / "figures")
    assert not results._drawn("rep/figure3.csv", tmp_path / "figures", results.DRAWN).passed


def test_a_row_of_table_1_has_the_printed_numbers_and_a_verdict():
    (target,) = names.find(["Table1:Wine1"])
    found = results.of(target, RECORDS, Path("unused"), refitted=False)
    assert found.passed and found.mine["Table1:Wine1"]["as-released"] in VERDICTS
    printed = {line.what: line.published for line in found.lines}
    assert printed["cell Wine1 NTLL ep"] == 48.0


@pytest.mark.slow
def test_a_share_is_made_by_snakemake_in_a_folder_of_its_own(reproduce, tmp_path):
    code, said = reproduce("PEP2", "--share", "0.001", "--sample", "1")
    jsonschema.validate(said, json.loads(receipt.SCHEMA.read_text(encoding="utf-8")))
    assert code == 0 and said["jobs_run"] == 1 and said["seeds"]["share"] == 0.001
    assert list(
        (tmp_path / "pep2,share=0.001,sample=1" / "fits" / "data" / "fits" / "pep").rglob("*.jsonl.gz")
    )


def test_records_that_are_made_from_nothing_are_not_copied(tmp_path):
    folder = fits.copied(RECORDS, tmp_path, ["pesc/accuracy.csv", "qp/truth"])
    assert records.load(ACCURACY, folder).empty and not list((folder / "qp" / "truth").glob("*"))
    assert len(records.load(REGRET, folder)) == len(records.load(REGRET, RECORDS))
    assert records.wrong(folder) == []


def ended(tmp_path, study, lines, tables=()):
    """Return the lines that end a run which made some rows of a study of its paper."""
    records.put(tmp_path / "rows", {study: lines})
    config = {"results": str(tmp_path / "rows"), "tables": str(tmp_path), "figures": "f"}
    paper = study.file.split("/")[0]
    record = SimpleNamespace(files=lambda paths: [study.file])
    asked = Asked({}, {"rows": record}, {paper: (list(tables), [])}, [], config)
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


def test_a_preview_compares_lengthscales_as_numbers(tmp_path):
    """They are texts: one of another eleventh digit, as on another machine, was none "to 1%"."""
    line = records.load(QP_FITS["as-released"], RECORDS).drop(columns="run").iloc[-1].to_dict()
    scales = line["lengthscale"].split(":")
    for factor, same in ((1 + 1e-10, True), (1.1, False)):
        other = {**line, "lengthscale": ":".join(repr(float(x) * factor) for x in scales)}
        found = again.compared("from scratch", QP_FITS["as-released"], line, other)
        assert (found.passed == PASSED) == same
    for wrong in ([*scales, "1"], [*scales[:-1], "nan"], [*scales[:-1], "inf"]):
        other = {**line, "lengthscale": ":".join(wrong)}
        assert again.compared("from scratch", QP_FITS["as-released"], line, other).passed == DIFFERS


FIGURES = {x.name: x for of_name in names.known().values() for x in of_name if x.kind == names.FIGURE}


@pytest.mark.parametrize("target", FIGURES.values(), ids=FIGURES.keys())
def test_a_figure_is_as_committed_where_its_files_are(target):
    """Cells without a text were no equals, and thirty figures could not pass."""
    assert all(results._drawn(file, CHECKOUT / "figures", results.DRAWN).passed for file in target.files)
