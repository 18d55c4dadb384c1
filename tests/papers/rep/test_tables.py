"""Tables of the relaxed-EP paper's studies, from made-up records."""

import pandas as pd
import pytest

from papers.rep import tables
from papers.rep.records import CHOICES, EPSILONS, FITS, POINTS, STUDIES

FIT = {
    "dataset": "heart",
    "flips": 0.0,
    "chosen_on": 0,
    "split": 0,
    "method": "ep",
    "value": 1.0,
    "lengthscale": 2.0,
    "epsilon": 0.1,
    "n_train": 80,
    "n_test": 40,
    "outcome": "converged",
    "sweeps": 5,
    "negative_sites": 0,
    "error": 0.2,
    "nll": 0.5,
    "seconds": 0.1,
    "reason": "",
}
CHOICE = {
    "dataset": "heart",
    "flips": 0.0,
    "split": 0,
    "method": "ep",
    "value": 1.0,
    "lengthscale": 2.0,
    "error": 0.25,
    "nll": 0.5,
}


def found(fits, choices=()):
    """Lines of every study; those that are not given are none."""
    made = {study: [] for study in STUDIES} | {FITS: fits, CHOICES: choices}
    return {
        study: study.frame({**dict.fromkeys(study.types, 0), **line} for line in lines)
        for study, lines in made.items()
    }


def test_failed_runs_are_counted_and_named_and_no_part_of_a_mean(tmp_path):
    failed = {"outcome": "failed", "error": None, "nll": None, "sweeps": 0, "reason": "a variance is lost"}
    lines = [FIT, {**FIT, "split": 1, "error": 0.3, "sweeps": 9, "outcome": "unsettled"}]
    lines += [{**FIT, "split": 2, **failed}]
    tables.write(found(lines), tmp_path, [])
    line = pd.read_csv(tmp_path / "rep_errors.csv").iloc[0]
    counts = ["n_fits", "n_converged", "n_diverged", "n_unsettled", "n_failed", "sweeps"]
    assert line[counts].tolist() == [3, 1, 0, 1, 1, 5]
    assert line["error"] == pytest.approx(0.25)
    text = (tmp_path / "rep.md").read_text(encoding="utf-8")
    assert "Heart, split 2, ep: a variance is lost" in text


def test_methods_stand_beside_one_another_at_ep_s_lengthscale():
    fits = [FIT, {**FIT, "method": "pep", "value": 0.8, "lengthscale": 4.0}]
    pep = {**CHOICE, "method": "pep", "value": 0.8}
    choices = [
        CHOICE,
        {**CHOICE, "lengthscale": 4.0, "error": 0.5},
        {**pep, "lengthscale": 4.0, "error": 0.125},
        {**pep, "error": 0.375},
        {**pep, "value": 0.5, "error": 0.3125},
        {**pep, "value": 0.9, "error": None},
        {**pep, "split": 1, "error": 0.0},
    ]
    text = tables.page(found(fits, choices), [])
    part = text[text.index("## All methods at EP's lengthscale") :].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in part if line.startswith("|")][2:]
    assert rows == [["Heart", "ep", "2", "25.00", "2", "25.00"], ["Heart", "pep", "4", "12.50", "2", "31.25"]]
    assert "at EP's lengthscale" not in tables.page(found(fits), [])


def test_errors_at_other_rates_are_relative_to_ep_s_at_the_same_rate():
    def line(method, value, mean, covariance, **others):
        errors = {"mean_error": mean, "covariance_error": covariance}
        return {"set": -1, "method": method, "value": value, "outcome": "converged", **errors, **others}

    ours = [line("exact", 1.0, 0.0, 0.0), line("ep", 1.0, 0.4, 0.2), line("pep", 0.8, 0.8, 0.1)]
    drawn = {"set": 3, "mean_error": 1e-9, "covariance_error": 1e-9}
    other = [
        line("exact", 1.0, 0.0, 0.0, epsilon=0.1),
        line("ep", 1.0, 0.2, 0.1, epsilon=0.1),
        line("pep", 0.5, 0.196, 0.05, epsilon=0.1),
        line("pep", 0.8, 0.18, 0.08, epsilon=0.1),
        line("pep", 0.9, 0.1, 0.2, epsilon=0.1),
        line("pep", 1.0, 1e-9, 1e-9, epsilon=0.1),
        line("rep-printed", 10.0, 0.1, 0.1, epsilon=0.1, outcome="unsettled"),
    ]
    frames = found([], ()) | {
        study: study.frame({**dict.fromkeys(study.types, 0), **one} for one in lines)
        for study, lines in {POINTS: [*ours, {**ours[2], **drawn}], EPSILONS: other}.items()
    }
    rows = [
        [cell.strip() for cell in row.split("|")[1:-1]]
        for row in tables._rates(frames[POINTS], frames[EPSILONS])[6:]
    ]
    assert rows == [
        # at u = 0.5 the mean is nearer by 2 % only; at u = 1 it is EP
        ["0.1", "pep", "1 of 3", "0.5", "0.98", "0.50", "converged"],
        ["0.1", "rep-printed", "0 of 1", "10", "0.50", "1.00", "unsettled"],
        ["0.2", "pep", "0 of 1", "0.8", "2.00", "0.50", "converged"],
    ]
    assert tables._rates(frames[POINTS], EPSILONS.frame()) == []
