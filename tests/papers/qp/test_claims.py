"""The audit as files."""

from types import SimpleNamespace

import pandas as pd
import pytest

from papers.core import audit as text
from papers.core.claims import of_paper
from papers.core.verdicts import (
    FAILS,
    HOLDS,
    TOO_FEW,
    UNDECIDED,
    VERDICTS,
    Block,
    Finding,
    Inference,
    Line,
)
from papers.qp.accuracy import tables as accuracy_tables
from papers.qp.artifacts import HEADING, JUDGED, LEGEND, judge
from papers.qp.records import LOOKUP_EFFECT, NEARER_FITS, NEARER_LATENTS, TIMING, TRUTH, TRUTH_LATENTS

SAMPLED = (
    (accuracy_tables.summarise_truth, (TRUTH, TRUTH_LATENTS)),
    (accuracy_tables.summarise_approximations, (NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS)),
)
GAPS = {"ep": (5e-4, 1e-4), "ep-tune": (4e-4, 1e-4), "vb-joint": (5e-2, 1e-3), "vb": (2e-2, 1e-3)}


def results_of(frame, studies=None):
    """Results without an exact posterior."""

    def rows(study):
        return (studies or {}).get(study, study.frame())

    sampled = (summary(*(study.frame() for study in frames)) for summary, frames in SAMPLED)
    return SimpleNamespace(fits=frame, rows=rows, **dict(zip(("truth", "nearer"), sampled, strict=True)))


def write_audit(frame, folder, timing=None):
    findings = judge(results_of(frame, {} if timing is None else {TIMING: timing}))
    return text.write([text.Chapter(HEADING, findings, LEGEND, {"QP8": ["A note."]})], folder)


@pytest.fixture(scope="module")
def written(fits, tmp_path_factory, studies):
    folder = tmp_path_factory.mktemp("audit")
    frame = pd.concat([fits(ntll=GAPS, seeds=20), fits("as-described", rows=("crabs",), ntll=GAPS)])
    paths = write_audit(frame, folder, studies["timing"](cells=20))
    return {path.name: path for path in paths}


def test_one_line_a_claim_and_protocol(written):
    table = pd.read_csv(written["audit.csv"], keep_default_na=False)
    counts = ["yes", "no", "undecided", "no_data"]
    assert list(table.columns) == ["id", "paper", "protocol", "verdict", *counts, *text.COLUMNS[-5:]]
    papers = ["QP10", *(f"QP{k}" for k in range(1, 10))]
    assert table["id"].tolist()[::3] == [*papers, "OURS1", "OURS2", "OURS3"]
    assert len(table) == 39 and not table.duplicated(["id", "protocol"]).any()
    assert set(table["verdict"]) <= set(VERDICTS) and set(table["paper"]) == {"QP"}
    line = table[(table["id"] == "QP2") & (table["protocol"] == "as-released")].iloc[0]
    assert line["verdict"] == "holds" and float(line["effect"]) == pytest.approx(5e-4)
    low, high = map(float, line["interval"].strip("[]").split(","))
    assert low < 5e-4 < high and line["n"] == 20
    assert "yes on 10 of 10 rows" in line["note"] and "equal hyperparameters: holds" in line["note"]
    missing = table[(table["id"] == "QP2") & (table["protocol"] == "corrected")].iloc[0]
    assert (missing["verdict"], missing["effect"], missing["n"]) == ("too few runs", "", 0)
    assert "no data on 10" in missing["note"] and "rows 0 of 10, units 0 of 20" in missing["note"]
    times = table[(table["id"] == "QP8") & (table["protocol"] == "as-released")].iloc[0]
    assert times["verdict"] == "holds"


def test_every_line_behind_it(written):
    rows = pd.read_csv(written["audit_rows.csv"])
    crabs = rows[(rows["id"] == "QP2") & (rows["row"] == "Crabs") & (rows["protocol"] == "as-released")]
    assert crabs["block"].tolist() == [
        "EP as reported",
        "equal hyperparameters",
        "superior (section 6.1), EP as reported",
    ]
    assert crabs["effect"].tolist() == pytest.approx([5e-4, 4e-4, 5e-4])
    assert (crabs["general_low"] < crabs["effect"]).all() and (crabs["general_status"] == "yes").all()
    assert (crabs["n"] == 20).all() and (crabs["n_folds"] == 200).all()


def test_the_text_leads_with_a_summary_of_every_claim(written):
    page = written["audit.md"].read_text(encoding="utf-8")
    head = page.split("\n## ")[0]
    assert len(head.splitlines()) < 40
    for name, claim in of_paper("QP").items():
        assert name in JUDGED and f"| {name:5} |" in head
        assert f"## {name}: {claim.title}" in page and claim.rule[:40] in page.replace("\n", " ")
    assert "holds (10 yes, 0 no, 0 undecided of 10)" in head and "+0.500" in page
    assert "nan" not in page and "\n\nA note.\n\n" in page.split("## QP8")[1].split("## QP9")[0]


def test_what_does_not_suffice_for_a_verdict_is_said(written, fits, tmp_path):
    """One row of nine: VB was run with EP, not with QP."""
    page = " ".join(written["audit.md"].read_text(encoding="utf-8").split())
    assert "rows 1 of 10, units 8 of 10" in page
    frame = fits("corrected", methods=("ep", "vb"), rows=("sonar",), ntll={"vb": (0.02, 1e-3)})
    page = write_audit(frame, tmp_path)[-1].read_text(encoding="utf-8")
    section = " ".join(page.split("## QP4")[1].split("\n## ")[0].split())
    assert "**corrected: too few runs** (vb, NTLL); below what the rule asks for:" in section
    assert "rows 0 of 9, units 8 of 20" in section
    rows = pd.read_csv(tmp_path / "audit_rows.csv")
    sonar = rows[(rows["id"] == "QP4") & (rows["protocol"] == "corrected") & (rows["row"] == "Sonar")]
    assert sonar["status"].tolist() == ["yes", "no data", "no", "no data"]  # in NTLL, in TE


@pytest.mark.parametrize(
    "statuses, expected",
    [
        ("yes yes no", "holds in part (2 yes, 1 no, 0 undecided of 3)"),
        ("undecided undecided", "undecided (0 yes, 0 no, 2 undecided of 2)"),
        ("yes no undecided", "undecided (1 yes, 1 no, 1 undecided of 3)"),
        ("yes yes undecided,no data", "undecided (2 yes, 0 no, 1 undecided, 1 no data of 4)"),
        ("no data,no data", "too few runs (no data on 2)"),
    ],
)
def test_the_summary_counts_undecided_rows_apart(statuses, expected):
    names = statuses.replace(",", " ").replace("no data", "no_data").split()
    found = [name.replace("_", " ") for name in names]
    lines = tuple(Line(f"row {k}", "x", "nats", 1.0, sample=Inference(s)) for k, s in enumerate(found))
    assert text._short(Finding("QP1", "as-released", (Block("b", "t", lines),))) == expected


def test_the_same_records_give_the_same_bytes(fits, written, studies, tmp_path):
    frame = pd.concat([fits("as-described", rows=("crabs",), ntll=GAPS), fits(ntll=GAPS, seeds=20)])
    again = write_audit(frame.sample(frac=1.0, random_state=3), tmp_path, studies["timing"](cells=20))
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written.values()]


def test_studies_belong_to_their_protocol(fits, studies):
    times = studies["timing"](protocol="corrected", cells=20)
    findings = judge(results_of(fits(rows=("crabs",)), {TIMING: times}))
    verdicts = {found.protocol: found.verdict for found in findings if found.id == "QP8"}
    assert verdicts == {"as-released": TOO_FEW, "as-described": TOO_FEW, "corrected": HOLDS}


# The rules of claims.yaml, as they are


def of_claim(name, results):
    """Protocol -> verdict on a claim."""
    return {found.protocol: found.verdict for found in judge(results, [name])}


ALL = {"ep": (5e-3, 1e-4), "ep-tune": (5e-3, 1e-4), "vb-joint": (5e-2, 1e-3), "vb": (5e-2, 1e-3)}


@pytest.fixture(scope="module")
def clear(fits):
    """Protocol -> 20 seeds of records that leave no doubt."""
    error = {"ep": (1e-4, 1e-5), "ep-tune": (1e-4, 1e-5)}
    return {name: fits(name, seeds=20, ntll=ALL, error=error) for name in ("as-released", "as-described")}


@pytest.mark.parametrize("name", ["QP1", "QP2", "QP4", "QP5"])
def test_one_row_decides_what_the_paper_says_of_every_one(clear, name):
    frame = clear["as-released"].copy()
    assert of_claim(name, results_of(frame))["as-released"] == HOLDS
    ep = frame["method"].isin(["ep", "ep-tune"]) & (frame["dataset"] == "sonar")
    frame.loc[ep, "test_error"] += 1e-2  # QP1
    frame.loc[ep, "ntll"] += -1e-2 if name == "QP2" else 0.0
    frame.loc[frame["method"].eq("vb-joint") & (frame["dataset"] == "sonar"), "ntll"] -= 0.2  # QP4
    frame.loc[frame["method"].eq("qp") & (frame["dataset"] == "sonar"), "ratio_max"] = 1.1  # QP5
    assert of_claim(name, results_of(frame))["as-released"] == FAILS


@pytest.mark.parametrize("name", ["QP1", "QP2", "QP3", "QP4", "QP5"])
def test_below_twenty_seeds_nothing_is_decided_where_there_could_be_more(clear, name):
    for seeds, protocol, enough in (
        (19, "as-released", False),
        (20, "as-released", True),
        (9, "as-described", name == "QP4"),
        (10, "as-described", True),
    ):
        frame = clear[protocol].query("seed < @seeds")
        assert (of_claim(name, results_of(frame))[protocol] == HOLDS) == enough, (seeds, protocol)
    fewer = clear["as-released"]
    fewer = fewer[(fewer["dataset"] != "pima") | (fewer["seed"] < 19)]
    assert of_claim(name, results_of(fewer))["as-released"] == TOO_FEW


def test_the_coal_series_is_asked_for_a_hundred_seeds(fits):
    for seeds, verdict in ((99, TOO_FEW), (100, HOLDS)):
        frame = fits(rows=("coal",), seeds=seeds, ntll=ALL)
        assert of_claim("QP6", results_of(frame))["as-released"] == verdict
    frame.loc[frame["method"] == "qp", "ratio_max"] = 1.1
    assert of_claim("QP6", results_of(frame))["as-released"] == FAILS  # one part of three


def test_lookup_tables_are_asked_for_folds_that_can_tell_on_both_rows(fits, studies):
    for cells, verdict in ((20, UNDECIDED), (19, TOO_FEW)):
        results = results_of(fits(rows=("crabs",)), {LOOKUP_EFFECT: studies["effect"](cells=cells)})
        assert of_claim("QP9", results)["as-described"] == verdict
