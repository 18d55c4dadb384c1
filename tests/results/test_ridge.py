"""The gap by class of EP's prior variance."""

from pathlib import Path

import pytest

from tilted.results import ridge

PUBLISHED = Path(__file__).parents[2] / "data" / "published" / "qp_table1.csv"
PAIR = {"pair": "ep", "n_above": 0, "ratio_min": 1.0, "ratio_median": 1.0, "ratio_max": 1.0}


def fold(line, seed, variance, gap, **other):
    """EP's and QP's record of a fold: EP's NTLL is higher by ``gap`` printed units."""
    shared = {"dataset": "crabs", "seed": seed, **other}
    return [
        line(method="ep", variance=variance, ntll=0.06 + 1e-3 * gap, **shared),
        line(method="qp", variance=1.0, ntll=0.06, **shared, **PAIR),
    ]


def test_folds_are_put_into_classes_and_averaged(line, frame):
    cases = [(0, 99.0, 1.0), (1, 100.0, 2.0), (2, 5e5, 3.0), (3, 6e5, 5.0), (4, 1e7, -4.0)]
    lines = [record for case in cases for record in fold(line, *case)]
    lines += fold(line, 5, 1e7, 100.0, protocol="corrected") + fold(line, 6, 1e7, 100.0, dataset="coal")
    lines += fold(line, 7, 1e7, 100.0)[:1]  # EP alone
    classes = ridge.by_variance(frame(lines), "as-released")
    found = list(classes.itertuples(index=False, name=None))
    assert [row[:3] for row in found] == [("crabs", 0, 1), ("crabs", 1, 1), ("crabs", 2, 2), ("crabs", 3, 1)]
    assert [row[3] for row in found] == pytest.approx([1.0, 2.0, 4.0, -4.0])
    lines = ridge.markdown(classes, PUBLISHED)
    cells = [cell.strip() for cell in lines[-1].strip("|").split("|")]
    assert cells == ["Crabs", "+1.00 (1)", "+2.00 (1)", "+4.00 (2)", "-4.00 (1)", "+0.1"]
    assert len(lines[-3].split("|")) == len(lines[-1].split("|"))


def test_a_class_without_folds_is_a_dash(line, frame):
    classes = ridge.by_variance(frame(fold(line, 0, 1e5, 0.5)), "as-released")
    assert ridge.markdown(classes, PUBLISHED)[-1].count(" - ") == 3
