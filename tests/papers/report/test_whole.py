"""The report of everything: complete, made of committed files, and shown by a browser without any network."""

import html
import re
from pathlib import Path

import pandas as pd
import pytest

from papers import configuration
from papers.evidence import claims, records, standing
from papers.report import papers, rule_times, whole
from papers.report.papers import PAPERS

ROOT = Path(__file__).resolve().parents[3]
HERE = whole.Folders(*(ROOT / folder for folder in whole.Folders()))
WINDOWS = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return whole.write(tmp_path_factory.mktemp("report") / "tilted.html", HERE)


@pytest.fixture(scope="module")
def page(path):
    return path.read_text(encoding="utf-8")


def test_every_claim_has_what_the_paper_says_and_our_verdicts(page):
    verdicts = pd.read_csv(HERE.tables / "audit.csv")
    assert len(claims.load()) == 30
    for name, claim in claims.load().items():
        part = page.split(f'<section id="{name}">')[1].split("</section>")[0]
        mine = verdicts[verdicts["id"] == name]
        assert "Published, " in part and 'class="says"' in part
        assert claim.wording.split()[-1] in part
        for protocol, verdict in zip(mine["protocol"], mine["verdict"], strict=True):
            assert re.search(rf'<p class="verdict">{protocol}: <b class="mark \w+">{verdict}</b>', part)


def test_verdicts_come_first(page):
    places = [page.index(f'id="{name}"') for name in ("verdicts", *(p.key for p in PAPERS), "times")]
    assert places == sorted(places)
    first = page[places[0] : places[1]]
    assert first.count('href="#QP1"') == 1 and first.count("<table") == 1 + len(PAPERS)


def test_every_figure_and_every_table_is_in_it(page):
    apart = {"preview", "converged"}  # of the second, which would double the page, it says where they are
    drawn = [p for p in HERE.figures.rglob("*.png") if not apart.intersection(p.parts)]
    assert page.count("data:image/png;base64,") == len(drawn) > 40
    for path in drawn:
        assert f'id="{path.parent.name}-{path.stem}"' in page
    documents = {p.stem for p in HERE.tables.glob("*.md")} - {"audit"}
    assert documents == {name for paper in PAPERS for name in paper.documents}


def test_published_numbers_stand_beside_ours(page):
    cell = page.split('<th scope="row">IonoS</th>')[1].split("</td>")[0]
    assert [word in cell for word in ("ours", "published", "deviation")] == [True] * 3
    wins = page.split("experiments won, ours and published")[1].split("</table>")[0]
    assert "Published" in wins and "67 %" in wins


def test_a_figure_has_the_claims_that_its_paper_makes_with_it():
    claim = claims.load()["REP3"]._replace
    lines = {
        "REP3": claim(paper="REP", where="section 6.2 and figures 2-4"),
        "REP4": claim(paper="REP", where="figure 4c"),
        "PEP3": claim(paper="PEP", where="figure 4"),
    }
    found = {f.path.stem: f.claims for f in papers.figures(PAPERS[2], HERE.figures, lines)}
    assert found["figure4"] == ("REP3", "REP4") and found["figure2"] == ("REP3",) and found["figure5"] == ()


@pytest.mark.parametrize(
    ("where", "places"),
    [
        ("section 6.1", set()),
        ("Figure 1b and section 6.2", {(1, "b")}),
        ("appendix I.4 and figures 31 and 32", {(31, ""), (32, "")}),
        ("sections 6.2 and figures 2-4, 7b", {(2, ""), (3, ""), (4, ""), (7, "b")}),
    ],
)
def test_figures_named_by_a_claim(where, places):
    assert papers.places(where) == places


def test_times_are_of_rules_that_exist():
    asked = configuration.asked(configuration.read(ROOT / "config" / "paper.yaml"))
    rules = {job.kind for job in asked.jobs.values()}
    times = rule_times.read(HERE.records)
    assert {line.paper for line in times} == {"QP", "PEP", "REP"}
    for line in times:
        assert line.rule in rules
        assert line.fits > 0 and 0 <= line.median <= line.longest <= line.total


def test_seconds_that_are_counted_on_count_once(tmp_path):
    (tmp_path / "pep").mkdir()
    lines = ["alpha,m,seed,seconds", "0,100,0,1", "0,100,0,5", "0,100,1,7", "1,100,0,2"]
    (tmp_path / "pep" / "mnist.csv").write_text("\n".join(lines))
    first, second = rule_times.read(tmp_path)
    assert (first.method, first.fits, first.median, first.total) == ("α = 0, M = 100", 2, 6.0, 12.0)
    assert (second.method, second.fits, second.total) == ("α = 1, M = 100", 1, 2.0)


def test_nothing_is_requested_from_anywhere(page):
    assert "<script" not in page and "@import" not in page and "url(" not in page
    assert all(source.startswith("data:") for source in re.findall(r'\bsrc="([^"]*)"', page))
    assert re.findall(r'<link[^>]*href="([^"]*)"', page) == ["data:,"]
    for target in re.findall(r'<a [^>]*href="([^"]*)"', page):
        assert target.startswith("https://") or f'id="{target[1:]}"' in page, target
    identities = re.findall(r'\bid="([^"]*)"', page)
    assert len(identities) == len(set(identities))


def test_what_is_loud_in_the_tables_is_loud_here(page):
    documents = [*HERE.tables.glob("*.md"), HERE.docs / "differences.md"]
    text = " ".join(" ".join(path.read_text(encoding="utf-8").split()) for path in documents)
    reasons = "|".join(standing.REASONS)
    loud = set(re.findall(rf"\*\*((?:{reasons}): \S+)", text))
    last = html.unescape(page.split('id="loud"')[1]) if 'id="loud"' in page else ""
    assert {line for line in loud if line not in last} == set()


def test_days_and_machines_are_those_of_the_runs(page):
    runs = records.read_runs(HERE.records).values()
    days = sorted({run.date for run in runs} - {""})
    assert len(days) > 1 and f"fits made {days[0]} to {days[-1]}" in page
    last = page.split('id="provenance"')[1]
    assert all(f"<li>{run.environment}</li>" in last for run in runs if run.environment)


def test_size(path):
    assert path.stat().st_size < 15e6


def test_a_claim_without_its_section_is_refused():
    with pytest.raises(ValueError, match="no section 'QP1'"):
        whole._claim("QP1", {}, [], None)


@pytest.mark.parametrize("window", WINDOWS)
def test_in_a_browser_without_network(browser, path, tmp_path, window):
    """Folded parts opened too: nothing is asked for, nothing goes wrong, nothing is wider than the window."""
    with browser.opened(path, *WINDOWS[window], tmp_path / "profile") as page:
        shut = page.ask("document.documentElement.scrollHeight")
        assert page.picture(tmp_path / "page.png").stat().st_size > 20_000
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        page.ask("document.querySelectorAll('details').forEach(part => part.open = true)")
        assert page.ask("document.documentElement.scrollHeight") > 2 * shut
        assert page.ask("document.documentElement.scrollWidth <= innerWidth")
        broken = "[...document.images].filter(image => image.complete && !image.naturalWidth).length"
        assert page.ask(broken) == 0
        assert page.errors == []
        assert [url for url in page.requests if not url.startswith("data:")] == [path.as_uri()]


def test_the_browser_sees_what_is_wrong(browser, tmp_path):
    bad = '<script>console.error("x")</script><img src="http://nowhere.invalid/a.png"><p style="width:900px">'
    (tmp_path / "bad.html").write_text(f"<!DOCTYPE html>{bad}")
    with browser.opened(tmp_path / "bad.html", 390, 844, tmp_path / "profile") as page:
        assert page.ask("document.documentElement.scrollWidth") > 390
        assert any("x" in text for text in page.errors)
        assert "http://nowhere.invalid/a.png" in page.requests
