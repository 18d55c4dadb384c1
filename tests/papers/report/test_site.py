"""The site, of all claims and few figures and records: complete, small, and nothing leads nowhere."""

import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from papers.evidence import claims as printed
from papers.evidence import files
from papers.evidence.verdicts import VERDICTS
from papers.report import content, fits, pages, papers, site
from papers.report.content import Folders
from papers.report.markup import Links
from papers.report.papers import PAPERS

ROOT = Path(__file__).resolve().parents[3]
FIGURES = ("qp_truth", "as-released/figure1a", "pep/figure4", "rep/figure4", "pesc/accuracy")
LARGEST = 3_000_000
"""Bytes that a page may need before anyone scrolls."""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """Stand-ins of what npm installs."""
    folder = tmp_path_factory.mktemp("libraries")
    text = b"// a library\n"
    short = {
        name: one._replace(sha256=hashlib.sha256(text).hexdigest()) for name, one in pages.LIBRARIES.items()
    }
    for one in short.values():
        (folder / one.path).parent.mkdir(parents=True)
        (folder / one.path).write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "LIBRARIES", short)
        yield folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The repository's documents and tables, with few figures and every tenth line of few records."""
    folder = tmp_path_factory.mktemp("repository")
    for name in FIGURES:
        for path in (ROOT / "figures").glob(f"{name}.*"):
            target = folder / "figures" / path.relative_to(ROOT / "figures")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for file in ("pep/regression.csv.gz", "rep/fits.csv.gz"):
        (folder / "results" / file).parent.mkdir(parents=True)
        with gzip.open(ROOT / "results" / file, "rt") as stream:
            lines = [line for k, line in enumerate(stream) if k % 10 == 0]
        with gzip.open(folder / "results" / file, "wt") as stream:
            stream.writelines(lines)
    for file in ("runs.csv", "SHA256SUMS"):
        shutil.copyfile(ROOT / "results" / file, folder / "results" / file)
    return Folders(ROOT, ROOT / "tables", folder / "figures", folder / "results")


@pytest.fixture(scope="module")
def built(libraries, folders, tmp_path_factory):
    return pages.write(tmp_path_factory.mktemp("site"), libraries, folders).parent


def test_no_link_leads_nowhere(built, dangling):
    assert dangling(built) == []


def test_a_dangling_link_is_seen(dangling, tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="#x">1</a><a href="a.html#y">2</a><img src="b.png">')
    assert dangling(tmp_path) == [("a.html", "a.html#y"), ("a.html", "b.png")]


def test_every_claim_has_a_page_with_what_it_says_and_what_was_found(built):
    verdicts = pd.read_csv(ROOT / "tables" / "audit.csv", keep_default_na=False)
    deciding = [row.claim for row in content.rows(Folders(ROOT, ROOT / "tables")) if row.decides]
    assert len(printed.load()) == 33  # 30 of the papers, 3 of ours
    for name, claim in printed.load().items():
        page = (built / "claims" / f"{name}.html").read_text(encoding="utf-8")
        assert f"tilted reproduce {name}<" in page and claim.wording.split()[-1] in page
        for line in verdicts[verdicts["id"] == name].itertuples():
            shown = page.split(f'<span class="protocol">{line.protocol}</span>')[1].split("</li>")[0]
            assert f">{line.verdict}</b>" in shown and f"{line.yes} yes, {line.no} no" in shown
            assert ("Too little run" in shown) is ("below what the rule asks for" in line.note)
        assert page.count("<td>yes</td></tr>") == deciding.count(name)


def test_a_heading_begins_with_a_capital_unless_it_is_a_symbol(built):
    """Greek capital alpha looks like an A."""
    words, symbol = ((built / f"claims/PEP{k}.html").read_text(encoding="utf-8") for k in (1, 2))
    assert "</span> At the largest M" in words and "</span> α = 0.8" in symbol


def test_the_front_page_has_the_answer_and_findings_that_each_lead_somewhere(built):
    front = (built / "index.html").read_text(encoding="utf-8")
    leads = re.findall(r'<li><h3><a href="([^"]+)">(.+?)</a></h3><p>(.+?)</p></li>', front)
    assert len(leads) == 7 and leads[0][0] == "claims/QP10.html"
    rows = re.findall(r"<tr>\n?<td>(.+?)</td>\n?<td>(.+?)</td>", front.split('<ol class="findings">')[0])
    assert len(rows) == 11 and all(re.search(r'href="claims/[A-Z]+\d+.html"', says) for says, _ in rows)
    for _, lead, rest in leads:
        words = re.sub("<[^>]+>", "", rest)
        assert words[0].isupper() or words[0].isdigit(), rest
        assert "(more)" not in rest.lower() and not re.search(r"[,:;]$", lead)
    assert set(re.findall(r"OURS\d", front)) <= set(re.findall(r'href="claims/(OURS\d).html"', front))
    assert "30 of their claims and 3 of ours" in front
    marks = re.findall(f'class="mark ([a-z]+)">({"|".join(VERDICTS)})<', front)
    assert len({shape for shape, _ in marks}) == len({name for _, name in marks}) > 3


@pytest.mark.parametrize(
    ("written", "lead", "rest"),
    [
        ("**It is so.** The premise (QP1) *fails*.", "It is so", "The premise ({QP1}) <em>fails</em>."),
        ("**It is so** ([a.md](a.md)): forty\n   cells.", "It is so", "Forty cells. {More}"),
        ("**It is so** ([a.md](a.md)). That 0.5 is.", "It is so", "That 0.5 is. {More}"),
        ("**It is so** (QP1): of 2 runs.", "It is so", "Of 2 runs. {QP1}"),
        ("**It is so.** (QP1) Of 2 runs.", "It is so", "Of 2 runs. {QP1}"),
        (
            "**It is so** of many (QP1); **it is not** ([b](a.md)).",
            "It is so of many",
            "<strong>It is not</strong> ({b}). {QP1}",
        ),
        (
            "**It is so, [mostly](a.md)**: of 0.5 runs ([a.md](a.md)), all.",
            "It is so, mostly",
            "Of 0.5 runs, all. {More}",
        ),
    ],
)
def test_a_finding_is_sentences_wherever_its_link_stands(written, lead, rest, folders, tmp_path):
    (tmp_path / "README.md").write_text(f"## What was found\n\n1. {written}\n")
    links = Links({"a.md": "a.html"}, ["QP1"])
    (found,) = content.findings(folders._replace(root=tmp_path), links, "index.html")
    assert (found.lead, re.sub(r"<a [^>]*>(.*?)</a>", r"{\1}", found.rest)) == (lead, rest)


def test_a_claim_says_why_at_its_verdict_and_has_its_rule(built):
    page = (built / "claims" / "PEP5.html").read_text(encoding="utf-8")
    (row,) = [
        r
        for r in content.rows(Folders(ROOT, ROOT / "tables"))
        if r[:4] == ("PEP5", "as-described", "direction", "α = 1 over α = 0")
    ]
    first = page.split('<ul class="why">')[1].split("</ul>")[0]
    assert f"{row.row}: <span" in first and f">{row.effect} %</span> (printed 93 %)" in first
    assert "Holds if each printed winner on SMLL wins" in page


def test_marks_of_a_table_are_explained_below_it():
    table = "<table><td>1 *s</td></table></div>"
    shown = content.explained(f'*s</td><h2 id="a">A</h2>{table}x<h2 id="b">B</h2>{table.replace(" *s", "")}')
    assert shown.count("of seeds") == 1 and shown.index("of seeds") < shown.index("x<h2")


def test_a_finding_without_a_link_is_refused(folders, tmp_path):
    (tmp_path / "README.md").write_text("## What was found\n\n1. **It is so**, because.\n")
    links = Links({}, [])
    with pytest.raises(ValueError, match="no bold beginning or no link"):
        content.findings(folders._replace(root=tmp_path), links, "index.html")


def test_what_a_page_needs_before_anyone_scrolls_is_small(built):
    for path in built.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        sources = re.findall(r'<(?:script|link rel="stylesheet"|img)[^>]*(?:src|href)="([^"]*)"[^>]*>', text)
        assert len(sources) >= 3
        lazy = set(re.findall(r'<img src="([^"]*)"[^>]*loading="lazy"', text))
        needed = [path, *(path.parent / source for source in set(sources) - lazy)]
        assert sum(file.stat().st_size for file in needed) < LARGEST, path
        assert all('width="' in image for image in re.findall(r"<figure>\s*<a[^>]*><img[^>]*>", text))


def test_nothing_is_requested_from_elsewhere_and_nothing_fetched(built):
    for path in built.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?//', text), path
    for name in pages.OWN:
        text = (built / "assets" / name).read_text(encoding="utf-8")
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|@import|https?://", text)


def test_search_knows_pages_and_sections(built):
    text = (built / "assets" / "search.js").read_text(encoding="utf-8")
    known = json.loads(text.removeprefix("tiltedPages(").removesuffix(");\n"))
    urls = [entry["url"] for entry in known]
    assert len(urls) == len(set(urls))
    for url in ("claims/PEP5.html", "data/rep-haberman.html", "methods/ep.html", "docs/theory.html"):
        assert url in urls
    assert any(url.startswith("docs/results.html#") for url in urls)
    for entry in known:
        text = entry["text"]
        assert not re.search(r"\b(?:id|class|href)=", text) and not text.startswith(entry["title"]), entry
        assert text or entry["url"].endswith(".html")
    assert site._words("<p>word " * 200).endswith("word word …")
    (claim,) = [entry for entry in known if entry["url"] == "claims/PEP5.html"]
    assert claim["text"].startswith("As the paper claims it SMLL over the 8 UCI sets")


def test_the_fits_of_a_page_are_the_records(built, folders):
    text = (built / "fits" / "pep-regression.js").read_text(encoding="utf-8")
    name, _, content_ = text.partition("=")
    columns = {column: (words, values) for column, words, values in json.loads(content_.rstrip(";\n"))}
    frame = pd.read_csv(folders.records / "pep" / "regression.csv.gz")
    assert name == 'tiltedFits["pep/regression.csv.gz"]' and "run" not in columns
    words, codes = columns["dataset"]
    assert [words[code] for code in codes] == list(frame["dataset"])
    shown = [float(f"{value:.5g}") if value == value else None for value in frame["smll"]]
    assert columns["smll"][1] == shown
    page = (built / "claims" / "PEP5.html").read_text(encoding="utf-8")
    wanted = fits.of_claims()["PEP5"]["pep/regression.csv.gz"]
    n = (frame["dataset"].isin(wanted["dataset"]) & frame["start"].isin(wanted["start"])).sum()
    assert 0 < n < len(frame) and f"</b> {n:,} lines</button>" in page


def test_what_is_said_to_be_behind_claims_exists():
    behind = fits.of_claims()
    assert {name for name, wanted in behind.items() if not wanted} == {"QP7"}
    assert list(behind.pop("QP10")) == ["qp/truth"], "a folder, of which no page has a table"
    for name in ("OURS1", "OURS2", "OURS3"):
        del behind[name]["qp/truth"]
    asked = [*behind.values(), *(method.fits for method in content.methods().values())]
    for file, where in (pair for wanted in asked for pair in wanted.items()):
        header = pd.read_csv(ROOT / "results" / file, nrows=0)
        assert set(where) <= set(header), file


def contest(effect, low, high, **changed):
    where = ("QP2", "corrected", "b", "Glass", "EP - QP, NTLL")
    return content.Row(*where, effect, "", "", "9", "yes", "", True, low, high)._replace(**changed)


@pytest.mark.parametrize(
    ("row", "ep", "qp"),
    [
        (contest("-1", -2.0, -0.5), "won", "lost"),
        (contest("1", 0.5, 2.0), "lost", "won"),
        (contest("0", -1.0, 1.0), "open", "open"),
    ],
)
def test_the_lower_is_ahead_if_the_interval_says_so(row, ep, qp):
    methods = content.methods()
    assert [c.outcome for c in content.contests(methods["ep"], [row])] == [ep]
    assert [c.outcome for c in content.contests(methods["qp"], [row])] == [qp]
    assert content.contests(methods["vb"], [row]) == []


def test_a_share_is_won_beyond_one_half():
    compared = {"row": "α = 0.5 over α = 0", "quantity": "experiments won, SMSE"}
    row = contest("0.6", 0.55, 0.7, **compared)
    (found,) = content.contests(content.methods()["power-ep"], [row])
    assert (found.opponent, found.outcome) == ("α = 0", "won")
    assert content.contests(content.methods()["vfe"], [row])[0].outcome == "lost"
    assert content.tally([found, found._replace(row=row._replace(decides=False))]) == {
        "α = 0": {"won": 1, "lost": 0, "open": 0}
    }


def test_a_folder_with_something_else_is_left_alone(libraries, folders, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="no site"):
        pages.write(tmp_path, libraries, folders)
    assert (tmp_path / "mine.txt").read_text() == "mine"


@pytest.mark.parametrize("name", [".git", "CNAME", "claims/mine.txt"])
def test_what_is_beside_a_site_is_left_alone(built, libraries, folders, tmp_path, name):
    """A branch of pages with files of its own, and its repository: they went with the old site."""
    site = shutil.copytree(built, tmp_path / "pages")
    (site / name).write_text("mine")
    top, _, _ = name.partition("/")
    (site / ".DS_Store").write_text("a Mac's")
    with pytest.raises(FileExistsError, match=f"has {top}, of no site: move it away"):
        pages.write(site, libraries, folders)
    assert (site / name).read_text() == "mine" and (site / "index.html").is_file()
    assert not (tmp_path / ".pages.new").exists()


def test_somebody_elses_site_is_left_alone(libraries, folders, tmp_path):
    """Others have a script of that name too."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets/site.js").write_text("mine")
    with pytest.raises(FileExistsError, match="no site"):
        pages.write(tmp_path, libraries, folders)
    assert (tmp_path / "assets/site.js").read_text() == "mine"


def test_a_second_site_at_once_is_refused(libraries, folders, tmp_path):
    """It emptied the folder that the first was filling, which then took the old site's place."""
    with files.alone(tmp_path / ".report.new"):
        (tmp_path / ".report.new/first").touch()
        with pytest.raises(ValueError, match="another process is at work in .*report.new"):
            pages.write(tmp_path / "report", libraries, folders)
        assert (tmp_path / ".report.new/first").exists()


def test_a_site_that_could_not_be_written_leaves_the_old_one_and_the_next_is_whole(
    built, libraries, folders, tmp_path, monkeypatch
):
    """At the first copied file, and in the middle; the folder is a link, as to where a server looks."""
    shutil.copytree(built, tmp_path / "root")
    (tmp_path / "report").symlink_to(tmp_path / "root")
    (tmp_path / "root/old.html").touch()
    with (tmp_path / "root" / pages.FILES).open("a") as listed:
        listed.write("old.html\n")

    def fails(*arguments):
        raise OSError("No space left on device")

    for where, name in ((shutil, "copyfile"), (pages, "_methods")):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
            patch.setattr(where, name, fails)
            pages.write(tmp_path / "report", libraries, folders)
        assert (tmp_path / "report/old.html").is_file() and (tmp_path / "report/index.html").is_file()
    pages.write(tmp_path / "report", libraries, folders)
    made = [sorted(path.relative_to(f) for path in f.rglob("*")) for f in (tmp_path / "root", built)]
    assert made[0] == made[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "root"]


def test_a_table_that_is_lost_is_named(libraries, folders, tmp_path):
    """Its page would be missing, and every link to it."""
    shutil.copytree(folders.tables, tmp_path / "tables", ignore=shutil.ignore_patterns("qp_table1.md"))
    with pytest.raises(FileNotFoundError, match="lacks qp_table1.md, which"):
        pages.write(tmp_path / "site", libraries, folders._replace(tables=tmp_path / "tables"))


def test_without_the_libraries_it_says_how_to_get_them(folders, tmp_path):
    with pytest.raises(FileNotFoundError, match="npm ci"):
        pages.write(tmp_path / "site", tmp_path / "none", folders)


@pytest.mark.parametrize("left", [0, 5])
def test_a_damaged_library_is_named_and_no_site_is_made(libraries, folders, tmp_path, left):
    """A full disk left an empty file where npm installed: the site's search was dead, and nobody said so."""
    copied = shutil.copytree(libraries, tmp_path / "libraries")
    damaged = copied / "minisearch/dist/umd/index.js"
    damaged.write_bytes(damaged.read_bytes()[:left])
    with pytest.raises(ValueError, match=r"minisearch/dist/umd/index\.js in .* is damaged.*npm ci"):
        pages.write(tmp_path / "site", copied, folders)
    assert not (tmp_path / "site").exists()


def test_the_lock_names_versions_and_hashes_and_no_host():
    text = (ROOT / "site" / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text and "resolved" not in text
    wanted = json.loads((ROOT / "site" / "package.json").read_text(encoding="utf-8"))
    locked = json.loads(text)["packages"]
    assert all(entry["integrity"].startswith("sha512-") for name, entry in locked.items() if name)
    for name, version in (wanted["dependencies"] | wanted["devDependencies"]).items():
        assert locked[f"node_modules/{name}"]["version"] == version


def test_a_figure_has_the_claims_that_its_paper_makes_with_it():
    claim = printed.load()["REP3"]._replace
    lines = {
        "REP3": claim(paper="REP", where="section 6.2 and figures 2-4"),
        "REP4": claim(paper="REP", where="figure 4c"),
        "PEP3": claim(paper="PEP", where="figure 4"),
    }
    found = {f.path.stem: f.claims for f in papers.figures(PAPERS[2], ROOT / "figures", lines)}
    assert found["figure4"] == ("REP3", "REP4") and found["figure2"] == ("REP3",) and found["figure5"] == ()


def test_every_figure_is_in_the_gallery_of_its_paper():
    drawn = {p for p in (ROOT / "figures").rglob("*.png") if "preview" not in p.parts}
    listed = [f.path for paper in PAPERS for f in papers.figures(paper, ROOT / "figures", printed.load())]
    assert len(listed) == len(set(listed)) and set(listed) == drawn and len(drawn) > 40


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
