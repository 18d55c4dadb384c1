"""The audit as files."""

import pandas as pd
import pytest

from papers.evidence import audit as text
from papers.evidence.claims import of_paper
from papers.evidence.verdicts import VERDICTS, Block, Finding, Inference, Line
from papers.qp.claims import CLAIMS, Evidence, chapter, judge

GAPS = {"ep": (5e-4, 1e-4), "ep-tune": (4e-4, 1e-4), "vb-joint": (5e-2, 1e-3), "vb": (2e-2, 1e-3)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("audit")


def write_audit(frame, folder, timing=None):
    return text.write([chapter(Evidence(frame, timing), {"QP8": ["A note."]})], folder)


@pytest.fixture
def written(fits, folder, studies):
    frame = pd.concat([fits(ntll=GAPS), fits("as-described", rows=("crabs",), ntll=GAPS)])
    paths = write_audit(frame, folder, studies["timing"]())
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
    page = written["audit.md"].read_text(encoding="utf-8")
    head = page.split("\n## ")[0]
    assert len(head.splitlines()) < 40
    for name, claim in of_paper("QP").items():
        assert name in CLAIMS and f"| {name} |" in head
        assert f"## {name}: {claim.title}" in page and claim.rule[:40] in page.replace("\n", " ")
    assert "holds (10/10)" in head and "+0.500" in page
    assert "nan" not in page and "\n\nA note.\n\n" in page.split("## QP8")[1].split("## QP9")[0]


def test_the_text_says_which_rows_have_no_data(written):
    page = written["audit.md"].read_text(encoding="utf-8")
    described = page.split("### QP2, as-described")[1].split("###")[0]
    assert "| Crabs |" not in described and "yes on 1 of 10 rows, no data on 9" in described
    absent = " ".join(described.split("No data on ")[1].split())
    assert absent.startswith(
        "EP - QP, NTLL (0 complete seeds): IonoS, Cancer, Pima, Sonar, Glass, Wine1, Wine2, Wine3, Mining."
    )
    corrected = page.split("### QP2, corrected")[1].split("###")[0].split("\n## ")[0]
    assert corrected.count("**") == 2  # the first block though nothing was run, later ones only with rows
    assert "**equal hyperparameters: holds**" in page


def test_what_does_not_suffice_for_a_verdict_is_not_shown(fits, tmp_path):
    """One row of nine: VB was run with EP, not with QP; another claim's rows beside the verdict stay."""
    frame = fits("corrected", methods=("ep", "vb"), rows=("sonar",), ntll={"vb": (0.02, 1e-3)})
    page = write_audit(frame, tmp_path)[-1].read_text(encoding="utf-8")
    section = " ".join(page.split("### QP4, corrected")[1].split("\n## ")[0].split())
    assert section.startswith(": not testable **vb, NTLL: not testable**, yes on 0 of 9 rows, no data on 9;")
    assert "worst off" not in section and "| Sonar" not in section and section.count("**") == 2
    assert "No data on vb - EP, NTLL (0 complete seeds): IonoS, Pima, Crabs, Glass, Wine1," in section
    assert "No data on vb - QP, NTLL (0 complete seeds): IonoS, Pima, Crabs, Sonar, Glass," in section
    rows = pd.read_csv(tmp_path / "audit_rows.csv")
    sonar = rows[(rows["id"] == "QP4") & (rows["protocol"] == "corrected") & (rows["row"] == "Sonar")]
    assert sonar["status"].tolist() == ["yes", "no data", "no", "no data"]  # in NTLL, in TE


def test_lines_with_one_reason_are_one_sentence():
    lines = [Line("Pima", name, "nats", note=note) for name in ("a", "b") for note in ("x", "y")]
    lines += [Line("Sonar", name, "nats", note="x") for name in ("a", "b")] + [Line("Crabs", "c", "nats")]
    assert list(text._absent(lines)) == [
        "No data on a and b (x): Pima, Sonar.", "No data on a and b (y): Pima.", "No data on c: Crabs."
    ]  # fmt: skip


@pytest.mark.parametrize(
    "statuses, expected",
    [
        ("yes yes no", "holds in part (2/3)"),
        ("undecided undecided", "does not hold (0 yes, 0 no, 2 undecided of 2)"),
        ("yes no undecided", "does not hold (1 yes, 1 no, 1 undecided of 3)"),
        ("yes yes undecided,no data", "not testable (2 yes, 0 no, 1 undecided, 1 no data of 4)"),
    ],
)
def test_the_summary_counts_undecided_rows_apart(statuses, expected):
    names = statuses.replace(",", " ").replace("no data", "no_data").split()
    found = [name.replace("_", " ") for name in names]
    lines = tuple(Line(f"row {k}", "x", "nats", 1.0, sample=Inference(s)) for k, s in enumerate(found))
    assert text._short(Finding("QP1", "as-released", (Block("b", "t", lines, float),))) == expected


def test_the_same_records_give_the_same_bytes(fits, written, studies, tmp_path):
    frame = pd.concat([fits("as-described", rows=("crabs",), ntll=GAPS), fits(ntll=GAPS)])
    again = write_audit(frame.sample(frac=1.0, random_state=3), tmp_path, studies["timing"]())
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written.values()]


def test_studies_belong_to_their_protocol(fits, studies):
    findings = judge(Evidence(fits(rows=("crabs",)), studies["timing"](protocol="corrected")))
    verdicts = {finding.protocol: finding.verdict for finding in findings if finding.id == "QP8"}
    assert verdicts == {"as-released": "not testable", "as-described": "not testable", "corrected": "holds"}
