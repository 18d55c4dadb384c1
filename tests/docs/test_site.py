"""The pages of `make docs`: what is generated, and the whole build in Chromium."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import tilted
from papers.core import claims

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ("claims/PEP5", "figures", "api/tilted.GPClassifier")
PAGES = ["index", *(f"docs/generated/{name}" for name in GENERATED)]
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def extension():
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs/_ext/pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generated(extension):
    return extension.pages(ROOT)


@pytest.mark.parametrize("name", claims.load())
def test_a_claims_page_has_verdicts_deciding_rows_and_the_command(generated, name):
    page, claim = generated[f"claims/{name}.md"], claims.load()[name]
    verdicts, rows = (
        pd.read_csv(ROOT / "tables" / file, dtype=str, keep_default_na=False)
        for file in ("audit.csv", "audit_rows.csv")
    )
    verdicts, rows = verdicts[verdicts["id"] == name], rows[rows["id"] == name]
    assert claim.title in page and claim.wording in page and f"tilted reproduce {name}\n" in page
    for verdict in verdicts.itertuples():
        assert f"| {verdict.protocol} | **{verdict.verdict}** | {verdict.yes} |" in page
        behind = rows[rows["protocol"] == verdict.protocol]
        deciding = behind[behind["block"] == behind["block"].iloc[0]]
        section = page.split(f"### Protocol {verdict.protocol}: {verdict.verdict}\n")[1].split("\n###")[0]
        table = re.findall(r"^\| (?!Row  |---)(.*?) +\| (.*?) +\|", section, re.M)
        assert table == [(row.row, row.status) for row in deciding.itertuples()]


def test_every_figure_is_in_the_gallery(generated):
    drawn = {path.relative_to(ROOT).as_posix() for path in (ROOT / "figures").rglob("*.png")}
    shown = set(re.findall(r"{figure} /(\S+)", generated["figures.md"]))
    assert shown == {path for path in drawn if "preview" not in path} and len(shown) > 50
    assert "{figure} /figures/qp_truth.png" in generated["claims/QP10.md"]


def test_every_public_name_is_in_the_reference(generated):
    listed = set(re.findall(r"^   (\w+)$", generated["api/index.rst"], re.M))
    modules = {"kernels", "likelihoods"}
    assert set(tilted.__all__) - modules <= listed
    assert set(tilted.kernels.__all__) <= listed and {"Probit", "get", "ep"} <= listed
    assert not {"Any", "as_kernel", "nearest"} & listed


def test_contents_are_grouped_by_heading_or_table(extension):
    table = "| Use | |\n|---|---|\n| [b](b.md), [c](../c.md) | [b](b.md#x) |"
    text = f"# A\n\n[z](z.md)\n\n{table}\n\n## More\n\n[d](d.md)\n"
    groups = extension.contents(text, Path("docs"))
    assert groups == {"": ["docs/z"], "Use": ["docs/b", "c"], "More": ["docs/d"]}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the whole site; warnings are errors, links that lead nowhere among them."""
    pytest.importorskip("sphinx", reason="`make docs` installs Sphinx")
    folder = tmp_path_factory.mktemp("site")
    options = ["-W", "--keep-going", "-n", "-q", "-d", str(folder / "doctrees"), "-c", "docs"]
    command = [sys.executable, "-m", "sphinx", *options, ".", str(folder / "report")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "report"


def opened(path, window):
    """A page's text after its scripts have run, without network, and the messages of its console."""
    flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    flags += [
        f"--window-size={window},900",
        "--virtual-time-budget=10000",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ]
    done = subprocess.run([CHROMIUM, *flags, "--dump-dom", path], capture_output=True, text=True, timeout=300)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.mark.slow
def test_the_site_builds_without_warnings(built):
    for name in PAGES:
        assert (built / f"{name}.html").is_file()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("window", [1280, 390])
def test_pages_open_from_files_without_errors_and_search_finds(built, window):
    for name in PAGES:
        text, errors = opened((built / f"{name}.html").as_uri(), window)
        assert errors == [] and "<h1>" in text
    text, errors = opened((built / "search.html").as_uri() + "?q=PEP5", window)
    assert errors == [] and "docs/generated/claims/PEP5.html" in text
