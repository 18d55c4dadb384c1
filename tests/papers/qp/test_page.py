"""The HTML report: self-contained, escaped, complete."""

import base64
import dataclasses
import re

import pytest

from papers.evidence import page as report
from papers.evidence import standing
from papers.evidence.parts import FigureFile
from papers.qp import artifacts, figures, published, table1


@pytest.fixture
def page(whole, table, tmp_path):
    _, png = figures.figure_table1(table, tmp_path / "figures" / "published")

    def write(name="report.html", summary=whole, drawn=(png,), **changes):
        front = artifacts._front(summary, list(drawn))
        words = {"title": "Table 1 <again>", "introduction": "First paragraph.\n\nSecond & last."}
        path = report.write_html(tmp_path / name, dataclasses.replace(front, **words, **changes))
        return path.read_text(encoding="utf-8")

    return write


def test_nothing_is_requested_from_anywhere(page):
    text = page()
    assert "http" not in text and "<script" not in text and "@import" not in text
    for source in re.findall(r'(?:src|href)="([^"]*)"', text):
        assert source.startswith("data:")


def test_images_are_embedded_whole(page, tmp_path):
    (content,) = re.findall(r"data:image/png;base64,([A-Za-z0-9+/=]+)", page())
    assert base64.b64decode(content) == (tmp_path / "figures" / "published.png").read_bytes()


def test_text_is_escaped(page):
    text = page()
    assert "Table 1 &lt;again&gt;" in text and "<again>" not in text
    assert "<p>Second &amp; last.</p>" in text


def test_the_table_shows_ours_published_deviation_and_counts(page):
    text = page()
    cell = text.split('<th scope="row">Wine1</th>')[1].split("</td>")[0]
    assert re.findall(r">([^<>\n]+)</span>", cell) == [
        "15.0 ±  5.0", "10.0 ±  2.0", "+2.50 sd", "4/4, 2 seeds",
    ]  # fmt: skip
    assert 'class="deviation far">+2.50' in cell
    assert "published sd is 0" in text
    assert not re.search(r"\bnan\b", text, re.IGNORECASE)


GROUP = standing.Group("qp/fits.csv", "as-released ep", 9, 0, 0, 0, 0, 0, ("2026-01-02",), ())


def test_trouble_runtimes_and_provenance_are_listed(page, whole):
    text = page(summary=dataclasses.replace(whole, groups=[GROUP]))
    assert "Wine1 qp (as-released), 1 failed: cavity variance is negative" in text
    assert "seed 1: 1 of 2 folds failed (1)" in text
    assert "<li>python 3, fast &amp; small</li>" in text
    assert "Fits run 2026-01-02. 9 lines made 2026-01-02; none made again." in text
    assert '<p class="far">NEVER SAMPLED: qp/fits.csv: as-released ep.</p>' in text
    assert re.search(r'<th scope="row">vb-joint</th><td>as-released</td><td>9</td>', text)


def test_a_clean_run_says_so(page, line, frame, published_csv, runs):
    clean = table1.summarise(frame([line(dataset="coal")]), published.read(published_csv), runs)
    again = GROUP._replace(fits=2, good=2, scratch=1, checked=("2026-01-03, commit abc",))
    text = page(summary=dataclasses.replace(clean, groups=[again]), drawn=())
    assert text.count("<p>None.</p>") == 2 and "<img" not in text
    assert "2 made again 2026-01-03 (1 from scratch)." in text and '<p class="far">' not in text


def test_writing_twice_gives_the_same_bytes(page):
    assert page("a.html") == page("b.html")


def test_an_unknown_image_type_is_refused(page, tmp_path):
    with pytest.raises(ValueError, match="a figure is one of"):
        page(figures=[FigureFile(tmp_path / "t.pdf", "")])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.314, "0.314 s"), (119, "119 s"), (252, "4.2 min"), (11160, "3.1 h")],
)
def test_durations(seconds, text):
    assert report._duration(seconds) == text
