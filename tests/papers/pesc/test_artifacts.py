"""PESC's studies to claims, tables and figures."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from papers.core import records, runs, store
from papers.pesc import accuracy as pesc_accuracy
from papers.pesc import artifacts, claims, formulas, tables
from papers.pesc import searches as pesc_searches
from papers.pesc.records import ACCURACY, REGRET
from tilted.bayesopt import nfcpd

FAMILIES = [pesc_accuracy.family(*family) for family in pesc_accuracy.FAMILIES]


def accuracy(bad=0, problems=10, families=4):
    """Problems of every family, the first ``bad`` of the first family wrong near x*."""
    line = dict.fromkeys(pesc_accuracy.COLUMNS, 0.0) | {
        "converged": True,
        "iterations": 7,
        "compared": 20,
        "halvings": 0,
        "negative_sites": 2,
        "mean_error": 0.05,
        "sd_error": 0.1,
        "worst_function": "f",
        "worst_distance": 0.1,
        "within": 1.0,
        "acquisition_top": 1.0,
        "acquisition_error": 0.1,
    }
    table = pd.DataFrame(
        [{**line, "family": name, "problem": k} for name in FAMILIES[:families] for k in range(problems)]
    )
    table.loc[: bad - 1, ["mean_error", "within"]] = 0.5, 0.9
    return table


def findings_of(lines):
    """The findings by claim."""
    return {finding.id: finding for finding in claims.chapter(lines).findings}


def regret(gap=1e-3):
    lines = [
        {
            "problem": "gramacy",
            "repeat": r,
            "rule": rule,
            "evaluations": n,
            "observed_gap": 10 * gap,
            "recommended_gap": gap if r else None,
            "confident": True,
        }
        for r in range(3)
        for rule in pesc_searches.RULES
        for n in (5, 10)
    ]
    return pd.DataFrame(lines)


def test_problems_that_could_not_be_compared_count_as_outside_and_are_counted():
    lines = accuracy()
    said = "of 2 of 40 problems fewer than 1,000 draws were kept"
    lines.loc[:1, [name for name in lines if "_error" in name]] = np.nan
    for number, block in (("PESC1", 0), ("PESC3", 1)):
        assert "draws were kept" not in findings_of(lines)[number].blocks[block].remark
        few = findings_of(lines.assign(compared=np.where(lines.index < 2, 0, 20)))[number].blocks[block]
        assert said in few.remark and few.lines[0].note == "8 of 10"


@pytest.mark.parametrize(
    "bad, status", [(0, "yes"), (19, "yes"), (30, "undecided"), (41, "undecided"), (42, "no")]
)
def test_a_family_is_judged_by_its_interval_and_not_by_the_share(bad, status):
    """The exact interval of 281 of 300 begins above 90 %, that of 258 ends below."""
    findings = findings_of(accuracy(bad, 300))
    block = findings["PESC3"].blocks[1]
    assert [line.sample.status for line in block.lines[:4]] == [status, "yes", "yes", "yes"]
    assert block.verdict == ("holds" if status == "yes" else "holds in part")
    assert findings["PESC1"].verdict == "holds"
    assert [line.effect for line in block.lines[:2]] == [pytest.approx(1 - bad / 300), 1.0]
    assert {line.sample.status for line in block.lines[4:]} == {"shown only"}
    assert f"{1200 - bad} of 1200 problems; on {bad} of the {bad} others" in block.remark
    assert "with an EP without error 1200 problems would be" in block.remark


@pytest.mark.parametrize("bad, verdict", [(10, "holds"), (30, "undecided"), (60, "does not hold")])
def test_families_that_are_undecided_contradict_nothing(bad, verdict):
    lines = accuracy(0, 300)
    lines.loc[lines["problem"] < bad, "mean_error_points"] = 0.5
    assert findings_of(lines)["PESC1"].verdict == verdict


@pytest.mark.parametrize("problems, families", [(299, 4), (300, 3)])
def test_too_few_problems_or_families_decide_nothing(problems, families):
    findings = findings_of(accuracy(0, problems, families))
    assert findings["PESC1"].verdict == findings["PESC2"].verdict == "too few runs"


@pytest.mark.parametrize("bad", [0, 100])
def test_that_formulas_have_the_moments_of_others_is_computed(bad):
    """The supplement states no accuracy: ours stands beside the claim, good or bad."""
    stated, ours = findings_of(accuracy(bad, 300))["PESC3"].blocks
    assert stated.verdict == "holds" and [line.row for line in stated.lines] == ["K = 1", "K = 2", "K = 3"]
    assert ours.verdict == ("holds in part" if bad else "holds")


@pytest.mark.parametrize("part", ["mean", "variance"])
def test_formulas_that_are_wrong_in_one_function_are_no(monkeypatch, part):
    def finish(*args):
        found = nfcpd.finish(*args)
        getattr(found, part)[-1, 0, 0] *= 1.0 + 1e-6
        return found

    monkeypatch.setattr(formulas, "nfcpd", SimpleNamespace(Predicted=nfcpd.Predicted, finish=finish))
    block = formulas.judge_formulas.__wrapped__()
    assert {line.sample.status for line in block.lines} == {"no"}
    assert all(line.note.startswith("1 of 300 problems") for line in block.lines)


@pytest.mark.parametrize(
    "lost, status", [(0, "yes"), (3, "yes"), (4, "undecided"), (17, "undecided"), (18, "no")]
)
def test_convergence_asks_for_99_percent_and_every_problem_stands_beside(lost, status):
    lines = accuracy(0, 1000)
    lines.loc[lines.index[:lost], "converged"] = False
    first, every = findings_of(lines)["PESC2"].blocks
    assert [line.sample.status for line in first.lines] == [status, "yes", "yes", "yes"]
    assert [line.sample.status for line in every.lines] == ["no" if lost else "yes", "yes", "yes", "yes"]


def test_a_share_of_99_percent_takes_more_problems():
    """With 300 problems of which all converge the interval begins at 98.8 %."""
    findings = findings_of(accuracy(0, 300))
    assert findings["PESC2"].verdict == "too few runs"
    assert [line.sample.status for line in findings["PESC2"].blocks[0].lines] == ["undecided"] * 4
    assert findings_of(accuracy(0, 400))["PESC2"].verdict == "holds"


def test_the_cause_is_the_step_that_alone_is_outside():
    table = accuracy(5)
    table.loc[[0, 2], "mean_error_q"] = 0.2
    table.loc[[1, 2], "sd_error_last"] = 0.2
    table.loc[4, ["mean_error", "sd_error"]] = np.nan
    table.loc[5] = table.loc[1].to_dict() | {"problem": 5, "worst_distance": 0.3, "sd_error": 0.2}
    rows = [
        [column.cell(row) for column in tables.CAUSE_COLUMNS] for row in tables.by_cause(table).itertuples()
    ]
    assert [row[0] for row in rows] == ["EP", "last factor", "both", "sum", "too few draws"]
    assert rows[1][1:] == ["2", "2", "1", "0.50, 15 %", "0.00, 0 %", "0.00, 20 %", "0.00, 0 %", "2"]
    assert rows[4][4] == "none"


def test_without_the_study_nothing_is_judged():
    for finding in claims.chapter(ACCURACY.frame()).findings:
        assert (finding.blocks[-1].verdict, finding.blocks[-1].name) == ("too few runs", "not run")


def test_missing_gaps_are_infinite():
    table = tables.by_rule(regret())
    line = table[(table["rule"] == "pesc") & (table["evaluations"] == 10)].iloc[0]
    assert (line["recommended_median"], line["recommended_high"]) == (1e-3, np.inf)
    assert line["recommended_solved"] == pytest.approx(2 / 3)
    assert line["observed_solved"] == 1.0
    cells = [column.cell(line) for column in tables.GAP_COLUMNS]
    assert cells[3:] == ["1.0e-03 [1.0e-03, inf]", "67 %", "1.0e-02 [1.0e-02, 1.0e-02]", "100 %"]


@pytest.mark.usefixtures("undrawn")
def test_jobs_to_artifacts(tmp_path):
    results, paths = tmp_path / "results", []
    searched = regret().astype(object).where(regret().notna(), None)
    for name, table in (("accuracy/1d", accuracy(2)), ("searches/50/gramacy", searched)):
        lines = [{**line, "run": runs.stamp()} for line in table.to_dict("records")]
        paths.append(store.write_records(tmp_path / f"data/fits/pesc/{name}.jsonl.gz", lines))
    changes = records.collect(paths, results)
    # a search is replaced as a whole: three rules, three repeats
    assert {file: change.added for file, change in changes.items()} == {ACCURACY.file: 40, REGRET.file: 9}
    assert len(records.load(REGRET, results)) == 18
    found = artifacts.write(results, tmp_path / "tables", tmp_path / "figures")
    text = (tmp_path / "tables/pesc.md").read_text(encoding="utf-8")
    assert "| 1-D, K = 1 |       10 |        10 | 100 % |  80 % |" in text
    assert "g exact" in text
    assert re.search(r"^\| sum +\| +2 \| +2 \| +2 \|", text, re.M) and "| EP   " not in text
    assert all((tmp_path / "figures/pesc" / name).is_file() for name in ("accuracy.png", "regret.png"))
    assert [f.id for f in found.audit[0].findings] == ["PESC1", "PESC2", "PESC3"]
    assert [line.split(":")[:2] for line in found.warnings] == [
        ["NEVER REPEATED", f" {study.file}"] for study in (ACCURACY, REGRET)
    ]
    assert artifacts.write(tmp_path / "none", tmp_path / "t", tmp_path / "f") == ([], [])
    assert not (tmp_path / "t").exists()


def test_one_study_alone_makes_its_own_artifacts(tmp_path):
    records.put(tmp_path / "results", {ACCURACY: accuracy().to_dict("records")})
    artifacts.write(tmp_path / "results", tmp_path / "tables", tmp_path / "figures")
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"pesc.md", "pesc_accuracy.csv"}
    assert {path.stem for path in (tmp_path / "figures/pesc").iterdir()} == {"accuracy"}


def test_what_the_experiment_counts_by_is_what_the_rules_say():
    accurate, predictive = (claims.CLAIMS[name].margin for name in ("PESC1", "PESC3"))
    counted = {"mean": pesc_accuracy.MEAN, "sd": pesc_accuracy.SD, "away": pesc_accuracy.AWAY}
    assert accurate.items() >= {"mean": counted["mean"], "sd": counted["sd"]}.items()
    assert predictive.items() >= counted.items()
