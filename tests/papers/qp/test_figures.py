"""Counts printed into the variance figures, and the figures as files."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from papers.core import style
from papers.qp import figures, pairs
from papers.qp.fit_rows import NO_PAIR as NONE
from papers.qp.records import VARIANCES

PAIR = {"pair": "ep-tune", "n_above": 0, "ratio_min": 0.8, "ratio_median": 0.9, "ratio_max": 1.0}


def trio(line, fold, ep="1", qp="1", **qp_changes):
    """Lines of one fold; ``ep`` and ``qp`` are lengthscales, the first tuning's is 1."""
    return [
        line(method="ep-tune", fold=fold, lengthscale="1"),
        line(method="ep", fold=fold, lengthscale=ep),
        line(method="qp", fold=fold, lengthscale=qp, **{**PAIR, **qp_changes}),
    ]


def points_of(*points):
    """Matched variances: (reference, v_ep, v_qp)."""
    names = (*VARIANCES.columns, "run")
    rows = [("as-released", "wine12", 0, 0, *point, "a-run") for point in points]
    return VARIANCES.frame(dict(zip(names, row, strict=True)) for row in rows)


def test_counts_are_over_every_fold(line, unconverged, failed, frame):
    lines = [
        *trio(line, 0, n_above=1),
        *trio(line, 1, ep="1.00000001"),  # has not moved
        *trio(line, 2, ep="2"),  # moved, and has a main pair too
        *trio(line, 3, ep="2", qp="3", **NONE),  # moved only
        *trio(line, 4, **NONE),  # unpaired
        failed(method="qp", fold=5),
        line(method="ep", fold=5),
        line(method="ep", fold=6),
        *trio(line, 7)[1:],
        unconverged(method="ep-tune", fold=7),
        unconverged(method="qp", fold=8, **PAIR),
        line(method="ep-tune", fold=8),
        line(method="vb", fold=9),
        *trio(lambda **where: line(dataset="wine13", **where), 0),
    ]
    found = pairs.counts(frame(lines), ["wine12"])
    assert (found.n_folds, found.n_points, found.n_not_above) == (5, 10, 9)
    assert (found.n_moved, found.n_unpaired, found.n_unconverged) == (2, 3, 2)


def test_coal_never_moves(line, frame):
    lines = [
        line(dataset="coal", method="ep", lengthscale="9"),
        line(dataset="coal", method="qp", **{**PAIR, "pair": "ep"}),
    ]
    found = pairs.counts(frame(lines), ["coal"])
    assert (found.n_folds, found.n_moved, found.n_unpaired) == (1, 0, 0)


def test_lengthscales_a_dimension_are_compared(line, frame):
    for ep, moved in (("1:2", 0), ("1:3", 1)):
        lines = frame(trio(line, 0, ep=ep, qp="1:2"))
        assert pairs.counts(lines, ["wine12"]).n_moved == moved


def test_counts_of_nothing(line, frame):
    empty = pairs.counts(frame([line(method="vb")]), ["wine12"])
    assert empty == pairs.Counts(0, 0, 0, 0, 0, 0)
    with pytest.raises(ValueError, match="of one protocol, not of as-released, corrected"):
        pairs.counts(frame([line(), line(protocol="corrected")]), ["wine12"])


def test_qp_not_above_ep_allows_rounding_only(record):
    ep = record(method="ep", latent_variance=[1.0] * 4)
    qp = record(method="qp", latent_variance=[0.5, 1 + 5e-10, 1 + 2e-9, 2.0])
    found = pairs.with_pairs(qp, [ep])["pair"]
    assert found["n_above"] == 2 and (found["ratio_min"], found["ratio_max"]) == (0.5, 2.0)


@pytest.mark.parametrize(
    ("n", "n_not_above", "percent"),
    [(4, 4, "100"), (4, 3, "75.00"), (100_000, 99_999, "99.99"), (4, 0, "0.00")],
)
def test_a_share_is_100_per_cent_only_when_it_is(n, n_not_above, percent):
    assert f"{percent} % of n = {n:,}" in figures.share(n_not_above, n)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (1.0, 1.0, 0.0),
        (1.0, 2.0, 0.5),
        ([1.0, 4.0], [1.0, 3.0], 0.25),
        ([1.0, 4.0], 1.0, np.inf),
    ],
)
def test_relative_difference(first, second, expected):
    fits = [{"hyperparameters": {"variance": 1.0, "lengthscale": scale}} for scale in (first, second)]
    assert pairs.relative_difference(*fits) == expected


def texts(monkeypatch):
    """Texts of the figures saved from here on."""
    found = []

    def save(figure, path_stem):
        for axes in figure.axes:
            found.extend(text.get_text() for text in axes.texts)
            found.extend(label.get_text() for label in axes.get_yticklabels())
            if axes.get_legend():
                found.extend(text.get_text() for text in axes.get_legend().get_texts())
        return path_stem, path_stem

    monkeypatch.setattr(style, "save", save)
    return found


def test_shares_are_of_every_seed_and_the_figure_says_what_it_draws(line, frame, monkeypatch, tmp_path):
    lines = [
        changed
        for seed in range(7)
        for changed in trio(lambda **w: line(seed=seed, **w), 0, ep="2", n_above=seed == 6)  # noqa: B023
    ]
    found = texts(monkeypatch)
    points = points_of(("main", 1.0, 0.9), ("main", 4.0, 3.0), ("moved", 5.0, 3.0))
    figures.predictive_variances(frame(lines), points, ["wine12"], tmp_path / "v", "Title")
    shown = "\n".join(found)
    assert "Equal hyperparameters (7 folds)" in shown
    assert "92.85 % of n = 14" in shown
    assert "EP tuned again, as reported (7 folds)\n" + figures.share(1, 1) + " shown" in shown
    assert "points of seeds 0 are drawn, 0-6 counted" in shown
    found.clear()
    coal = [trio(lambda seed=seed, **w: line(seed=seed, dataset="coal", **w), 0) for seed in (0, 1)]
    above = points_of(("main", 1.0, 0.9), ("moved", 5.0, 5.1), ("moved", 5.0, 3.0))
    figures.predictive_variances(
        frame([*lines, *coal[0], *coal[1]]), above, ["wine12", "coal"], tmp_path / "v", "Title"
    )
    assert "points of seeds 0 are drawn, 0-1 counted, more of some sets" in found
    assert any(figures.share(1, 2) + " shown" in text for text in found)
    found.clear()
    figures.predictive_variances(frame(lines[:3]), points, ["wine12"], tmp_path / "v", "Title")
    assert "drawn" not in "\n".join(found)


def test_moved_points_are_seen_beneath_and_beside_the_others(line, frame, monkeypatch):
    kept = []
    monkeypatch.setattr(style, "save", lambda figure, stem: kept.append(figure) or (stem, stem))
    points = points_of(("main", 1.0, 0.9), ("main", 4.0, 3.0), ("moved", 5.0, 3.0))
    figures.predictive_variances(frame(trio(line, 0, ep="2")), points, ["wine12"], "x", "Title")
    upper, main, moved = kept[0].axes
    dots, rings = upper.lines[:2]
    assert rings.get_markersize() > dots.get_markersize() and rings.get_zorder() < dots.get_zorder()
    assert rings.get_markerfacecolor() == "none"
    np.testing.assert_allclose(main.lines[1].get_ydata(), [-10, -25])
    np.testing.assert_allclose(moved.lines[1].get_ydata(), [-40])
    assert main.get_ylim() == moved.get_ylim() and main.get_ylim()[0] < -40


def test_rows_with_fewer_seeds_than_the_papers_say_so(table, monkeypatch, tmp_path):
    found = texts(monkeypatch)
    figures.figure_table1(table, tmp_path / "t")
    assert {"Wine1\n(seeds: 2/1/2)", "Wine2\n(seeds: 2)", "Mining\n(seeds: 1)"} <= set(found)
    found.clear()
    figures.figure_table1(table.assign(n_seeds=200), tmp_path / "t")
    assert {"Wine1", "Wine2", "Mining"} <= set(found)


def test_a_legend_of_every_method_is_not_cut(table, monkeypatch, tmp_path):
    boxes = []

    def save(figure, path_stem):
        figure.draw_without_rendering()
        boxes.append((figure.get_tightbbox().extents, figure.get_size_inches()))
        return path_stem, path_stem

    monkeypatch.setattr(style, "save", save)
    released = table[table["method"] == "vb-joint"].assign(method="vb-joint-released")
    figures.figure_table1(pd.concat([table, released]), tmp_path / "t")
    [((left, low, right, high), (width, height))] = boxes
    assert min(left, low, width - right, height - high) > -0.02  # inches


def test_figures_are_the_same_bytes_twice(line, frame, table, tmp_path):
    points = points_of(("main", 1.0, 0.9), ("main", 4.0, 3.0), ("moved", 5.0, 3.0))
    for stem in ("a", "b"):
        figures.predictive_variances(
            frame(trio(line, 0)), points, ["wine12"], tmp_path / f"v.{stem}", "Title"
        )
        figures.figure_table1(table, tmp_path / f"t.{stem}")
    for name in ("v", "t"):
        for suffix in ("pdf", "png", "csv"):
            first, second = (tmp_path / f"{name}.{s}.{suffix}" for s in ("a", "b"))
            assert first.read_bytes() == second.read_bytes()
            assert b"CreationDate" not in first.read_bytes()
    assert len(list(tmp_path.glob("[vt].*"))) == 12


def test_only_moved_points_can_be_drawn(line, frame, tmp_path):
    lines = frame(trio(line, 0, ep="2", qp="3", **NONE))
    figures.predictive_variances(lines, points_of(("moved", 1.0, 0.9)), ["wine12"], tmp_path / "v", "Title")
    assert (tmp_path / "v.png").stat().st_size > 0


def test_the_style_is_restored():
    import matplotlib

    before = dict(matplotlib.rcParams)
    with style.applied():
        assert matplotlib.rcParams["svg.hashsalt"] == "tilted"
    assert dict(matplotlib.rcParams) == before


def test_importing_the_room_is_cheap():
    code = (
        "import sys\n"
        "from papers.qp import artifacts, jobs\nfrom papers.core import store\n"
        "print(sorted({'matplotlib', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.strip() == "[]"
