"""The numbers of docs/corrections.md are those of tables/qp_nearer.csv, to the digits that are typed."""

import re
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = [("ep", "variance_rms"), ("cheap", "variance_rms"), ("nearly-exact", "variance_rms")]
COLUMNS += [("ep", "variance_noise"), ("ep", "evidence_error"), ("nearly-exact", "evidence_error")]


@pytest.fixture(scope="module")
def measured():
    return pd.read_csv(ROOT / "tables" / "qp_nearer.csv").set_index(["row", "method"])


@pytest.fixture(scope="module")
def text():
    return (ROOT / "docs" / "corrections.md").read_text(encoding="utf-8")


def test_the_table_of_accuracy(measured, text):
    rows = re.findall(r"^\| (\w+) \|((?: [\d.]+ \|){6})$", text, re.M)
    assert [name for name, _ in rows] == list(measured.index.unique("row"))
    for name, cells in rows:
        for typed, (method, column) in zip(cells.strip("| ").split(" | "), COLUMNS, strict=True):
            value = Decimal(str(measured.loc[(name, method), column]))
            assert Decimal(typed) == value.quantize(Decimal(typed)), (name, method, column)


COSTS = {
    ("cheap", "milliseconds"): "0.45 to 1.0",
    ("nearly-exact", "milliseconds"): "12 to 222",
    ("sampled", "seconds"): "0.2 to 8",
}


@pytest.mark.parametrize("method, column", COSTS)
def test_costs(method, column, measured, text):
    said = COSTS[method, column]
    costs = measured.xs(method, level="method")[column]
    for typed, value in zip(said.split(" to "), (costs.min(), costs.max()), strict=True):
        assert Decimal(typed) == Decimal(str(value)).quantize(Decimal(typed))
    assert f"{said} {'ms a point' if column == 'milliseconds' else 's a split'}" in text


def test_rows_that_stay_off(measured, text):
    exact = measured.xs("nearly-exact", level="method")
    far = exact.index[exact["variance_rms"] >= 2 * exact["variance_noise"]]
    assert list(far) == ["Crabs", "Mining"] and "not on Crabs and Mining" in text
    crabs = measured.loc[("Crabs", "sampled")]
    assert f"({crabs['not_trusted']:.0f} of {crabs['n']:.0f} latents of Crabs)" in " ".join(text.split())
