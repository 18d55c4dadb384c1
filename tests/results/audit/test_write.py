"""The audit as files."""

from pathlib import Path

import pandas as pd
import pytest

from tilted.results.audit import CLAIMS, Studies, judge, write_audit
from tilted.results.audit.verdicts import VERDICTS
from tilted.results.audit.wording import MEANINGS, TITLES

CLAIMS_CSV = Path(__file__).resolve().parents[3] / "data" / "published" / "claims.csv"
GAPS = {"ep": (5e-4, 1e-4), "ep-tune": (4e-4, 1e-4), "vb-joint": (5e-2, 1e-3), "vb": (2e-2, 1e-3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


@pytest.fixture
def written(fits, folder, studies):
    studies["timing"]().to_csv(folder / "timing.csv", index=False)
    frame = pd.concat([fits(ntll=GAPS), fits("as-described", rows=("crabs",), ntll=GAPS)])
    paths = write_audit(frame, folder, CLAIMS_CSV, folder)
    return {path.name: path for path in paths}


def test_one_line_a_claim_and_protocol(written):
    table = pd.read_csv(written["audit.csv"], keep_default_na=False)
    assert list(table.columns) == "id paper protocol verdict effect interval test n note".split()
    assert len(table) == 27 and not table.duplicated(["id", "protocol"]).any()
    assert set(table["verdict"]) <= set(VERDICTS) and set(table["paper"]) == {"QP"}
    line = table[(table["id"] == "QP2") & (table["protocol"] == "as-released")].iloc[0]
    assert line["verdict"] == "holds" and float(line["effect"]) == pytest.approx(5e-4)
    low, high = map(float, line["interval"].strip("[]").split(","))
    assert low < 5e-4 < high and line["n"] == 8
    assert "yes on 10 of 10 rows" in line["note"] and "equal hyperparameters: holds" in line["note"]
    missing = table[(table["id"] == "QP2") & (table["protocol"] == "corrected")].iloc[0]
    assert (missing["verdict"], missing["effect"], missing["n"]) == ("not testable", "", 0)
    assert "no data on 10" in missing["note"]
    times = table[(table["id"] == "QP8") & (table["protocol"] == "as-released")].iloc[0]
    assert times["verdict"] == "holds"


def test_every_line_behind_it(written):
    rows = pd.read_csv(written["audit_rows.csv"])
    crabs = rows[(rows["id"] == "QP2") & (rows["row"] == "Crabs") & (rows["protocol"] == "as-released")]
    assert crabs["block"].tolist() == ["EP as reported", "equal hyperparameters"]
    assert crabs["effect"].tolist() == pytest.approx([5e-4, 4e-4])
    assert (crabs["general_low"] < crabs["effect"]).all() and (crabs["general_status"] == "yes").all()
    assert (crabs["n"] == 8).all() and (crabs["n_folds"] == 80).all()


def test_the_text_leads_with_a_summary_of_every_claim(written):
    text = written["audit.md"].read_text(encoding="utf-8")
    head = text.split("\n## ")[0]
    assert len(head.splitlines()) < 40
    for claim in CLAIMS:
        assert f"| {claim} |" in head
        assert f"## {claim}: {TITLES[claim]}" in text and MEANINGS[claim][:40] in text.replace("\n", " ")
    assert "holds (10/10)" in head and "+0.500" in text
    assert "nan" not in text


def test_the_text_says_which_rows_have_no_data(written):
    text = written["audit.md"].read_text(encoding="utf-8")
    described = text.split("### QP2, as-described")[1].split("###")[0]
    assert "| Crabs |" in described and "| IonoS |" not in described
    absent = " ".join(described.split("No data (")[1].split())
    assert absent.startswith(
        "0 complete seeds): IonoS, Cancer, Pima, Sonar, Glass, Wine1, Wine2, Wine3, Mining."
    )
    corrected = text.split("### QP2, corrected")[1].split("###")[0].split("\n## ")[0]
    assert corrected.count("**") == 2  # the first block though nothing was run, later ones only with rows
    assert "**equal hyperparameters: holds**" in text


def test_the_same_records_give_the_same_bytes(fits, written, folder, tmp_path):
    frame = pd.concat([fits("as-described", rows=("crabs",), ntll=GAPS), fits(ntll=GAPS)])
    again = write_audit(frame.sample(frac=1.0, random_state=3), tmp_path, CLAIMS_CSV, folder)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written.values()]


def test_a_claim_that_is_not_published_is_refused(fits, tmp_path):
    short = tmp_path / "claims.csv"
    short.write_text("id,paper,where,claim\nQP1,QP,section 6.1,x\n")
    with pytest.raises(ValueError, match="QP2"):
        write_audit(fits(rows=("crabs",)), tmp_path, short)


def test_studies_belong_to_their_protocol(fits, studies):
    findings = judge(fits(rows=("crabs",)), Studies(timing=studies["timing"](protocol="corrected")))
    verdicts = {finding.protocol: finding.verdict for finding in findings if finding.id == "QP8"}
    assert verdicts == {"as-released": "not testable", "as-described": "not testable", "corrected": "holds"}
