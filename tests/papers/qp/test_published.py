"""The published numbers and the comparison with them."""

from pathlib import Path

import pytest

from papers.qp import published
from papers.qp.table1 import rows as table1

DATA = Path(__file__).parents[3] / "data" / "published"


def line_of(table, row, metric, method):
    found = table[(table["row"] == row) & (table["metric"] == metric) & (table["method"] == method)]
    assert len(found) == 1
    return found.iloc[0]


def test_the_committed_table_is_complete():
    cells, sizes, stars = published.read(DATA / "qp_table1.csv")
    assert len(cells) == 10 * 2 * 3
    assert {row for row, _, _ in cells} == set(published.ROWS.values())
    assert cells["Sonar", "NTLL", "vb-joint"] == (693.1, 0.0)
    assert cells["Mining", "TE", "ep"] == (118.6, 27.0)
    assert sizes["IonoS"] == (351, 34)
    assert len(stars) == 10 and sum(stars.values()) == 7
    assert not (stars["IonoS"] or stars["Crabs"] or stars["Mining"])
    assert (published.n_seeds("IonoS"), published.n_seeds("Mining"), published.n_seeds("pumps")) == (
        100,
        200,
        0,
    )


def test_deviation_is_in_published_standard_deviations(table):
    # ep: seed means 0.1 and 0.2, so 15.0 against 10.0 +- 2.0 and 150.0 against 200.0 +- 50.0
    error, density = (line_of(table, "Wine1", metric, "ep") for metric in ("TE", "NTLL"))
    assert error["mean"] == pytest.approx(15.0)
    assert error["deviation_sd"] == pytest.approx(2.5)
    assert density["deviation_sd"] == pytest.approx(-1.0)


def test_the_printed_vb_stands_beside_vb_joint_only(table):
    joint, vb = (line_of(table, "Wine1", "TE", m) for m in ("vb-joint", "vb"))
    assert (joint["published_mean"], joint["published_sd"]) == (14.0, 4.0)
    assert vb[["published_mean", "published_sd", "deviation_sd"]].isna().all()


def test_the_papers_vb_is_scored_as_the_released_code_does_where_it_was(line, frame, published_csv):
    joint = ["ep", "vb", "vb-joint", "vb-joint-released"]
    assert [published.paper_methods(joint[:n])[2] for n in (2, 3, 4)] == joint[1:]
    assert published.method_order(joint[::-1]) == ["ep", "vb-joint", "vb-joint-released", "vb"]
    means = table1.means(frame([line(dataset="coal", method="vb-joint-released", test_error=1.862)]))
    found = line_of(published.compare(means, published.read(published_csv)), "Mining", "TE", joint[-1])
    assert (found["published_mean"], found["deviation_sd"]) == (170.3, pytest.approx(1.0))


def test_a_published_sd_of_zero_gives_no_deviation(table):
    line = line_of(table, "Wine2", "TE", "ep")
    assert (line["published_mean"], line["published_sd"]) == (0.0, 0.0)
    assert line[["deviation_sd"]].isna().all()


def test_no_mean_of_ours_gives_no_deviation(failed, frame, published_csv):
    means = table1.means(frame([failed(dataset="coal")]))
    line = published.compare(means, published.read(published_csv)).iloc[0]
    assert line["published_mean"] == 118.6
    assert line[["mean", "deviation_sd"]].isna().all()
