"""The index of tables and figures names every one of them, and names that can be made again."""

import re
from pathlib import Path

from papers import captions
from papers.reproduce import names

ROOT = Path(__file__).resolve().parents[2]


def test_every_table_and_figure_is_in_the_index_and_has_a_name(tmp_path):
    for path in (ROOT / "tables").glob("*.*"):
        (tmp_path / path.name).touch()
    text = captions.write(tmp_path, ROOT / "figures").read_text(encoding="utf-8")
    linked = {(ROOT / "tables" / target).resolve() for target in re.findall(r"\]\(([^)]+)\)", text)}
    tables = {path for path in (ROOT / "tables").glob("*.*") if path.name != "index.md"}
    figures = {path for path in (ROOT / "figures").rglob("*.png") if "preview" not in path.parts}
    assert linked - {ROOT / "docs/reproduce.md"} == tables | figures
    asked = re.findall(r"`tilted\s+reproduce\s+([\w-]+)`", text)
    assert set(asked) <= set(names.targets_by_name()) and {"PEP-figure4", "QP-truth", "Table1", "rep"} <= set(
        asked
    )


def test_the_words_are_those_under_the_figures():
    assert captions.about_table("pep_converged_wins.csv").startswith(
        "Power EP for sparse regression, by searches"
    )
    assert captions.PAPERS[0].captions["figure1b"].startswith("The same for Poisson")
