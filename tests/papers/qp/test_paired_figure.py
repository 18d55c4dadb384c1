"""The figure of paired differences draws the numbers it says it draws."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from papers.core import statistics, style
from papers.qp import figures
from papers.qp.pairs import paired

GAPS = {"ep": (6e-4, 1e-4), "ep-tune": (4e-4, 1e-4), "vb-joint": (5e-2, 1e-3), "vb": (-2e-3, 1e-3)}


@pytest.fixture
def drawn(monkeypatch):
    """The figure that would have been saved."""
    kept = []
    monkeypatch.setattr(style, "save", lambda figure, stem: kept.append(figure) or (stem, stem))
    return kept


def test_markers_are_means_and_lines_the_generalising_interval(fits, drawn):
    frame = fits(rows=("crabs", "coal"), ntll=GAPS)
    figures.paired_differences(frame, "x", "title")
    left, right = drawn[0].axes
    assert [t.get_text() for t in left.get_yticklabels()] == ["Crabs", "Mining"]
    means = [
        [bar[0].get_xdata()[0] for bar in axes.containers if hasattr(bar, "has_xerr")]
        for axes in (left, right)
    ]
    assert means[0] == pytest.approx([0.6, 0.6, 0.4, 0.6])  # the coal pair is EP as reported
    assert means[1] == pytest.approx([0.6 - 50, 0.6 - 50, 0.6 + 2, 0.6 + 2])
    scores = paired(frame, "ep", "qp", "ntll")["crabs"]
    general = statistics.corrected_resampled_t(scores.differences.ravel(), 90, 10)
    first = next(bar for bar in left.containers if hasattr(bar, "has_xerr"))
    ends = first[2][0].get_segments()[0][:, 0]
    np.testing.assert_allclose(ends, [1000 * end for end in general.interval()])
    (spread,) = [p for p in left.patches if p.get_x() == pytest.approx(0.6 - 0.1 * (7 / 8) ** 0.5)][:1]
    assert spread.get_width() == pytest.approx(0.2 * (7 / 8) ** 0.5)
    heights = [bar[0].get_ydata()[0] for bar in left.containers if hasattr(bar, "has_xerr")]
    assert heights == pytest.approx([-0.175, 0.825, 0.175, 1.175])  # around 0 and 1, the rows
    assert [p.get_height() for p in left.patches if p.get_width() == spread.get_width()][0] < 0.35
    assert left.get_ylim() == (1.5, -0.5)  # the table's order from above
    ticks = dict(zip(right.get_xticks(), (t.get_text() for t in right.get_xticklabels()), strict=True))
    powers = {1: "$1$", 10: "$10$", 100: "$10^2$"}
    assert ticks == {0: "0", **powers, **{-x: f"$-{text[1:]}" for x, text in powers.items()}}
    assert right.get_xlim()[0] == -right.get_xlim()[1]
    labels = [text.get_text() for text in drawn[0].legends[0].get_texts()]
    assert labels[:2] == ["QP, EP as reported", "QP, equal hyperparameters"]


def test_methods_not_run_are_not_drawn(fits, drawn):
    frame = fits("corrected", methods=("ep", "qp"), rows=("crabs", "glass"), ntll={"ep": (1e-3, 1e-4)})
    frame["pair"] = frame["pair"].replace("ep-tune", "ep")
    figures.paired_differences(frame, "x", "title")
    left, right = drawn[0].axes
    assert len([bar for bar in left.containers if hasattr(bar, "has_xerr")]) == 2 and not right.containers


def test_every_point_says_what_it_rests_on(fits, drawn):
    frame = fits(rows=("crabs", "glass", "coal"), ntll=GAPS)
    fewer = (frame["method"] == "vb") & (frame["dataset"] == "glass") & (frame["seed"] > 2)
    absent = (frame["method"] == "vb-joint") & (frame["dataset"] == "coal")
    figures.paired_differences(frame[~fewer & ~absent], "x", "title")
    left, right = ([text.get_text() for text in axes.texts] for axes in drawn[0].axes)
    whole = ["8 × 10", "8 × 10", "8 × 1"]
    assert left == [*whole, *whole, "seeds × folds"]
    assert right == ["8 × 10", "8 × 10", "0", "8 × 10", "3 × 10", "8 × 1", "seeds × folds"]


@pytest.mark.parametrize(
    "reach, names",
    [(30.0, "-10 -1 0 1 10"), (300.0, "-100 -10 -1 0 1 10 100"), (3000.0, "-1000 -10 0 10 1000")],
)
def test_numbers_of_a_signed_axis_have_room(reach, names):
    axes = Figure().subplots()
    axes.set_xlim(-0.5 * reach, 0.5 * reach)
    style.signed_axis(axes, reach)
    assert [t.get_text() for t in axes.get_xticklabels() if t.get_text()] == names.replace(
        "-", "\N{MINUS SIGN}"
    ).split()
