"""The record of the digits: folding in, what it refuses, times, ends, the claim, tables and figures."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers.core import records, store
from papers.pep import artifacts, digits
from papers.pep.digits import RUN
from papers.pep.records import DIGITS, REGRESSION

PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"
STAMP = {"commit": "5e1", "version": "0.2.0", "protocol": "", "environment": "python 3", "date": "2026-01-02"}
STEPS = (1, 10, 100)


def measurements(alpha=0.5, m=100, seed=0, pace=1.0, errors=(0.1, 0.04, 0.02), failed=(), steps=STEPS):
    """Lines of a run, ``pace`` seconds a step."""
    for step, error in zip(steps, errors, strict=True):
        line = dict(zip(RUN, ("mnist", alpha, m, seed), strict=True)) | {"steps": steps[-1], "step": step}
        line |= {"seconds": pace * step, "error": error, "log_likelihood": -3 * error, "energy": -9.0 * step}
        line |= {"variance": 4.0, "lengthscale": 6.0, "skipped": step, "refused": 1}
        line |= {"outcome": "ok", "message": ""}
        if step in failed:
            line |= dict.fromkeys(("error", "log_likelihood", "energy"))
            line |= {"outcome": "failed", "message": "lost"}
        yield {name: line[name] for name in DIGITS.columns}


@pytest.fixture
def fold(tmp_path):
    """Function of runs (dictionaries for `measurements`) and a day; what changed, and the record."""

    def into(*runs, date="2026-01-02"):
        paths = []
        for k, run in enumerate(runs):
            path = tmp_path / "data/fits/mnist" / date / f"{k}.jsonl.gz"
            lines = ({**line, "run": {**STAMP, "date": date}} for line in measurements(**run))
            paths.append(store.write_records(path, lines))
        return records.collect(paths, tmp_path)[DIGITS.file], records.load(DIGITS, tmp_path)

    return into


GRID = [
    {"alpha": alpha, "seed": seed, "pace": 1.0 + 0.1 * seed + alpha}
    for alpha in (0.0, 1.0)
    for seed in (0, 1)
]


def test_runs_are_replaced_whole_by_a_longer_one_of_a_later_day(fold):
    change, first = fold(*GRID)
    assert change == (4, 0, 0, 0) and len(first) == 12
    longer = {"alpha": 0.0, "seed": 1, "steps": (1, 1000), "errors": (0.2, 0.1)}
    change, table = fold(longer, date="2025-12-31")
    assert change == (0, 0, 0, 1) and table.equals(first)
    change, table = fold(longer, {"m": 200}, date="2026-01-03")
    assert change == (1, 1, 0, 0)
    assert table.groupby(list(RUN)).size().tolist() == [3, 2, 3, 3, 3]
    change, _ = fold({**longer, "steps": (1, 20)}, date="2026-01-04")
    assert change == (0, 0, 0, 1)


def test_ends_and_times_of_what_did_not_fail(fold):
    late = {"seed": 2, "errors": (0.2, 0.06, 0.035), "pace": 3.0}
    _, table = fold({"pace": 1.0}, {"seed": 1, "pace": 2.0}, late, {"seed": 3, "failed": (100,)}, {"m": 200})
    first, second = digits.ends(table).itertuples()
    assert (first.alpha, first.m, first.steps, first.n_runs, first.n_failed) == ("0.5", 100, 100, 4, 1)
    assert (first.seconds, first.seconds_least, first.seconds_most) == (200.0, 100.0, 300.0)
    np.testing.assert_allclose([first.error, first.error_least, first.error_most], [0.025, 0.02, 0.035])
    np.testing.assert_allclose([first.log_likelihood, first.log_likelihood_least], [-0.075, -0.105])
    runs = table[table["m"] == 100]
    assert digits.times(runs, 0.05).tolist() == [10.0, 20.0, 300.0, 10.0]
    assert (first.n_to_5_percent, first.seconds_to_5_percent) == (4, 15.0)
    assert (first.n_to_3_percent, first.seconds_to_3_percent) == (2, 150.0)
    assert (first.skipped, first.refused) == (400, 4)
    assert (second.m, second.n_runs, second.n_failed) == (200, 1, 0)


def test_a_mean_curve_is_of_all_seeds(fold):
    _, table = fold({"pace": 1.0}, {"seed": 1, "pace": 3.0, "errors": (0.2, 0.1, 0.04), "failed": (10,)})
    curve = digits.curve(table, "error")
    assert curve.index.tolist() == [1, 100]
    np.testing.assert_allclose(curve["seconds"], [2.0, 200.0])
    np.testing.assert_allclose(curve["error"], [0.15, 0.03])


def test_the_figures_claim_is_not_testable_and_what_stands_beside_it_can_go_either_way(fold):
    runs = [{"alpha": a, "seed": s, "pace": 1.0 + a * (s + 0.2)} for a in (0.0, 1.0) for s in (0, 1, 2)]
    slow = [{"alpha": 0.5, "seed": 0, "pace": 1.4}, {"alpha": 0.5, "seed": 1, "pace": 1.5}]
    _, table = fold(*runs, *slow, {"alpha": 0.8}, {"alpha": 0.5, "m": 200})
    shown, beside = digits.minibatches(table)
    assert shown.verdict == "not testable" and shown.rows() == {"M = 100": "no data", "M = 200": "no data"}
    assert beside.rows() == {
        "M = 100, α = 0.5": "yes",
        "M = 100, α = 0.8": "no data",
        "M = 100, α = 1": "no",
        "M = 200, α = 0.5": "no data",
    }
    line = next(line for line in beside.lines if line.row == "M = 100, α = 1")
    assert line.effect == pytest.approx(2.2) and (line.sample.low, line.sample.high) == (1.2, 3.2)
    assert line.n == 3


def test_a_power_that_never_gets_there_is_not_as_fast(fold):
    never = {"alpha": 1.0, "errors": (0.2, 0.1, 0.04)}
    _, table = fold({"alpha": 0.0}, {"alpha": 0.0, "seed": 1}, never, {**never, "seed": 1})
    five, three, *others = digits.minibatches(table)[1].lines
    assert {(line.row, line.sample.status, line.note) for line in others} == {
        ("M = 200", "no data", "not run")
    }
    assert (five.sample.status, five.effect) == ("no", 10.0)
    assert (three.sample.status, three.effect, three.note) == ("no", math.inf, "2 never got there")


def test_a_seed_where_vb_never_gets_there_is_left_out_and_said(fold):
    never = {"alpha": 0.0, "seed": 2, "errors": (0.2, 0.1, 0.06)}
    _, table = fold(
        never, *({"alpha": alpha, "seed": seed} for alpha, seed in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2)))
    )
    five, *_ = digits.minibatches(table)[1].lines
    assert (five.n, five.sample.status) == (2, "yes")
    assert five.note == "1 left out: α = 0 does not get there"


@pytest.mark.usefixtures("undrawn")
def test_tables_and_figures(fold, tmp_path):
    never = {"alpha": 1.0, "seed": 2, "errors": (0.2, 0.1, 0.06)}
    _, table = fold(*GRID, never, {"alpha": 1.0, "m": 200, "failed": (100,)})
    digits.write(table, ["Made by nobody."], tmp_path / "t")
    csv, page = (tmp_path / "t" / name for name in digits.TABLES)
    lines = pd.read_csv(csv)
    assert " ".join(lines.columns) == (
        "m alpha steps n_runs n_failed seconds_to_5_percent seconds_to_3_percent n_to_5_percent "
        "n_to_3_percent seconds error error_least error_most log_likelihood log_likelihood_least "
        "log_likelihood_most skipped refused"
    )
    assert lines["seconds_to_5_percent"].tolist()[:2] == pytest.approx([10.5, 20.5])
    assert lines["n_to_3_percent"].tolist() == [2, 2, 0] and np.isnan(lines["error"].iloc[2])
    text = page.read_text(encoding="utf-8")
    assert " nan" not in text and "(2 of 3)" in text and "never" in text
    assert "M = 200, α = 1, seed 0, step 100: lost" in text and "0 (VFE)" in text
    assert "M = 100, 100 steps: α = 0 (2 runs), 1 (3 runs); M = 200" in " ".join(text.split())
    for name, figure in digits.FIGURES.items():
        figure.draw(table, tmp_path / "f" / name)
        figure.draw(table[table["m"] == 100], tmp_path / "h" / name)
    assert {path.stem for path in (tmp_path / "f").glob("*.png")} == set(digits.FIGURES)
    assert list((tmp_path / "h").glob("*.png")) == [tmp_path / "h" / "figure31.png"]


@pytest.mark.usefixtures("undrawn")
def test_the_digits_join_the_paper(fits, put, fold, tmp_path):
    """Its chapter of the audit, its folder of figures, and what nobody should overlook."""
    fold(*GRID)
    put(tmp_path, REGRESSION, fits(datasets=("yacht",), alphas=("0",)))
    found = artifacts.write(tmp_path, tmp_path / "tables", tmp_path / "figures", PUBLISHED)
    assert (tmp_path / "figures/pep/figure31.png").is_file()
    assert all((tmp_path / "tables" / name).is_file() for name in digits.TABLES)
    assert [finding.id for finding in found.audit[0].findings][-1] == "PEP11"
    assert any("mnist.csv" in line for line in found.warnings)
