"""The record of the digits: folding in, what it refuses, times, ends, the claim, tables and figures."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tilted.experiments.mnist import COLUMNS, RUN
from tilted.results import plan, store, studies
from tilted.results.pep import artifacts, mnist, mnist_claims, mnist_figures, mnist_tables, records

PUBLISHED = Path(__file__).resolve().parents[3] / "data" / "published"
STAMP = {"source": "5e1", "choices": "", "date": "2026-01-02"}
STAMP["environment"] = {"python": "3", "numpy": "2", "scipy": "1", "cpu": "c"}
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
        yield {name: line[name] for name in COLUMNS}


@pytest.fixture
def fold(tmp_path):
    """Function of runs (dictionaries for `measurements`) and a day; the record they are folded into."""

    def into(*runs, date="2026-01-02", keep=True):
        paths = []
        for k, run in enumerate(runs):
            path = tmp_path / "fits" / date / f"{k}.jsonl.gz"
            lines = ({**line, "run": {**STAMP, "date": date}} for line in measurements(**run))
            paths.append(store.write_records(path, lines))
        return mnist.fold_in(paths, tmp_path / mnist.FILE, keep)

    into.path = tmp_path / mnist.FILE
    return into


GRID = [
    {"alpha": alpha, "seed": seed, "pace": 1.0 + 0.1 * seed + alpha}
    for alpha in (0.0, 1.0)
    for seed in (0, 1)
]


def test_runs_are_folded_in_whole_and_the_later_day_wins(fold):
    assert str(fold(*GRID)) == "4 runs added, 0 replaced, 0 kept"
    first = fold.path.read_bytes()
    longer = {"alpha": 0.0, "seed": 1, "steps": (1, 20), "errors": (0.2, 0.1)}
    assert str(fold(longer, date="2025-12-31")).endswith("older than the records")
    assert fold.path.read_bytes() == first
    assert str(fold(longer, {"m": 200})) == "1 runs added, 1 replaced, 3 kept"
    table = mnist.read(fold.path)
    assert table.groupby(list(RUN)).size().tolist() == [3, 2, 3, 3, 3]
    assert table["m"].tolist() == sorted(table["m"]) and set(table["date"]) == {"2026-01-02"}
    assert str(fold(*GRID, keep=False)) == "4 runs added, 0 replaced, 0 kept"
    assert fold.path.read_bytes() == first


def test_a_record_reads_back_as_written_and_says_by_which_source(fold):
    fold({"failed": (10,)}, {"seed": 1})
    table = mnist.read(fold.path)
    assert tuple(table.columns) == (*COLUMNS, "source", "date", "environment")
    assert table["error"].isna().tolist() == [False, True, False, False, False, False]
    assert mnist.encode(mnist._plain(table), "again").encode() == fold.path.read_bytes()
    (part,) = studies.made(mnist.FILE, table)
    assert (part.what, part.source) == ("mnist", "5e1") and part.today == studies.todays(mnist.FILE, "mnist")
    assert mnist.read(fold.path.with_name("nothing") / mnist.FILE) is None


@pytest.mark.parametrize(
    "change, message",
    [
        ({"error": 1.5}, "error is no share"),
        ({"error": None}, "scores do not agree with the outcome"),
        ({"outcome": "failed"}, "scores do not agree"),
        ({"outcome": "good"}, "unknown outcome"),
        ({"message": "why"}, "message does not agree"),
        ({"alpha": 1.5}, "alpha is no power"),
        ({"seconds": -1.0}, "no processor time"),
        ({"step": 101}, "a step beyond the last"),
        ({"step": 100}, "two lines of one measurement"),
        ({"steps": 200}, "lines of several runs mixed"),
        ({"source": "other"}, "lines of several runs mixed"),
        ({"dataset": "digits"}, "unknown data set"),
    ],
)
def test_what_contradicts_itself_is_refused(fold, change, message):
    fold({})
    lines = mnist._plain(mnist.read(fold.path))
    lines[0] |= change
    with pytest.raises(store.RecordError, match=message):
        mnist.encode(lines, "here")


def test_a_damaged_record_is_named(fold):
    fold({})
    fold.path.write_text("alpha,m\n1,2\n", encoding="utf-8")
    with pytest.raises(store.RecordError, match="mnist.csv: no column"):
        mnist.read(fold.path)


def test_ends_and_times_of_what_did_not_fail(fold):
    late = {"seed": 2, "errors": (0.2, 0.06, 0.035), "pace": 3.0}
    fold({"pace": 1.0}, {"seed": 1, "pace": 2.0}, late, {"seed": 3, "failed": (100,)}, {"m": 200})
    first, second = mnist.ends(mnist.read(fold.path))
    assert (first.alpha, first.m, first.steps, first.n_runs, first.n_failed) == ("0.5", 100, 100, 4, 1)
    assert first.seconds.tolist() == [100.0, 200.0, 300.0]
    np.testing.assert_allclose(first.error, [0.02, 0.02, 0.035])
    np.testing.assert_allclose(first.log_likelihood, [-0.06, -0.06, -0.105])
    assert first.reached[0.05].tolist() == [10.0, 20.0, 300.0, 10.0]
    assert first.reached[0.03].tolist() == [100.0, 200.0]
    assert (first.skipped, first.refused) == (400, 4)
    assert (second.m, second.n_runs, second.n_failed) == (200, 1, 0)


def test_a_mean_curve_is_of_all_seeds(fold):
    fold({"pace": 1.0}, {"seed": 1, "pace": 3.0, "errors": (0.2, 0.1, 0.04), "failed": (10,)})
    curve = mnist.curve(mnist.read(fold.path), "error")
    assert curve.index.tolist() == [1, 100]
    np.testing.assert_allclose(curve["seconds"], [2.0, 200.0])
    np.testing.assert_allclose(curve["error"], [0.15, 0.03])


def test_the_figures_claim_is_not_testable_and_what_stands_beside_it_can_go_either_way(fold):
    (block,) = mnist_claims.minibatches(None)
    assert block.verdict == "not testable" and "mnist.csv" in block.remark
    runs = [{"alpha": a, "seed": s, "pace": 1.0 + a * (s + 0.2)} for a in (0.0, 1.0) for s in (0, 1, 2)]
    slow = [{"alpha": 0.5, "seed": 0, "pace": 1.4}, {"alpha": 0.5, "seed": 1, "pace": 1.5}]
    fold(*runs, *slow, {"alpha": 0.8}, {"alpha": 0.5, "m": 200})
    shown, beside = mnist_claims.minibatches(mnist.read(fold.path))
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
    fold({"alpha": 0.0}, {"alpha": 0.0, "seed": 1}, never, {**never, "seed": 1})
    five, three, *others = mnist_claims.minibatches(mnist.read(fold.path))[1].lines
    assert {(line.row, line.sample.status, line.note) for line in others} == {
        ("M = 200", "no data", "not run")
    }
    assert (five.sample.status, five.effect) == ("no", 10.0)
    assert (three.sample.status, three.effect, three.note) == ("no", math.inf, "2 never got there")


def test_a_seed_where_vb_never_gets_there_is_left_out_and_said(fold):
    never = {"alpha": 0.0, "seed": 2, "errors": (0.2, 0.1, 0.06)}
    fold(never, *({"alpha": alpha, "seed": seed} for alpha, seed in ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2))))
    five, *_ = mnist_claims.minibatches(mnist.read(fold.path))[1].lines
    assert (five.n, five.sample.status) == (2, "yes")
    assert five.note == "1 left out: α = 0 does not get there"


def test_tables_and_figures(fold, tmp_path):
    never = {"alpha": 1.0, "seed": 2, "errors": (0.2, 0.1, 0.06)}
    fold(*GRID, never, {"alpha": 1.0, "m": 200, "failed": (100,)})
    table = mnist.read(fold.path)
    csv, page = mnist_tables.write(table, tmp_path / "t")
    lines = pd.read_csv(csv)
    assert tuple(lines.columns) == mnist_tables.COLUMNS
    assert lines["seconds_to_5_percent"].tolist()[:2] == pytest.approx([10.5, 20.5])
    assert lines["n_to_3_percent"].tolist() == [2, 2, 0] and np.isnan(lines["error"].iloc[2])
    text = page.read_text(encoding="utf-8")
    assert " nan" not in text and "(2 of 3)" in text and "never" in text
    assert "M = 200, α = 1, seed 0, step 100: lost" in text and "0 (VFE)" in text
    assert "M = 100, 100 steps: α = 0 (2 runs), 1 (3 runs); M = 200" in " ".join(text.split())
    drawn = mnist_figures.write(table, tmp_path / "f")
    assert [path.stem for path in drawn] == list(mnist_figures.CAPTIONS)
    before = drawn[0].read_bytes()
    assert mnist_figures.write(table, tmp_path / "g")[0].read_bytes() == before
    assert mnist_figures.write(table[table["m"] == 100], tmp_path / "h") == [tmp_path / "h" / "figure31.png"]


def test_the_plan_takes_the_seconds_of_a_step(fold, tmp_path):
    fold(*GRID, {"alpha": 1.0, "seed": 2, "pace": 9.0, "steps": (1,), "errors": (0.1,)})
    planned = [("a", 0, 100, 50), ("b", 1, 100, 50), ("c", 0.2, 100, 50), ("d", 0, 200, 50)]
    jobs = plan.digits_jobs(planned, tmp_path)
    assert [job.seconds for job in jobs[:3]] == pytest.approx([50 * 1.05, 50 * 13.1 / 3, 50 * 15.2 / 5])
    assert jobs[3].seconds is None and [job.fits for job in jobs] == [1] * 4
    assert plan.digits_jobs(planned, tmp_path / "nowhere")[0].seconds is None


def test_the_digits_join_the_paper(fits, fold, tmp_path):
    """Its chapter of the audit, its folder of figures, the report, and what nobody should overlook."""
    fold(*GRID)
    records.write_records(tmp_path / records.REGRESSION.file, fits(datasets=("yacht",), alphas=("0",)))
    found = artifacts.write(tmp_path, tmp_path / "tables", tmp_path / "figures", PUBLISHED)
    digits = found.report[-1]
    assert digits.title == mnist_tables.TITLE and len(digits.tables[0].rows) == 2
    assert [figure.path for figure in digits.figures] == [tmp_path / "figures/pep/figure31.png"]
    assert all((tmp_path / "tables" / name).is_file() for name in mnist_tables.NAMES)
    assert [finding.id for finding in found.audit[0].findings][-1] == "PEP11"
    assert any("mnist.csv" in line for line in found.loud)


def test_the_digits_alone_have_their_tables(fold, tmp_path):
    fold(*GRID)
    found = artifacts.write(tmp_path, tmp_path / "tables", tmp_path / "figures", PUBLISHED)
    assert [part.title for part in found.report] == [mnist_tables.TITLE] and len(found.audit) == 1
    assert {path.name for path in (tmp_path / "tables").iterdir()} == set(mnist_tables.NAMES)
