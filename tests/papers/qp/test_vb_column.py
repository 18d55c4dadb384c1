"""The VB column step by step: each step from its own records, and what clipping did fold by fold."""

import numpy as np
import pytest

from papers.qp import published
from papers.qp.table1 import vb_column

DERIVED = "as-released+vb-right-gradient"


@pytest.fixture
def fits(line, frame):
    """Two seeds of Wine1 by all steps (one by the right gradient); two of ten folds clipped."""
    lines = []
    for seed in range(2):
        for fold in range(10):
            clipped = fold < 2
            stable = {"seed": seed, "fold": fold, "test_error": 0.1, "ntll": 0.3 + 0.02 * seed}
            worse = stable | {"test_error": 0.6, "ntll": 0.8 + 0.02 * seed} if clipped else stable
            done = {"clipped": 5 * clipped, "retries": int(fold == 9)}
            lines += [
                line(method="vb-joint-released", **worse, **done),
                line(method="vb-joint", **stable, retries=0),
                line(method="vb", **stable | {"ntll": 0.2}),
            ]
            if seed == 0:
                lines.append(line(method="vb-joint", protocol=DERIVED, **stable | {"ntll": 0.25}))
    return frame(lines)


@pytest.fixture
def printed(published_csv):
    return published.read(published_csv)


def test_steps_have_their_own_means_seeds_and_deviations(fits, printed):
    table = vb_column.steps(fits, printed).set_index(["metric", "step"])
    assert list(table.loc["NTLL"].index) == list(vb_column.STEPS)
    assert set(table["row"]) == {"Wine1"}
    ntll = table.loc["NTLL"]
    # stable: 300 and 320; released: 0.2 * 500 more; printed 300 +- 20
    assert ntll["mean"].tolist() == pytest.approx([410.0, 310.0, 250.0, 200.0])
    assert ntll["sd"].tolist() == pytest.approx([10.0, 10.0, 0.0, 0.0])
    assert ntll["n_seeds"].tolist() == [2, 2, 1, 2]
    assert ntll["deviation_sd"].tolist() == pytest.approx([5.5, 0.5, -2.5, -5.0])
    assert table.loc["TE"]["mean"].tolist() == pytest.approx([20.0, 10.0, 10.0, 10.0])


def test_the_stable_step_is_of_the_same_fits(fits, printed):
    """A seed scored stably only enters no mean of the two scorings."""
    scored = fits[(fits["method"] != "vb-joint-released") | (fits["seed"] == 0)]
    table = vb_column.steps(scored, printed).set_index(["metric", "step"])
    ntll = table.loc["NTLL"]
    assert ntll["n_seeds"].tolist() == [1, 1, 1, 2]
    assert ntll["mean"].tolist() == pytest.approx([400.0, 300.0, 250.0, 200.0])


def test_folds_are_told_apart_by_what_was_done_to_them(fits):
    (row,) = vb_column.by_fold(fits).itertuples(index=False)
    assert (row.row, row.n_folds, row.jitter, row.clipped, row.moved) == ("Wine1", 20, 2, 4, 4)
    assert (row.te_clipped, row.ntll_clipped) == pytest.approx((50.0, 500.0))
    assert (row.te, row.ntll) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_the_share_of_clipped_folds_that_a_printed_mean_needs(fits):
    """Stable 310 on average, 500 more where clipped."""
    folds = vb_column.by_fold(fits)

    def needed(metric, printed, folds=folds):
        return vb_column.needed(folds, metric, printed).item()

    assert needed("NTLL", 410.0) == pytest.approx(0.2)
    assert needed("NTLL", 310.0) == pytest.approx(0.0)
    assert needed("TE", 35.0) == pytest.approx(0.5)
    # where the others are worse by 100 too: 310 + 100 (1 - w) + 500 w
    assert needed("NTLL", 510.0, folds.assign(ntll=100.0)) == pytest.approx(0.25)


def test_a_row_without_clipped_folds_has_no_mean_over_them(fits):
    fits["clipped"] = 0
    (row,) = vb_column.by_fold(fits).itertuples(index=False)
    assert np.isnan(row.te_clipped) and row.ntll == pytest.approx(100.0)


def test_the_page_and_the_figure(fits, printed, tmp_path):
    table = vb_column.steps(fits, printed)
    vb_column.figure(table, tmp_path / "vb_column", "Title")
    assert (tmp_path / "vb_column.png").is_file() and (tmp_path / "vb_column.csv").is_file()
    text = " ".join(vb_column.markdown(table, vb_column.by_fold(fits), printed).split())
    assert (
        "| Wine1 | 300.0 ± 20.0 | 410.0 ± 10.0 | 310.0 ± 10.0 | 250.0 ± - | 200.0 ± 0.0 | 2/2/1/2 |" in text
    )
    assert "| Wine1 | +1.50 | 0.00 | +5.50 | 0.50 | 2 |" in text
    assert "| Wine1 | 20 | 10.0 % | 20.0 % | 20.0 % | +50.0 | +500.0 | +0.0 | +0.0 |" in text
    assert "| Wine1 | 20.0 % | 8.0 % | -2.0 % |" in text  # 10 + 50 w = 14 and 310 + 500 w = 300
    assert vb_column.is_replayed(fits)
    assert not vb_column.is_replayed(fits[fits["method"] != "vb-joint-released"])
