"""All papers together: one audit, what is loud, and figures that could not be drawn."""

from pathlib import Path

import pytest

from papers import make
from papers.evidence.audit import Chapter
from papers.evidence.parts import Written
from papers.evidence.verdicts import Block, Finding

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "published"


def written(claim, loud):
    block = Block("b", "t", (), float)
    chapter = Chapter(f"{claim} heading", [Finding(claim, "all", (block,))])
    return Written([chapter], [loud])


@pytest.fixture
def papers(monkeypatch):
    """Papers that say what they were called with."""
    calls = {}

    def paper(claim, result):
        return lambda *folders: calls.setdefault(claim, folders) and result

    for name in ("qp", "pep", "rep", "pesc"):
        claim = f"{name.upper()}1"
        monkeypatch.setattr(getattr(make, name), "write", paper(claim, written(claim, claim)))
    return calls


def test_papers_come_together_in_their_order(papers, tmp_path):
    loud = make.write_all("results", tmp_path / "tables", "figures", PUBLISHED)
    assert loud == ["QP1", "PEP1", "REP1", "PESC1"]
    folders = (Path("results"), tmp_path / "tables", Path("figures"))
    assert papers["QP1"] == papers["PEP1"] == (*folders, PUBLISHED)
    assert papers["REP1"] == papers["PESC1"] == folders
    names = [line.split(",")[0] for line in (tmp_path / "tables" / "audit.csv").read_text().splitlines()]
    assert names == ["id", "QP1", "PEP1", "REP1", "PESC1"]


def test_what_could_not_be_drawn_says_so(tmp_path):
    """Only what is missing is made: a figure that was drawn stays."""
    drawn = tmp_path / "paired.png"
    drawn.write_bytes(b"drawn")
    asked = [drawn, tmp_path / "folder", *(tmp_path / f"figure1b.{kind}" for kind in ("pdf", "png"))]
    assert make.fill(asked) == [f"nothing to draw: {tmp_path / 'figure1b'}"]
    assert drawn.read_bytes() == b"drawn" and all(path.stat().st_size > 0 for path in asked)
    assert (tmp_path / "folder").is_dir() and make.fill(asked) == []
