"""All papers together: one audit, one report, what is loud, and figures that could not be drawn."""

from pathlib import Path

import pytest

from papers import make
from papers.evidence.audit import Chapter
from papers.evidence.page import Front
from papers.evidence.parts import Part, Written
from papers.evidence.verdicts import Block, Finding

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "published"


def written(claim, loud):
    block = Block("b", "t", (), float)
    chapter = Chapter(f"{claim} heading", [Finding(claim, "all", (block,))])
    return Written([chapter], [Part(f"{claim} part", ["A paragraph."])], [loud])


@pytest.fixture
def papers(monkeypatch):
    """Papers that say what they were called with."""
    calls = {}
    front = Front("Title", "Words.", [], [], [], [], [], [], [], "Standing.", [])

    def paper(claim, result):
        return lambda *folders: calls.setdefault(claim, folders) and result

    monkeypatch.setattr(make.qp, "write", paper("QP1", (written("QP1", "one"), front)))
    for name, claim in (("pep", "PEP1"), ("rep", "REP1"), ("pesc", "PESC1")):
        monkeypatch.setattr(getattr(make, name), "write", paper(claim, written(claim, claim)))
    return calls


def test_papers_come_together_in_their_order(papers, tmp_path):
    loud = make.write_all("results", tmp_path / "tables", "figures", PUBLISHED)
    assert loud == ["one", "PEP1", "REP1", "PESC1"]
    folders = (Path("results"), tmp_path / "tables", Path("figures"))
    assert papers["QP1"] == papers["PEP1"] == (*folders, PUBLISHED)
    assert papers["REP1"] == papers["PESC1"] == folders
    names = [line.split(",")[0] for line in (tmp_path / "tables" / "audit.csv").read_text().splitlines()]
    assert names == ["id", "QP1", "PEP1", "REP1", "PESC1"]
    page = (tmp_path / "tables" / "report.html").read_text()
    assert "<h1>Title</h1>" in page and "QP1 part" not in page and "PEP1 part" in page


def test_what_could_not_be_drawn_says_so(tmp_path):
    """Only what is missing is made: a figure that was drawn stays."""
    drawn = tmp_path / "paired.png"
    drawn.write_bytes(b"drawn")
    asked = [drawn, tmp_path / "folder", *(tmp_path / f"figure1b.{kind}" for kind in ("pdf", "png"))]
    assert make.fill(asked) == [f"nothing to draw: {tmp_path / 'figure1b'}"]
    assert drawn.read_bytes() == b"drawn" and all(path.stat().st_size > 0 for path in asked)
    assert (tmp_path / "folder").is_dir() and make.fill(asked) == []
