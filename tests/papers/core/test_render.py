"""Tables from column specifications."""

import math
from types import SimpleNamespace

from papers.core.render import Column, markdown, text

LINES = [
    SimpleNamespace(row="Glass", mean=1.256, sd=math.nan, n=20),
    SimpleNamespace(row="Wine1", mean=-0.5, sd=0.25, n=7),
]


def test_a_table_has_a_row_for_each_line_and_a_cell_for_each_column():
    columns = (
        text("Data", "row"),
        Column("Mean", "mean", "+.2f"),
        Column("sd", "sd", ".1f"),
        Column("Per seed", lambda line: line.mean / line.n, ".3f", missing=""),
        Column("n", "n"),
    )
    assert markdown(columns, LINES) == [
        "| Data  |  Mean |  sd | Per seed |   n |",
        "| ----- | ----: | --: | -------: | --: |",
        "| Glass | +1.26 |   - |    0.063 |  20 |",
        "| Wine1 | -0.50 | 0.2 |   -0.071 |   7 |",
    ]


def test_text_is_not_formatted_and_a_missing_number_has_its_own_text():
    column = Column("x", "x", ".2f", missing="none")
    assert column.cell(SimpleNamespace(x="3 of 4")) == "3 of 4"
    assert column.cell(SimpleNamespace(x=math.nan)) == "none"
