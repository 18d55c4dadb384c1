"""Figures of the relaxed-EP paper: files where there are records, and numbers worked out by hand."""

import pandas as pd
import pytest

from papers.rep import figures, records
from papers.rep import points as rep_points
from papers.rep.figures import blobs, real, styles
from papers.rep.figures import points as points_figures
from papers.rep.fits import FAILED
from papers.rep.methods import METHODS as ALL_METHODS
from papers.rep.records import BOUNDARY, CHOICES, CURVES, EXACT, FITS, POINTS, STUDIES

METHODS = ("ep", "pep", "rep-printed")
OUTCOMES = ("converged", "diverged", "unsettled")


def fits(dataset="blobs", flips=(0.1, 0.2), splits=3, methods=METHODS, **changes):
    """Errors rise by 0.01 a split and by 0.02 a method; each split has its outcome."""
    return [
        {
            "dataset": dataset,
            "flips": rate,
            "chosen_on": 0,
            "split": split,
            "method": method,
            "value": 1.0,
            "lengthscale": 2.0,
            "epsilon": 0.1,
            "n_train": 80,
            "n_test": 40,
            "outcome": OUTCOMES[split % 3],
            "sweeps": 5 + split,
            "negative_sites": 0,
            "error": 0.1 + 0.01 * split + 0.02 * k,
            "nll": 0.3,
            "seconds": 0.1,
            "reason": "",
            **changes,
        }
        for rate in flips
        for split in range(splits)
        for k, method in enumerate(methods)
    ]


def frame(study, lines):
    return study.frame({"run": "", **line} for line in lines)


def named(columns, *values):
    return dict(zip(columns, values, strict=True))


def points(sets=(-1, 0, 1)):
    """EP's errors are 1; Power EP's 2 and 4 at either power; REP's 0.5, diverged at the smaller penalty."""
    tried = [("exact", 1.0, 0.0, "converged"), ("ep", 1.0, 1.0, "converged"), ("pep", 0.8, 2.0, "converged")]
    tried += [("pep", 0.5, 4.0, "converged"), ("rep-printed", 0.1, 0.5, "diverged")]
    tried += [("rep-printed", 1.0, 0.5, "converged")]
    return frame(
        POINTS,
        (
            named(POINTS.columns, n, method, value, outcome, 4, error, error, -1.0, error, 0.1)
            for n in sets
            for method, value, error, outcome in tried
        ),
    )


def boundary(flips=0.2):
    axis = (-1.0, 0.0, 1.0)
    return frame(
        BOUNDARY,
        (
            named(BOUNDARY.columns, flips, 0, method, 0.8, 1.5, outcome, 1, x, y, 0.5 + 0.2 * x)
            for method, outcome in (("bayes", ""), ("ep", "diverged"), ("pep", "converged"))
            for x in axis
            for y in axis
        ),
    )


def exact():
    values = ("converged", 0.1, 0.2, 0.01, 4, 100, 1.01, 50.0, 0.02, 1.0)
    return frame(
        EXACT,
        (
            named(EXACT.columns, flips, 0, 1.5, 400, method, 1.0, *values)
            for flips in (0.1, 0.2)
            for method in METHODS
        ),
    )


def everything():
    made = fits() + fits("heart", (0.0,)) + fits("spam", (0.0, 0.2))
    curves = [
        {**{name: line[name] for name in records.FIT}, "sweep": sweep, "change": 10.0**-sweep}
        for line in fits()
        for sweep in (1, 2, 3)
    ]
    return {
        FITS: frame(FITS, made),
        CURVES: frame(CURVES, curves),
        POINTS: points(),
        EXACT: exact(),
        BOUNDARY: boundary(),
        CHOICES: CHOICES.frame(),
    }


def names_of(frames, folder):
    """Figures drawn now from the rows of some studies, by name."""
    before = set(folder.iterdir())
    figures.draw({study: study.frame() for study in STUDIES} | frames, folder)
    drawn = {path for path in folder.iterdir() if path not in before}
    names = sorted(path.stem for path in drawn if path.suffix == ".png")
    for path in drawn if len(names) < len(figures.FIGURES) else ():
        path.unlink()
    return names


@pytest.mark.usefixtures("undrawn")
def test_every_figure_is_drawn_in_both_forms_and_has_a_caption(tmp_path):
    drawn = names_of(everything(), tmp_path)
    assert drawn == sorted(figures.FIGURES)
    assert all((tmp_path / f"{name}.pdf").is_file() for name in drawn)
    assert all(figure.caption.endswith(".") for figure in figures.FIGURES.values())


@pytest.mark.usefixtures("undrawn")
def test_a_figure_needs_its_own_part_of_a_record(tmp_path):
    assert names_of({}, tmp_path) == []
    assert names_of({FITS: frame(FITS, fits("heart", (0.0,)))}, tmp_path) == ["figure5"]
    assert names_of({FITS: frame(FITS, fits("spam", (0.1,)))}, tmp_path) == ["figure6"]
    assert names_of({FITS: frame(FITS, fits())}, tmp_path) == ["figure4"]
    assert names_of({POINTS: points((-1,))}, tmp_path) == ["figure1"]
    assert names_of({POINTS: points((0, 1))}, tmp_path) == ["figure1_sets"]
    assert names_of({BOUNDARY: boundary(flips=0.1)}, tmp_path) == []
    own = frame(FITS, fits("heart", (0.0,), chosen_on=1))
    assert names_of({FITS: own}, tmp_path) == []


@pytest.mark.usefixtures("undrawn")
def test_failed_fits_are_counted_and_do_not_stop_a_figure(tmp_path):
    lost = {"outcome": FAILED, "error": None, "nll": None, "sweeps": 0}
    made = [
        line | (lost if line["split"] == 0 and line["method"] != "ep" else {})
        for name, rates in (("blobs", (0.1,)), ("heart", (0.0,)), ("spam", (0.1,)))
        for line in fits(name, rates)
    ]
    table = frame(FITS, made)
    assert names_of({FITS: table}, tmp_path) == ["figure4", "figure5", "figure6"]
    heart = table[(table["dataset"] == "heart") & (table["method"] == "pep")]
    assert styles.counts(heart["outcome"]) == "0/1/1/1"


@pytest.mark.usefixtures("undrawn")
def test_a_method_without_two_scores_has_no_interval_but_is_counted(tmp_path):
    lost = {"outcome": FAILED, "error": None, "nll": None}
    made = fits("heart", (0.0,)) + fits("heart", (0.0,), methods=("rep-normalised",), **lost)
    table = real.of_sets(frame(FITS, made))
    own = table[table["method"] == "rep-normalised"]
    assert styles.counts(own["outcome"]) == "0/0/0/3"
    assert real.mean_error(own) is None
    assert real.differences(table, "rep-normalised") is None
    assert names_of({FITS: table}, tmp_path) == ["figure5"]
    assert names_of({FITS: frame(FITS, fits("heart", (0.0,), splits=1))}, tmp_path) == []


def test_differences_are_of_the_same_splits():
    made = frame(FITS, fits("heart", (0.0,), splits=4))
    made = made.drop(made.index[(made["method"] == "ep") & (made["split"] == 3)])
    over_splits, beyond = real.differences(made, "pep")
    assert over_splits.n == 3
    assert over_splits.mean == pytest.approx(0.02)
    assert beyond.standard_error >= over_splits.standard_error
    assert real.differences(made, "ep") is None


def test_errors_over_sets_are_divided_by_those_of_ep_on_the_same_set():
    table = points()
    table.loc[table["set"] == 1, ["mean_error", "covariance_error"]] *= 10.0
    found = points_figures.ratios(points_figures.of_random_sets(table))
    assert set(found["set"]) == {0, 1}
    ratio = found.groupby(["method", "value"])["mean_error"].agg(["min", "max"])
    assert ratio.loc[("pep", 0.5)].tolist() == [4.0, 4.0]
    assert ratio.loc[("rep-printed", 0.1)].tolist() == [0.5, 0.5]


def test_the_best_penalty_is_one_that_converged():
    table = points((-1,))
    table.loc[table["value"] == 0.1, "mean_error"] = 0.01
    assert points_figures.best(table[table["method"] == "rep-printed"])["value"] == 1.0
    assert points_figures.best(table[table["outcome"] == "diverged"]) is None


def test_a_boundary_is_turned_by_the_angle_of_its_weights():
    exact, other = pd.Series({"mean_0": -1.0, "mean_1": 0.0}), pd.Series({"mean_0": -1.0, "mean_1": -1.0})
    assert points_figures._turned(other, exact) == pytest.approx(45.0)
    assert points_figures._turned(exact, other) == pytest.approx(-45.0)


def test_looks_are_of_every_method_and_differ():
    assert set(ALL_METHODS) | {method for method, _ in rep_points.candidates()} == set(styles.STYLES)
    for part in zip(*styles.STYLES.values(), strict=True):
        assert len(set(part)) == len(styles.STYLES)


def test_titles_of_maps_say_how_a_run_ended():
    line = pd.Series({"value": 0.8, "lengthscale": 1.5, "outcome": "diverged", "sweeps": 1})
    assert blobs._ended("pep", line) == "Power EP\nu = 0.8, ℓ = 1.5\ndiverged, 1 sweep"
    assert blobs._ended("ep", line).startswith("EP\nℓ = 1.5\n")
