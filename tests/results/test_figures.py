"""Matching of predictive variances, and the figures made from them."""

import subprocess
import sys

import numpy as np
import pytest

from tilted.results import figures, pairs, style

FIRST = {"variance": 1.0, "lengthscale": 2.0}
SECOND = {"variance": 2.0, "lengthscale": 2.0}


def trio(record, fold, qp, tune=None, ep=None, ep_at=FIRST, qp_at=FIRST, **where):
    """Records of one fold: first tuning, as reported, QP."""
    fits = [record(method="qp", fold=fold, latent_variance=qp, hyperparameters=qp_at, **where)]
    if tune is not None:
        fits.append(record(method="ep-tune", fold=fold, latent_variance=tune, **where))
    if ep is not None:
        fits.append(record(method="ep", fold=fold, latent_variance=ep, hyperparameters=ep_at, **where))
    return fits


def test_main_points_use_the_first_tuning(record):
    records = trio(record, 0, qp=[0.9, 3.0], tune=[1.0, 4.0], ep=[1.5, 5.0])
    found = pairs.variance_pairs(records, ["wine12"])
    np.testing.assert_array_equal(found.main.ep, [1.0, 4.0])
    np.testing.assert_array_equal(found.main.qp, [0.9, 3.0])
    assert (found.main.n_folds, found.moved.n, found.n_unpaired) == (1, 0, 0)


def test_a_moved_fold_is_drawn_twice(record):
    records = trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND)
    found = pairs.variance_pairs(records, ["wine12"])
    assert (list(found.main.ep), list(found.moved.ep)) == ([1.0], [0.5])
    assert list(found.main.qp) == list(found.moved.qp) == [0.9]
    assert (found.main.n_not_above, found.moved.n_not_above) == (1, 0)


def test_ep_as_reported_serves_when_it_has_not_moved(record):
    almost = {"variance": 1.0 + 1e-8, "lengthscale": 2.0}
    found = pairs.variance_pairs(trio(record, 0, qp=[0.9], ep=[1.0], ep_at=almost), ["wine12"])
    assert (found.main.n, found.moved.n) == (1, 0)
    elsewhere = trio(record, 0, qp=[0.9], tune=[7.0], ep=[1.0], ep_at=SECOND, qp_at=SECOND)
    found = pairs.variance_pairs(elsewhere, ["wine12"])
    assert (list(found.main.ep), found.moved.n) == ([1.0], 0)


def test_a_moved_fold_without_its_first_tuning_has_no_main_point(record):
    found = pairs.variance_pairs(trio(record, 0, qp=[0.9], ep=[1.0], ep_at=SECOND), ["wine12"])
    assert (found.main.n, found.moved.n, found.n_unpaired) == (0, 1, 0)


def test_coal_is_compared_as_reported(record):
    records = trio(record, 0, qp=[0.9], tune=[1.0], ep=[0.5], ep_at=SECOND, dataset="coal")
    found = pairs.variance_pairs(records, ["coal"])
    assert (list(found.main.ep), found.moved.n) == ([0.5], 0)


def test_points_are_matched_by_fold_whatever_the_order(record):
    records = [
        *trio(record, 1, qp=[20.0], tune=[21.0]),
        *trio(record, 0, qp=[10.0], tune=[11.0]),
        *trio(record, 0, qp=[30.0], tune=[31.0], seed=1),
        *trio(record, 0, qp=[5.0], tune=[6.0], dataset="pima"),
        *trio(record, 0, qp=[99.0], tune=[98.0], dataset="glass"),
    ]
    found = pairs.variance_pairs(records[::-1], ["wine12", "pima"])
    assert list(found.main.ep) == [11.0, 21.0, 31.0, 6.0]
    assert list(found.main.qp) == [10.0, 20.0, 30.0, 5.0]


def test_failed_and_unconverged_folds_are_counted(record, failed, unconverged):
    records = [
        *trio(record, 0, qp=[0.9, 1.0], tune=[1.0, 1.0]),
        *trio(record, 1, qp=[0.9, 1.0]),  # no EP fit at all
        failed(method="qp", fold=2), record(method="ep-tune", fold=2),
        unconverged(method="qp", fold=3), record(method="ep-tune", fold=3),
    ]  # fmt: skip
    found = pairs.variance_pairs(records, ["wine12"])
    assert (found.main.n_folds, found.n_unpaired, found.n_unconverged) == (2, 2, 1)


def test_qp_not_above_ep_allows_rounding_only():
    points = pairs.Points(np.ones(4), np.array([0.5, 1 + 5e-10, 1 + 2e-9, 2.0]), 1)
    assert points.n_not_above == 2


@pytest.mark.parametrize(
    ("n", "n_not_above", "percent"),
    [(4, 4, "100"), (4, 3, "75.00"), (100_000, 99_999, "99.99"), (4, 0, "0.00")],
)
def test_a_share_is_100_per_cent_only_when_it_is(n, n_not_above, percent):
    qp = np.where(np.arange(n) < n_not_above, 0.5, 2.0)
    assert f"{percent} % of n = {n:,}" in figures.share(pairs.Points(np.ones(n), qp, 1))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"a": 1.0}, {"a": 1.0}, 0.0),
        ({"a": 1.0}, {"a": 2.0}, 0.5),
        ({"a": [1.0, 4.0]}, {"a": [1.0, 3.0]}, 0.25),
        ({"a": [1.0, 4.0]}, {"a": 1.0}, np.inf),
        ({"a": 1.0}, {"b": 1.0}, np.inf),
        ({"a": 0.0}, {"a": 0.0}, 0.0),
    ],
)
def test_relative_difference(first, second, expected):
    assert pairs.relative_difference(first, second) == expected


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"method": "qp"}, "two records"),
        ({"method": "ep", "protocol": "corrected"}, "several protocols"),
        ({"method": "ep-tune", "latent_variance": [1.0]}, "different test points"),
        ({"method": "ep-tune", "latent_variance": [1.0, 0.0]}, "not positive"),
        ({"method": "ep-tune", "latent_variance": [1.0, float("nan")]}, "not positive"),
    ],
)
def test_records_that_cannot_be_matched_are_refused(record, extra, message):
    with pytest.raises(ValueError, match=message):
        pairs.variance_pairs([record(method="qp"), record(**extra)], ["wine12"])


@pytest.fixture
def variances(record):
    return trio(record, 0, qp=[0.9, 3.0], tune=[1.0, 4.0], ep=[1.5, 5.0], ep_at=SECOND)


def test_figures_are_the_same_bytes_twice(variances, table, tmp_path):
    for stem in ("a", "b"):
        figures.predictive_variances(variances, ["wine12"], tmp_path / f"v.{stem}", "Title")
        figures.figure_table1(table, tmp_path / f"t.{stem}")
    for name in ("v", "t"):
        for suffix in ("pdf", "png"):
            first, second = (tmp_path / f"{name}.{s}.{suffix}" for s in ("a", "b"))
            assert first.read_bytes() == second.read_bytes()
            assert b"CreationDate" not in first.read_bytes()
    assert len(list(tmp_path.glob("[vt].*"))) == 8


def test_only_moved_points_can_be_drawn(record, tmp_path):
    records = trio(record, 0, qp=[0.9], ep=[1.0], ep_at=SECOND)
    figures.predictive_variances(records, ["wine12"], tmp_path / "v", "Title")
    assert (tmp_path / "v.png").stat().st_size > 0


def test_nothing_to_draw_is_an_error(record, failed, table, tmp_path):
    with pytest.raises(ValueError, match="no fold of wine12"):
        figures.predictive_variances([failed(method="qp")], ["wine12"], tmp_path / "v", "T")
    with pytest.raises(ValueError, match="nothing to draw"):
        figures.figure_table1(table[table["method"] == "vb"], tmp_path / "t")
    with pytest.raises(ValueError, match="one protocol"):
        two = table.assign(protocol=["as-released", "corrected"] * (len(table) // 2))
        figures.figure_table1(two, tmp_path / "t")
    assert not list(tmp_path.glob("[vt].*"))


def test_the_style_is_restored():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style.applied():
        assert matplotlib.rcParams["svg.hashsalt"] == "tilted"
    assert dict(matplotlib.rcParams) == before


def test_importing_the_room_is_cheap():
    code = (
        "import sys\n"
        "from tilted.results import aggregate, figures, published, report, store, tables\n"
        "print(sorted({'pandas', 'matplotlib', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "[]"
