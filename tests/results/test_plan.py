"""The plan: what jobs cost, from planted costs."""

import numpy as np
import pytest

from tilted.experiments import pep_toy
from tilted.results import compact, plan, resources, stamps, store, studies
from tilted.results.collect import Collected, no_variances
from tilted.results.merge import save
from tilted.results.pep import records, toy
from tilted.results.rep import records as relaxed
from tilted.results.runs import Runs
from tilted.results.store import RecordError

SIZES = {"boston": 455, "concrete": 927, "wine_red": 1439}


def cost(n, m):
    """Seconds of an evaluation, M = 0 being exact regression."""
    return 1e-9 * n**3 if m == 0 else 2e-8 * n * m + 3e-9 * n * m**2


@pytest.fixture
def measured():
    """Records whose evaluations are 100 log2(M) for alpha = 0 and three times as many for 1."""
    lines = []
    for dataset, n in SIZES.items():
        for m, alpha in [(m, alpha) for m in (8, 32, 128) for alpha in ("0", "1")] + [(0, "full")]:
            evaluations = 20 if m == 0 else int(100 * np.log2(m)) * (3 if alpha == "1" else 1)
            for split in (0, 1):
                seconds = evaluations * cost(n, m) * (0.9 if split else 1.1)
                key = {"dataset": dataset, "split": split, "alpha": alpha, "m": m, "start": "data"}
                made = {"n_train": n, "n_test": 10, "nlml": 1.0, "smse": 0.1, "smll": -1.0}
                told = {"evaluations": evaluations, "outcome": "ok", "message": "", "seconds": seconds}
                lines.append({**key, **made, **told})
    return records.frame_of(lines)


def test_a_recorded_fit_costs_what_it_cost(measured):
    known = plan.Regressions(measured)
    expected = 500 * cost(927, 32)
    np.testing.assert_allclose(known.seconds("concrete", 927, "0", 32), expected, rtol=1e-9)


def test_the_model_finds_planted_costs(measured):
    known = plan.Regressions(measured)
    for n, alpha, m, evaluations in ((9000, "0", 64, 600), (9000, "0.2", 16, 400), (300, "0.8", 64, 1800)):
        expected = evaluations * cost(n, m)
        np.testing.assert_allclose(known.seconds("power", n, alpha, m), expected, rtol=0.05)
    np.testing.assert_allclose(known.seconds("power", 9000, "0", 1000), 700 * cost(9000, 1000), rtol=0.05)
    np.testing.assert_allclose(known.seconds("power", 9000, "full", 0), 20 * cost(9000, 0), rtol=0.05)


def test_without_a_record_of_its_kind_the_cost_is_unknown(measured):
    assert plan.Regressions(measured[measured["alpha"] != "full"]).seconds("power", 9000, "full", 0) is None
    assert plan.Regressions(measured[measured["alpha"] == "full"]).seconds("power", 9000, "0", 8) is None


GRIDS = {"small": {"alphas": [0, 1], "m": [8, 32]}}


def test_jobs_of_regressions(measured, tmp_path):
    records.write_records(tmp_path / "pep" / records.REGRESSION.file, measured)
    planned = [("x.gz", "small", "concrete", 4)]
    (job,) = plan.pep_jobs(planned, GRIDS, tmp_path / "pep")
    expected = 4 * (300 * 4 * cost(927, 8) + 500 * 4 * cost(927, 32))
    assert (job.part, job.path, job.fits) == ("PEP small", "x.gz", 16)
    np.testing.assert_allclose(job.seconds, expected, rtol=1e-2)
    assert plan.pep_jobs(planned, GRIDS, tmp_path / "nothing")[0].seconds is None


def test_jobs_of_exact_regressions_cost_both_hyperparameters_of_every_size(tmp_path):
    stamp = dict.fromkeys(stamps.COLUMNS, "then") | {"dataset": "synthetic", "outcome": "ok", "message": ""}
    lines = [
        {**stamp, **dict.fromkeys(pep_toy.SCORES, 1.0), "split": split, "n_train": n, "seconds": seconds}
        | {"hyperparameters": name}
        for split in (0, 1)
        for n, name, seconds in ((500, "true", 1.0), (500, "learned", 2.0), (1000, "learned", 40.0))
    ]
    toy.record(lines, tmp_path / studies.TOY)
    planned = [("a.gz", 10), ("b.gz", 5)]
    jobs = plan.toy_jobs(planned, [500, 1000], tmp_path)
    assert [(job.path, job.fits, job.seconds) for job in jobs] == [("a.gz", 40, 430.0), ("b.gz", 20, 215.0)]
    assert [job.seconds for job in plan.toy_jobs(planned, [500], tmp_path)] == [30.0, 15.0]
    assert [job.seconds for job in plan.toy_jobs(planned, [700, 500], tmp_path)] == [None, None]
    assert plan.toy_jobs(planned, [500], tmp_path / "nothing")[0].seconds is None
    assert plan.toy_jobs([], [], tmp_path) == []


def test_jobs_of_qp_cost_their_seeds_with_every_tuning(frame, line, tmp_path):
    folds = [{"seed": seed, "fold": fold} for seed in (0, 1) for fold in range(10)]
    lines = [line(**fold, seconds=2.0) for fold in folds]
    lines += [line(**fold, method="ep-tune", seconds=3.0) for fold in folds]
    save(Collected(frame(lines), no_variances(), Runs()), tmp_path)
    dataset = lines[0]["dataset"]
    planned = [("a.gz", "as-released", dataset, "ep", 5), ("b.gz", "as-released", dataset, "vb", 5)]
    known, unknown = plan.qp_jobs(planned, tmp_path)
    assert (known.part, known.fits) == ("QP as-released", 50)
    np.testing.assert_allclose(known.seconds, 5 * 10 * (2.0 + 3.0))
    assert unknown.seconds is None and unknown.fits == 50


def test_the_text_counts_what_is_made_and_what_is_unknown(tmp_path):
    made = store.write_text(tmp_path / "made", "")
    jobs = [
        plan.Job("A", str(made), 10, 7200.0, 200.0, 1.0),
        plan.Job("A", str(tmp_path / "b"), 20, 3600.0, 100.0, 3.0),
        plan.Job("B", str(tmp_path / "c"), 5, None),
    ]
    head, a, b, both, note, meaning = plan.lines(jobs)
    assert head.split() == "jobs to do fits to do core-hours to do longest job memory disk".split()
    assert a.split() == ["A", "2", "1", "30", "20", "3.0", "1.0", "60", "min", "200", "MB", "4.0", "MB"]
    assert b.split() == ["B", "1", "1", "5", "5", "0.0+?", "0.0+?", "0", "min", "?", "?"]
    assert both.split()[:9] == ["together", "3", "2", "35", "25", "3.0+?", "1.0+?", "60", "min"]
    assert both.split()[9:] == ["200", "MB", "4.0+?", "MB"]
    assert note.startswith("Of 1 jobs no fit was measured yet") and meaning.startswith("Memory:")
    assert len({len(line) for line in (head, a, b, both)}) == 1
    assert len(plan.lines(jobs[:2])) == 4


def table_of(kind, lines):
    """A record of the relaxed-EP paper with only what tells jobs apart and their seconds."""
    import pandas as pd

    empty = dict.fromkeys((*relaxed.KINDS[kind].columns, *stamps.COLUMNS), 0)
    return pd.DataFrame([{**empty, "method": f"m{k}", "value": k, **line} for k, line in enumerate(lines)])


@pytest.fixture
def relaxed_folder(tmp_path):
    """Records: a split of heart costs 3 s and 5 s, with flips 40 s; choosing 60 s; two sets 10 s."""
    splits = [(0, 0, 1.0), (0, 0, 2.0), (0, 1, 5.0), (0.1, 0, 40.0)]
    fits = [
        {"dataset": "heart", "flips": flips, "split": split, "seconds": seconds, "outcome": "converged"}
        for flips, split, seconds in splits
    ]
    choices = [{"dataset": "heart", "seconds": seconds} for seconds in (20.0, 40.0)]
    points = [{"set": k, "seconds": seconds} for k, seconds in ((-1, 4.0), (0, 6.0))]
    for kind, lines in (("fits", fits), ("choices", choices), ("points", points)):
        table = table_of(kind, lines)
        digits = {name: n for name, n in relaxed.KINDS[kind].digits.items() if name in table}
        table = table.astype(dict.fromkeys(digits, float))
        store.write_bytes(tmp_path / relaxed.FILES[kind], compact.packed(table, digits))
    return tmp_path


def test_jobs_of_the_relaxed_paper(relaxed_folder):
    planned = [
        ("a", "fits", "heart", 0, 10),
        ("b", "fits", "heart", 0.1, 2),
        ("c", "fits", "heart", 0.3, 3),
        ("d", "choices", "heart", 0, 1),
        ("e", "points", None, None, 4),
        ("f", "fits", "spam", 0, 1),
    ]
    jobs = plan.relaxed_jobs(planned, relaxed_folder)
    assert [job.seconds for job in jobs] == [40.0, 80.0, 48.0, 60.0, 20.0, None]
    assert {(job.part, job.fits) for job in jobs} >= {("REP fits", 10), ("REP choices", 1), ("REP points", 4)}
    assert all(job.seconds is None for job in plan.relaxed_jobs(planned, relaxed_folder / "nothing"))


MEASURED = """\
target,seconds,peak_mb,kilobytes,date
data/fits/pesc/searches/50/gp-0.jsonl.gz,30.0,100,1024,2026-01-01
data/fits/pep/m200/naval/00-00.jsonl.gz,,300,,2026-01-01
data/fits/pep/small/boston/00-04.jsonl.gz,9.0,200,2048,2026-01-01
data/fits/pep/small/yacht/00-09.jsonl.gz,9.0,150,4096,2026-01-01
data/truth/pima.json.gz,9.0,120,1024,2026-01-01
"""


@pytest.fixture
def seen(tmp_path):
    return resources.read(store.write_text(tmp_path / "resources.csv", MEASURED))


def test_jobs_whose_records_hold_no_times_cost_in_proportion(seen):
    like = "data/fits/pesc/searches/50/gp-0.jsonl.gz"
    jobs = plan.measured_jobs([("PESC", "x", 3, like, 0.2), ("PESC", "y", 3, "z", 1)], seen)
    assert [(job.fits, job.seconds) for job in jobs] == [(3, 6.0), (3, None)]


@pytest.mark.parametrize(
    "path, memory, disk",
    [
        ("data/fits/pep/small/boston/05-09.jsonl.gz", 200, 2),  # the same data set
        ("data/fits/pep/small/energy/00-04.jsonl.gz", 200, 3),  # the same grid
        ("data/fits/pep/m200/kin8nm/00-00.jsonl.gz", 300, 3),  # its memory; sizes of the same study
        ("data/fits/qp/as-released/coal/ep-000-001.jsonl.gz", None, None),  # of no other study
        ("data/truth/coal.json.gz", 120, 1),
    ],
)
def test_needs_are_those_of_the_nearest_measured_jobs(seen, path, memory, disk):
    (job,) = plan.with_needs([plan.Job("A", path, 1, None)], seen)
    assert (job.memory, job.disk) == (memory, disk)


def test_without_measured_jobs_needs_are_unknown_and_damage_is_named(tmp_path):
    assert resources.read(tmp_path / "none.csv") == resources.Seen({}, {}, {})
    with pytest.raises(RecordError, match="resources.csv: damaged"):
        resources.read(store.write_text(tmp_path / "resources.csv", MEASURED.replace("100,", "much,")))
