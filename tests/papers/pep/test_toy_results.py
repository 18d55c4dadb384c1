"""True against learned hyperparameters: the record, its table and its figures."""

import numpy as np
import pytest

from papers.pep import toy
from papers.pep.records import TOY


def line(split, n, hyperparameters, nlml, outcome="ok"):
    """A line whose errors follow from its NLML."""
    score = [nlml, 0.01, 0.02 + nlml / 1e4, -1.0, nlml / 1e3] if outcome != "failed" else [None] * 5
    values = (
        "synthetic",
        split,
        n,
        500,
        hyperparameters,
        *score,
        1.0,
        "1:2",
        0.01,
        7,
        outcome,
        "" if outcome == "ok" else "why",
        0.1234,
    )
    return dict(zip(TOY.columns, values, strict=True))


def draw(table, folder):
    for name, figure in toy.FIGURES.items():
        figure.draw(table, folder / name)


@pytest.fixture
def lines():
    """Four sets; set 3 has no learned hyperparameters with 1000 points."""
    found = []
    for n, gains in ((1000, (2.0, 3.0, 4.0, 5.0)), (500, (1.0, 2.0, 3.0, -6.0))):
        for split, gain in enumerate(gains):
            outcome = "failed" if (n, split) == (1000, 3) else "stopped" if split == 2 else "ok"
            found += [line(split, n, "learned", 100.0 - gain, outcome), line(split, n, "true", 100.0)]
    return found


@pytest.fixture
def table(lines, put, tmp_path):
    return put(tmp_path, TOY, lines)


def test_the_record_is_sorted_and_reads_back(table):
    places = table[["split", "n_train", "hyperparameters"]].to_numpy().tolist()
    assert places[:4] == [[0, 500, "true"], [0, 500, "learned"], [0, 1000, "true"], [0, 1000, "learned"]]
    assert set(table["outcome"]) == {"ok", "stopped", "failed"} and table["nlml"].isna().sum() == 1


def test_differences_are_of_sets_with_both_numbers(table):
    large, small = (toy.pairs(table, n, "nlml") for n in (1000, 500))
    moved = (large[toy.LEARNED] - large[toy.TRUE]).dropna()
    np.testing.assert_allclose(moved, [-2.0, -3.0, -4.0])
    assert len(large) == 4 and len(small.dropna()) == 4


def test_the_table_says_how_far_the_learned_are_below_the_true(table):
    lines = toy.section(table, ["Made by nobody."])
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in lines if row.startswith("| ")]
    small, large = (next(r for r in rows if r[:2] == [n, "NLML (nats)"]) for n in ("500", "1000"))
    assert small[2:5] == ["100.00", "100.00", "+0.00"] and small[6:] == ["[-3.00, +6.00]", "3 of 4", "0"]
    assert large[2:5] == ["100.00", "97.00", "-3.00"] and large[6:] == ["[-4.00, -2.00]", "3 of 3", "1"]
    assert large[5] == "[-5.48, -0.52]"  # 3 +- t(0.975, 2) / sqrt(3)
    text = "\n".join(lines)
    assert (
        "4 sets of synthetic data; 500 and 1000 training points; 16 fits, 2 not converged, 1 failed" in text
    )
    assert text.rstrip().endswith("Made by nobody.") and "nan" not in text


@pytest.mark.usefixtures("undrawn")
def test_one_set_has_no_interval_and_no_numbers_are_no_row(table, tmp_path):
    one = table[table["split"] == 3]
    text = "\n".join(toy.section(one, []))
    assert "nan" not in text and "+6.00" in text
    draw(one, tmp_path / "figures")
    assert {path.stem for path in (tmp_path / "figures").glob("*.png")} == {"figure8", "figure9"}


@pytest.mark.usefixtures("undrawn")
def test_figures_hold_the_numbers(table, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr(toy, "_dots", lambda axes, x, y, *kind: shown.append((list(x), list(y))))
    draw(table, tmp_path / "figures")
    drawn = list((tmp_path / "figures").glob("*.png"))
    assert {path.stem for path in drawn} == {"figure8", "figure9", "figure10"}
    assert all(path.with_suffix(".pdf").is_file() for path in drawn)
    assert len(shown) == 3 * 2 * 2 + 2 * 2 * 2
    (x, y), (again, moved) = shown[:2]
    assert again == x == [0.2] * 4
    np.testing.assert_allclose(y, [0.198, 0.196, 0.194, 0.212])
    np.testing.assert_allclose(moved, [-1.0, -2.0, -3.0, 6.0])
    train, test = shown[12:14]
    assert sorted(train[0]) == [1, 2, 3, 4] and train[1] == [0.01] * 4
    assert [value for _, value in sorted(zip(*test, strict=True))] == sorted(test[1])


def test_nothing_is_drawn_without_a_number(tmp_path):
    failed = TOY.frame(line(0, 500, name, None, "failed") | {"run": "r"} for name in ("true", "learned"))
    draw(failed, tmp_path / "figures")
    assert not (tmp_path / "figures").exists()
