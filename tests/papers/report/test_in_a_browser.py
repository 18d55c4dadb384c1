"""The whole site with its libraries in headless Chromium, from files and without any network."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from papers.report import fits, pages
from papers.report.content import Folders

ROOT = Path(__file__).resolve().parents[3]
HERE = Folders(ROOT, ROOT / "tables", ROOT / "figures", ROOT / "results")
WINDOWS = {"phone": (390, 844), "desktop": (1280, 900)}
SHOWN = (
    "index.html",
    "claims/PEP5.html",
    "claims/QP10.html",
    "claims/index.html",
    "papers/qp.html",
    "data/rep-haberman.html",
    "methods/ep.html",
    "figures.html",
    "docs/findings.html",
    "tables/qp_table1.html",
)
LARGEST = 3_000_000

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    """What the lock file names, as `make site` gets it."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on this machine")
    folder = tmp_path_factory.mktemp("npm")
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copyfile(ROOT / "site" / name, folder / name)
    made = subprocess.run(["npm", "ci"], cwd=folder, capture_output=True, text=True)
    if made.returncode:
        pytest.skip(f"npm could not install: {made.stderr.strip().splitlines()[-1]}")
    return folder / "node_modules"


@pytest.fixture(scope="module")
def built(browser, libraries, tmp_path_factory):
    return pages.write(tmp_path_factory.mktemp("site") / "report", libraries, HERE).parent


@pytest.fixture
def opened(browser, built, tmp_path):
    def page(name, window="desktop", dark=False):
        return browser.opened(built / name, *WINDOWS[window], tmp_path / "profile", dark)

    return page


def test_no_link_leads_nowhere(built, dangling):
    assert dangling(built) == []


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", SHOWN)
def test_pages_load_quietly_fit_and_pass_axe(opened, libraries, name, window):
    with opened(name, window) as page:
        page.wait("document.readyState === 'complete'")
        assert page.errors == []
        assert all(url.startswith(("file:", "data:")) for url in page.requests)
        requested = [Path(url.removeprefix("file://")) for url in page.requests if url.startswith("file:")]
        assert sum(path.stat().st_size for path in requested) < LARGEST
        assert page.ask("document.documentElement.scrollWidth") <= WINDOWS[window][0]
        page.ask((libraries / "axe-core" / "axe.min.js").read_text(encoding="utf-8") + "; undefined")
        found = page.ask(
            "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then((r) =>"
            " r.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html, v.nodes[0].failureSummary]))"
        )
        assert found == []


def test_contrast_holds_in_the_dark(opened, libraries):
    for name in ("index.html", "claims/PEP5.html"):
        with opened(name, dark=True) as page:
            page.ask((libraries / "axe-core" / "axe.min.js").read_text(encoding="utf-8") + "; undefined")
            run = "axe.run(document, {runOnly: ['color-contrast']}).then((r) => r.violations.length)"
            assert page.ask(run) == 0


def test_axe_sees_what_is_wrong(opened, libraries):
    with opened("index.html") as page:
        page.ask((libraries / "axe-core" / "axe.min.js").read_text(encoding="utf-8") + "; undefined")
        page.ask("document.querySelector('h1').style.color = '#eee'")
        run = "axe.run(document, {runOnly: ['color-contrast']}).then((r) => r.violations.length)"
        assert page.ask(run) == 1


def test_search_finds_a_claim_by_keyboard_alone(opened):
    with opened("docs/theory.html") as page:
        page.press("/", "/")
        assert page.ask("document.activeElement.id") == "search"
        page.call("Input.insertText", text="PEP5")
        page.wait("document.querySelector('#results a')")
        assert page.ask("document.querySelector('#results a').getAttribute('href')") == "../claims/PEP5.html"
        page.press("ArrowDown")
        page.press("Enter", "\r")
        page.wait("location.pathname.endsWith('claims/PEP5.html')")
        assert page.errors == []


def test_the_tab_key_reaches_links_menus_and_heads_of_tables(opened):
    with opened("claims/PEP5.html") as page:
        reached = set()
        for _ in range(60):
            page.press("Tab")
            reached.add(page.ask("document.activeElement.tagName + ' ' + document.activeElement.className"))
        kinds = {kind.split()[0] for kind in reached}
        assert {"A", "INPUT", "SELECT", "SUMMARY", "BUTTON"} <= kinds
        assert any("skip" in kind for kind in reached) and any("enlarge" in kind for kind in reached)
        heads = "[...document.querySelectorAll('.dt-container th')]"
        assert page.ask(
            f"{heads}.length > 9 && {heads}.every((th) => th.querySelector('[tabindex], button'))"
        )


DECIDE = "#rows + .dt-container"
PAGE = 25  # rows of a table that are shown at once


def rows(page, place):
    return page.ask(f"[...document.querySelectorAll('{place} tbody tr')].map((tr) => tr.innerText)")


def choose(page, place, name, value):
    menu = f"document.querySelector('{place} select[title={name}]')"
    page.ask(f"{menu}.value = '{value}'; {menu}.dispatchEvent(new Event('change'))")


def test_a_filter_filters_and_a_head_sorts(opened):
    with opened("claims/PEP5.html") as page:
        first = rows(page, DECIDE)
        assert len(first) == 6  # of both protocols, the rows that decide
        choose(page, DECIDE, "Protocol", "converged")
        shown = rows(page, DECIDE)
        assert len(shown) == 3 and all("converged" in row for row in shown)
        choose(page, DECIDE, "Decides", "")
        lines = (ROOT / "tables/audit_rows.csv").read_text(encoding="utf-8").splitlines()
        beside = sum(line.startswith("PEP5,converged,") for line in lines)
        assert len(rows(page, DECIDE)) == min(beside, PAGE)
        page.ask(f"document.querySelector('{DECIDE} th:nth-child(3)').click()")
        effects = [float(row.split("\t")[2]) for row in rows(page, DECIDE)]
        assert effects == sorted(effects) and effects[0] != effects[-1]
        assert page.errors == []


def test_a_phone_shows_verdicts_and_statuses_without_scrolling(opened):
    right = "Math.max(...[...document.querySelectorAll('{}')].map((e) => e.getBoundingClientRect().right))"
    with opened("claims/index.html", "phone") as page:
        assert page.ask(right.format("tbody .mark")) <= 390
    with opened("claims/PEP5.html", "phone") as page:
        assert page.ask(right.format("#rows + .dt-container .status")) <= 390
        assert page.ask("document.querySelector('.why .status').getBoundingClientRect().bottom") < 844
        assert page.ask("document.querySelector('#rows + * tbody tr').clientHeight") < 45
    with opened("figures.html", "phone") as page:
        page.ask("document.querySelector('a.enlarge').click()")
        page.wait("document.querySelector('dialog img').complete")
        assert page.ask("document.querySelector('dialog img').getBoundingClientRect().right") <= 390
        page.ask("document.querySelector('dialog img').click()")
        assert (
            page.ask("document.querySelector('dialog').open && document.querySelector('dialog img').width")
            > 390
        )
        columns = "new Set([...document.querySelectorAll('.gallery figure')].map((f) => f.offsetLeft)).size"
        assert page.ask(columns) == 2


def test_table_1_filters_in_pairs_and_fits_a_desktop(opened):
    closed = "!document.querySelector('.contents details').open"
    with opened("tables/qp_table1.html") as page:
        box = "document.querySelector('.dt-container .scroll')"
        assert page.ask(f"{box}.scrollWidth <= {box}.clientWidth")
        page.ask(
            "const i = document.querySelector('.dt-search input'); i.value = 'glass';"
            " i.dispatchEvent(new Event('input', {bubbles: true}))"
        )
        shown = rows(page, ".doc h2 ~ .dt-container:not(.dt-container ~ .dt-container)")
        assert [row.split("\t")[:2] for row in shown] == [["Glass", "ours"], ["Glass", "published"]]
    with opened("docs/theory.html", "phone") as page:
        assert page.ask(closed)
    with opened("docs/theory.html") as page:
        assert not page.ask(closed)


def test_what_search_shows_is_words(opened):
    with opened("index.html") as page:
        page.ask("document.getElementById('search').focus()")
        page.call("Input.insertText", text="converge")
        page.wait("document.querySelector('#results a')")
        shown = page.ask("[...document.querySelectorAll('#results .text')].map((e) => e.innerText)")
        assert len(shown) > 5 and not any(re.search("(id|class|href)=", text) for text in shown)
        assert any(text.startswith("…") and "converge" in text for text in shown)
        titles = page.ask("[...document.querySelectorAll('#results b')].map((e) => e.innerText)")
        assert len(titles) == len(set(titles))


def test_the_fits_behind_a_claim_are_shown_and_filtered(opened):
    with opened("claims/PEP5.html") as page:
        assert rows(page, ".fits") == []
        page.ask("document.querySelector('[data-fits]').click()")
        page.wait("document.querySelector('.fits .dt-info')")
        total = page.ask("document.querySelector('[data-fits]').innerText.match(/([\\d,]+) lines/)[1]")
        assert f"of {total} entries" in page.ask("document.querySelector('.fits .dt-info').innerText")
        choose(page, ".fits", "dataset", "yacht")
        assert all("yacht" in row for row in rows(page, ".fits"))
        assert "filtered" in page.ask("document.querySelector('.fits .dt-info').innerText")
        assert page.errors == []


def test_markup_in_a_record_is_shown_and_not_obeyed(browser, built, tmp_path):
    site = shutil.copytree(built, tmp_path / "site")
    script = site / fits.FOLDER / "rep-fits.js"
    text, markup = script.read_text(encoding="utf-8"), "<img src=x onerror=document.body.remove()>"
    assert text.count('["reason",[') == 1
    script.write_text(text.replace('["reason",[', f'["reason",["{markup}",'), encoding="utf-8")
    with browser.opened(site / "claims/REP4.html", *WINDOWS["desktop"], tmp_path / "profile", False) as page:
        page.ask("document.querySelector('[data-fits=\"rep/fits.csv.gz\"]').click()")
        page.wait("document.querySelector('.fits .dt-info')")
        assert markup in page.ask("document.querySelector('.fits tbody').innerText")
        assert page.ask("document.querySelectorAll('.fits img').length") == 0 and page.errors == []


def test_a_figure_is_enlarged_and_closed_again(opened):
    with opened("figures.html", "phone") as page:
        assert page.ask(
            "[...document.querySelectorAll('main img')].every((image) => image.loading === 'lazy')"
        )
        page.ask("document.querySelector('a.enlarge').click()")
        assert page.ask("document.querySelector('dialog').open")
        page.press("Escape")
        page.wait("!document.querySelector('dialog').open")
