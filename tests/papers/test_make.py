"""All papers together: one audit, what is loud, and figures that could not be drawn."""

from pathlib import Path

import numpy as np
import pytest

from papers import make
from papers.core import audit, store
from papers.core.audit import Chapter, Written
from papers.core.verdicts import YES, Block, Finding, Inference, Line, finding

PUBLISHED = Path(__file__).resolve().parents[2] / "data" / "published"


def written(claim, loud):
    block = Block("b", "t", ())
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
    warnings = make.write_all("results", tmp_path / "tables", "figures", PUBLISHED)
    assert warnings == ["QP1", "PEP1", "REP1", "PESC1"]
    folders = (Path("results"), tmp_path / "tables", Path("figures"), PUBLISHED)
    assert {papers[name] for name in ("QP1", "PEP1", "REP1", "PESC1")} == {folders}
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


def test_a_chapter_goes_from_rule_to_rule_to_the_last_digit(tmp_path):
    line = Line(
        "Glass", "EP - QP in NTLL", "nats", np.float64(0.1) / 3, sample=Inference(YES, -1e-300), n=np.int64(9)
    )
    blocks = Block("direct", "t", (line,), "é", {"sets": 2}, best=0.5), Block("beside", "t", (), best=-np.inf)
    chapter = Chapter("Claims", [finding("QP10", "as-released", blocks)], "l", {"QP10": ["so"]})
    (read,) = audit.read_chapters(audit.write_chapters([chapter], tmp_path / "qp.json"))
    assert repr(read) == repr(chapter).replace(
        "np.float64(0.03333333333333333)", "0.03333333333333333"
    ).replace("np.int64(9)", "9")
    for name, of in (("there", chapter), ("here", read)):
        audit.write([of], tmp_path / name)
    for path in (tmp_path / "here").iterdir():
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


@pytest.mark.parametrize(
    "text", ["", "{}x", "1", "[1]", '[{"heading": "h"}]', '[{"heading": "h", "findings": [], "run": 1}]']
)
def test_what_is_no_chapter_is_refused_by_name(text, tmp_path):
    path = tmp_path / "qp.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(store.RecordError, match="qp.json has no chapters"):
        audit.read_chapters(path)
