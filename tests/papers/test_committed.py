"""The committed artifacts are what `make tables` makes of the committed records, byte for byte.

Of all of them that takes minutes: the quick tests make two of the four papers again; claims and figures of
the others are made again in tests/papers/reproduce.
"""

import shutil
from pathlib import Path

import pytest

from papers import configuration, make
from papers.cli import main

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"rep": "figure_exact", "pesc": "accuracy"}
"""Paper -> the figure whose picture is made again, too."""


def files(root, *patterns):
    """Files of a folder but those that are made anew everywhere and not committed."""
    found = {path.relative_to(root) for pattern in patterns for path in root.glob(pattern) if path.is_file()}
    return {str(p) for p in found if "preview" not in p.parts}


def assert_committed(folder, names):
    for name in names:
        assert (folder / name).read_bytes() == (ROOT / name).read_bytes(), f"{name}: run `make tables`"


@pytest.mark.slow
def test_everything(tmp_path, monkeypatch):
    """Of a copy of the committed records alone, which the command takes for these."""
    shutil.copytree(ROOT / "results", tmp_path / "results", ignore=shutil.ignore_patterns("preview"))
    shutil.copytree(ROOT / "data" / "published", tmp_path / "data" / "published")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(configuration, "are_committed", lambda results: results == "results")
    assert main(["tables"]) == 0
    made = files(tmp_path, "tables/**/*", "figures/**/*")
    assert made == files(ROOT, "tables/**/*", "figures/**/*")
    assert_committed(tmp_path, made)


@pytest.mark.parametrize("paper", QUICK)
def test_what_a_paper_writes(paper, tmp_path, without_pictures):
    published = ROOT / "data" / "published"
    with without_pictures(but=[QUICK[paper]]):
        make.write_paper(paper, ROOT / "results", tmp_path / "tables", tmp_path / "figures", published)
    made = files(tmp_path, "tables/*", "figures/**/*")
    assert made == files(ROOT, f"tables/{paper}[._]*", f"figures/{paper}/*")
    pictures = {name for name in made if name.endswith((".pdf", ".png"))}
    drawn = {name for name in pictures if Path(name).stem == QUICK[paper]}
    assert len(drawn) == 2
    assert_committed(tmp_path, made - pictures | drawn)
