"""Findings as files: the counts beside a verdict, and what a claim asks for."""

import re

import pandas as pd
import pytest

from papers.evidence import audit, claims
from papers.evidence.verdicts import MISSING, NO, UNDECIDED, YES, Block, Inference, Line, finding

STATUSES = [YES] * 4 + [NO] * 1 + [UNDECIDED] * 2 + [MISSING] * 3


@pytest.fixture
def written(tmp_path):
    """Ten rows of QP2, which is universal and asks for ten rows of twenty units."""
    lines = tuple(
        Line(f"row {k}", "EP - QP", "nats", 0.1 * k, sample=Inference(status), n=30)
        for k, status in enumerate(STATUSES)
    )
    found = finding("QP2", "as-released", [Block("as reported", "t", lines)])
    audit.write([audit.Chapter("Which claims hold", [found])], tmp_path)
    return tmp_path


def test_counts_stand_beside_the_verdict(written):
    (line,) = pd.read_csv(written / "audit.csv").to_dict("records")
    assert line["verdict"] == "not enough run"
    assert [line[name] for name in ("yes", "no", "undecided", "no_data")] == [4, 1, 2, 3]
    page = (written / "audit.md").read_text(encoding="utf-8")
    assert "not enough run (4 yes, 1 no, 2 undecided, 3 no data of 10)" in page


def test_the_page_says_what_is_asked_and_what_is_short(written):
    page = " ".join((written / "audit.md").read_text(encoding="utf-8").split())
    against = "(but one row that is no decides, and row 4 is: more runs of others cannot mend it)"
    assert f"below what the rule asks for: rows 7 of 10 {against}" in page
    assert (
        "One row that is no decides. It takes at least 10 rows, 20 units; under as-described, 10 units."
        in page
    )


@pytest.mark.parametrize("name, decides", [("PEP4", False), ("REP3", True), ("QP6", True)])
def test_a_row_against_a_claim_of_which_too_little_was_run_is_named_where_it_decides(name, decides):
    """Of REP3 and QP6 only rows of one part do."""
    rows = {"REP3": "Made-up: REP converges", "QP6": "variances"}
    lines = [Line(rows.get(name, "row"), "q", "nats", 0.1, sample=Inference(NO), n=1)]
    other = Line("another", "q", "nats", 0.1, sample=Inference(NO), n=1)
    for of_claim, named in (([*lines, other], decides), ([other], False)):
        block = finding(name, "corrected", [Block("b", "t", tuple(of_claim))]).blocks[0]
        assert ("one row that is no decides" in audit._why_not(block)[0]) is named


def test_what_stands_beside_a_verdict_is_said_with_the_claim_and_ours_is_no_papers():
    ours, theirs = claims.load()["OURS2"], claims.load()["QP2"]
    assert ours.said.startswith("Ours (docs/corrections.md): ") and theirs.said.startswith("The paper (")
    assert theirs.said.endswith(f"Table 1. Beside the verdict: {theirs.beside}")
    assert theirs._replace(beside="").said.endswith("Table 1.")
    assert {name for name, claim in claims.load().items() if claim.ours} == {"OURS1", "OURS2", "OURS3"}


def test_contents_lead_to_every_claim(written):
    text = (written / "audit.md").read_text(encoding="utf-8")
    headings = [line[3:].lower() for line in text.splitlines() if line.startswith("## ")]
    anchors = [re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings]
    assert anchors and re.findall(r"\[QP2\]\(#([^)]*)\)", text) == anchors
