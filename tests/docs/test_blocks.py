"""Every code block of the documents: Python is run, commands are checked against what would read them."""

import contextlib
import io
import itertools
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from papers import configuration
from papers.core.files import read_yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
SPAN = re.compile(r"(?<!`)`([^`]+)`(?!`)")
LINK = re.compile(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"")
LANGUAGES = {"python", "text", "console", "yaml", "diff", "bibtex"}
COMMANDS = ("make ", "tilted ", "python -m ", "snakemake ")
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
LONG = "docs/many-rows.md"
"""A page whose blocks take ten seconds: run in the long tests."""
WITH_PYTHON = [
    pytest.param(name, marks=pytest.mark.slow if name == LONG else ())
    for name in NAMES
    if "\n```python\n" in (ROOT / name).read_text(encoding="utf-8")
]


@dataclass(frozen=True)
class Block:
    """A fenced block and the line it starts on."""

    language: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    """Fenced blocks of a page, in order."""
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in FENCE.finditer(text)]


def run(text: str, name: str = "page") -> None:
    """Run the Python blocks of a page in one namespace; a text block behind one is what it prints."""
    found, namespace = blocks(text), {"__name__": "page"}
    for block, after in itertools.zip_longest(found, found[1:]):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, name, "exec"), namespace)  # the pages are this repository's own
        if after is not None and after.language == "text":
            assert printed.getvalue().rstrip() == after.text.rstrip(), f"{name}, line {after.line}"


def commands(text: str) -> list[str]:
    """Lines of the console blocks, and commands quoted in sentences."""
    lines = [line for b in blocks(text) if b.language == "console" for line in b.text.splitlines()]
    spans = [re.sub(r"\s+", " ", span) for span in SPAN.findall(FENCE.sub("", text))]
    return [line for line in lines if line.strip()] + [s for s in spans if s.startswith(COMMANDS)]


def check(command: str) -> None:
    """AssertionError unless a command line names what exists."""
    words = shlex.split(command, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    if words and words[0] in ("python", ".venv/bin/python") and words[1:2] == ["-m"]:
        words = words[2:]
        assert words[:1] != ["tilted"], "the library is no command: python -m papers"
    elif words[:2] == ["python", "-c"]:
        compile(words[2], command, "exec")
        return
    assert words and words[0] in READERS, f"nothing is known of: {command}"
    READERS[words[0]](words[1:])


def _make(arguments):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in arguments:
        name, equals, value = word.partition("=")
        if equals:
            assert f"$({name})" in makefile, f"the Makefile has no {name}"
            _tilted(["verify", *shlex.split(value)] if name == "VERIFY" else ["--version"])
        else:
            assert re.search(rf"^{re.escape(word)}:", makefile, re.M), f"no target {word}"


def _tilted(arguments):
    from papers.cli import parser

    if arguments == ["--version"]:
        return
    _parse(parser(), arguments)


def _parse(parser, arguments):
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parser.parse_args(arguments)
    except SystemExit:
        raise AssertionError(f"{arguments}: {said.getvalue()}") from None


def _snakemake(arguments):
    cli = pytest.importorskip("snakemake.cli")
    arguments = ["1" if word == "N" else word for word in arguments]
    asked = _parse(cli.get_argument_parser(), arguments)
    for config in asked.configfile or []:
        assert (ROOT / config).is_file() or str(config) in WRITTEN, f"no {config}"
    files = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    heading = re.compile(r"^\s*(?:rule|use rule \w+ as) (\w+)(?: with)?:", re.M)
    rules = {name for file in files for name in heading.findall(file.read_text(encoding="utf-8"))}
    rules |= {"qp", "pep", "rep", "pesc"}
    names = {word for word in asked.targets if "/" not in word}
    assert names <= rules, f"no rule {names - rules}"
    if paths := set(asked.targets) - names:
        config = read_yaml(ROOT / (asked.configfile or ["config/preview.yaml"])[0])
        assert paths <= configuration.asked(config).jobs.keys(), f"no job makes {paths}"


def _pip(arguments):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert arguments[0] == "install"
    named = {n for word in arguments for n in re.findall(r"\[(\w+)\]", word)}
    assert named <= set(extras["optional-dependencies"])


def _pytest(arguments):
    assert arguments and (ROOT / arguments[0]).exists(), f"no {arguments[:1]}"
    assert arguments[1::2] in ([], ["-k"]), f"unknown: {arguments[1:]}"


def _other(arguments):
    """Commands of the system."""


WRITTEN = {"config/mine.yaml"}
"""Configurations that a page has its reader write."""

READERS = {"make": _make, "snakemake": _snakemake, "pip": _pip, "pytest": _pytest}
READERS |= dict.fromkeys(("tilted", ".venv/bin/tilted", "papers"), _tilted) | dict.fromkeys(
    ("eval", "source", "sha256sum", "wc", "git"), _other
)


@pytest.fixture(params=NAMES)
def page(request):
    """A document's name and text."""
    return request.param, (ROOT / request.param).read_text(encoding="utf-8")


def test_blocks_are_fenced_and_of_a_known_language(page):
    name, text = page
    unknown = [f"{name}, line {b.line}" for b in blocks(text) if b.language not in LANGUAGES]
    assert unknown == []
    assert re.search(r"\n\n {4}\S", FENCE.sub("", text)) is None, f"{name} has an indented block"


@pytest.mark.parametrize("page", WITH_PYTHON, indirect=True)
def test_python_blocks_run_and_print_what_is_printed(page, tmp_path, monkeypatch):
    name, text = page
    monkeypatch.chdir(tmp_path)
    run(text, name)


def test_commands_exist(page):
    for command in commands(page[1]):
        check(command)


def test_links_lead_somewhere(page):
    name, text = page
    targets = [a or b for a, b in LINK.findall(FENCE.sub("", text))]
    here = {t.split("#")[0] for t in targets if not re.match(r"https?:|#", t)}
    assert [t for t in here if not ((ROOT / name).parent / t).exists()] == []


def test_the_index_names_every_page():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in (ROOT / "docs").glob("*.md") if f"]({p.name})" not in index]
    assert missing == ["README.md"]


def test_files_that_the_architecture_names_exist():
    """A name without a folder is in that of the path before it, or in that of a paper."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    library, reproduction = text.split("## The reproduction")
    paths = 0
    for section, base in ((library, "src/tilted"), (reproduction, ".")):
        for row in re.findall(r"^\|.*\|(.*)\|$", section, re.M):
            folder = ROOT / base
            for name in re.findall(r"`([\w./]+)`", row):
                places = [ROOT / base / name, folder / name, *(ROOT / "src/papers").glob(f"*/{name}")]
                place = next((place for place in places if place.exists()), None)
                assert place is not None, name
                folder = place.parent
                paths += 1
    assert paths > 40


WRONG = [
    "make tabels",
    "python -m tilted datasets",
    "tilted fit --sets wine12",
    'make verify VERIFY="--folds x"',
    "snakemake --cores 2 --configfile config/papers.yaml",
    "snakemake --cores 2 --configfile config/paper.yaml -- relaxd",
    "snakemake --cores 2 data/fits/qp/as-released/wine12/ep-000-002.jsonl.gz",
    "pip install -e '.[mlk]'",
    "python -m pytest tests/numeric",
    "curl somewhere",
]


@pytest.mark.parametrize("command", WRONG)
def test_wrong_commands_are_found(command):
    with pytest.raises(AssertionError):
        check(command)
    assert commands(f"```console\n{command}\n```\n") == [command]


def test_blocks_that_fail_or_print_something_else_are_found():
    one = "```python\nx = 1\nprint(x)\n```\n\n```text\n{}\n```\n"
    run(one.format(1))
    with pytest.raises(AssertionError, match="line 7"):
        run(one.format(2))
    with pytest.raises(NameError):
        run("```python\nprint(undefined)\n```\n")
    run("```python\nx = 1\n```\n\ntext\n\n```python\nassert x == 1\n```\n")
