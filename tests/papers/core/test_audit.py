"""Findings as files: the counts beside a verdict, and what a claim asks for."""

import re

import pandas as pd
import pytest

from papers.core import audit, claims
from papers.core.verdicts import MISSING, NO, UNDECIDED, YES, Block, Inference, Line, finding

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
    assert line["verdict"] == "too few runs"
    assert [line[name] for name in ("yes", "no", "undecided", "no_data")] == [4, 1, 2, 3]
    page = (written / "audit.md").read_text(encoding="utf-8")
    assert "too few runs (4 yes, 1 no, 2 undecided, 3 no data of 10)" in page


def test_the_page_says_what_is_asked_and_what_is_short(written):
    page = " ".join((written / "audit.md").read_text(encoding="utf-8").split())
    against = "(but one row that is no decides, and row 4 is: more runs of others cannot mend it)"
    assert f"below what the rule asks for: rows 7 of 10 {against}" in page
    assert (
        "One row that is no decides. It takes at least 10 rows, 20 units; under as-described, 10 units."
        in page
    )


def rows_of(page):
    """Cells of the rows of the table below the only claim."""
    lines = [line for line in page.split("\n## ")[1].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_has_the_rows_that_decide(written):
    """Rows against a claim; those that are yes, and those without data, are in audit_rows.csv alone."""
    page = (written / "audit.md").read_text(encoding="utf-8")
    assert [(row[1], row[-1]) for row in rows_of(page)] == [
        ("row 4", "no"),
        ("row 5", "undecided"),
        ("row 6", "undecided"),
    ]
    assert rows_of(page)[0][3] == "+400.000 10^-3 nats"
    assert len(pd.read_csv(written / "audit_rows.csv")) == len(STATUSES)


def test_where_a_claim_holds_the_row_nearest_to_failing_is_shown(tmp_path):
    lines = tuple(Line(f"row {k}", "q", "nats", 0.1 * k, sample=Inference(YES), n=30) for k in (3, 1, 2))
    found = finding("PEP4", "converged", [Block("b", "t", lines), Block("other", "t", lines[:1])])
    page = audit.markdown([audit.Chapter("Which claims hold", [found])])
    assert [row[1] for row in rows_of(page)] == ["row 1"] and "; other: holds." in page


@pytest.mark.parametrize("name, decides", [("PEP4", False), ("REP3", True), ("QP6", True)])
def test_a_row_against_a_claim_of_which_too_little_was_run_is_named_where_it_decides(name, decides):
    """Of REP3 and QP6 only rows of one part do."""
    rows = {"REP3": "Made-up: REP converges", "QP6": "variances"}
    lines = [Line(rows.get(name, "row"), "q", "nats", 0.1, sample=Inference(NO), n=1)]
    other = Line("another", "q", "nats", 0.1, sample=Inference(NO), n=1)
    for of_claim, named in (([*lines, other], decides), ([other], False)):
        block = finding(name, "corrected", [Block("b", "t", tuple(of_claim))]).blocks[0]
        assert ("one row that is no decides" in audit._why_not(block)[0]) is named


def test_a_statement_names_who_claims_it_and_ends_with_the_caveat():
    ours, theirs = claims.load()["OURS2"], claims.load()["QP2"]
    assert ours.statement.startswith("Ours (docs/corrections.md): ")
    assert theirs.statement.startswith("The paper (")
    assert theirs.statement.endswith(f"Table 1. {theirs.caveat}")
    assert theirs._replace(caveat="").statement.endswith("Table 1.")
    assert {name for name, claim in claims.load().items() if claim.ours} == {"OURS1", "OURS2", "OURS3"}


def test_rules_and_caveats_are_short():
    for name, claim in claims.load().items():
        assert len(claim.rule.split()) <= 40 and len(claim.caveat.split()) <= 30, name


def test_contents_lead_to_every_claim(written):
    text = (written / "audit.md").read_text(encoding="utf-8")
    headings = [line[3:].lower() for line in text.splitlines() if line.startswith("## ")]
    anchors = [re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in headings]
    assert anchors and re.findall(r"\[QP2\]\(#([^)]*)\)", text) == anchors
