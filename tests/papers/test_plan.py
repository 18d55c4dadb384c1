"""The plan: what jobs cost, from planted costs."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from papers import configuration, plan
from papers.evidence import files, records, resources, runs, store
from papers.evidence.jobs import Job
from papers.evidence.store import RecordError
from papers.pep.cost import Costs, Searches
from papers.pep.records import CLASSIFICATION, DIGITS, REGRESSION, TOY
from papers.qp.records import FITS
from papers.rep.records import CHOICES, POINTS
from papers.rep.records import FITS as SPLITS

COMMITTED = Path(__file__).resolve().parents[2] / "results"
SIZES = {"boston": 455, "concrete": 927, "wine_red": 1439}
NOTHING = resources.Seen({}, {}, {})
FOLDERS = {"name": "x", "results": "r", "tables": "t", "figures": "f"}


def saved(folder, study, lines):
    """Lines in a folder of records, as far as they are given; other cells are of the plainest kind."""
    empty = {name: {"str": "", "float64": 0.5, "Int64": 0}.get(kind, 0) for name, kind in study.types.items()}
    with files.alone(folder):
        stamp = {**runs.stamp(), "protocol": ""}
        frame = study.frame({**empty, **line} for line in lines)
        run = runs.of_lines(study.file, stamp, frame)
        records.save(folder, {study: frame.assign(run=run.run)}, [run], {})


def costs(config, folder, seen=NOTHING):
    """Path -> cost of the jobs of a configuration."""
    jobs = configuration.asked({**FOLDERS, **config}).jobs.values()
    return {cost.path: cost for cost in plan.costs(jobs, [folder], seen)}


def cost(n, m):
    """Seconds of an evaluation, M = 0 being exact regression."""
    return 1e-9 * n**3 if m == 0 else 2e-8 * n * m + 3e-9 * n * m**2


@pytest.fixture
def measured():
    """Lines whose evaluations are 100 log2(M) for alpha = 0 and three times as many for 1."""
    lines = []
    for dataset, n in SIZES.items():
        for m, alpha in [(m, alpha) for m in (8, 32, 128) for alpha in ("0", "1")] + [(0, "full")]:
            evaluations = 20 if m == 0 else int(100 * np.log2(m)) * (3 if alpha == "1" else 1)
            for split in (0, 1):
                seconds = evaluations * cost(n, m) * (0.9 if split else 1.1)
                key = {"dataset": dataset, "split": split, "alpha": alpha, "m": m, "start": "data"}
                key["protocol"] = "as-described"
                made = {"n_train": n, "n_test": 10, "nlml": 1.0, "smse": 0.1, "smll": -1.0}
                told = {"evaluations": evaluations, "outcome": "ok", "message": "", "seconds": seconds}
                lines.append({**key, **made, **told})
    return lines


def test_a_recorded_fit_costs_what_it_cost(measured):
    known = Costs(pd.DataFrame(measured))
    expected = 500 * cost(927, 32)
    np.testing.assert_allclose(known.seconds("concrete", 927, "0", 32), expected, rtol=1e-9)


def test_the_model_finds_planted_costs(measured):
    known = Costs(pd.DataFrame(measured))
    for n, alpha, m, evaluations in ((9000, "0", 64, 600), (9000, "0.2", 16, 400), (300, "0.8", 64, 1800)):
        expected = evaluations * cost(n, m)
        np.testing.assert_allclose(known.seconds("power", n, alpha, m), expected, rtol=0.05)
    np.testing.assert_allclose(known.seconds("power", 9000, "0", 1000), 700 * cost(9000, 1000), rtol=0.05)
    np.testing.assert_allclose(known.seconds("power", 9000, "full", 0), 20 * cost(9000, 0), rtol=0.05)


def test_a_set_whose_searches_are_long_has_long_ones_with_more_pseudo_points(measured):
    """Searches with M = 100 had been planned with half of the evaluations that all sets need together."""

    def few(slow):
        """Of a set of 691 rows, to M = 32: twice as many evaluations, each so many times slower."""
        for x in measured[: 2 * 7]:
            if 0 < x["m"] < 100:
                used, about = 2 * x["evaluations"], {"dataset": "energy", "n_train": 691}
                yield x | about | {"evaluations": used, "seconds": slow * used * cost(691, x["m"])}

    for slow in (1, 3):
        known = Costs(pd.DataFrame([*measured, *few(slow)]))
        expected = slow * cost(691, 128)
        assert known.seconds("energy", 691, "0", 128) == pytest.approx(2 * 700 * expected, rel=0.05)
        most = 2 * 1500  # of alpha = 1 and M = 32, more than any fit with records
        assert known.seconds("energy", 691, "1", 128) == pytest.approx(most * expected, rel=0.05)


def test_records_apart_keep_their_level(measured):
    """Sets and powers that no record joins: 400 evaluations everywhere were planned as 3 or as 4,000."""
    apart = [x | {"evaluations": 400} for x in measured if x["m"]]
    known = [x for x in apart if (x["dataset"] == "boston") == (x["alpha"] == "0")]
    searches = Searches(pd.DataFrame([x for x in known if x["dataset"] == "boston" or x["m"] == 8]))
    assert searches.evaluations("concrete", "0", 8) == pytest.approx(400)
    assert searches.evaluations("boston", "1", 8) == pytest.approx(400)


def test_a_power_between_costs_what_the_nearest_between_took(measured):
    """Classifications of five powers took three times what the ends and 0.5 had let expect."""
    planted = {"0.2": 7.0, "0.5": 9.0}
    lines = [x | {"alpha": alpha, "seconds": seconds} for alpha, seconds in planted.items() for x in measured]
    known = Costs(pd.DataFrame([*measured, *lines]))
    for alpha, expected in (("0.05", 7.0), ("0.3", 7.0), ("0.8", 9.0)):
        assert known.seconds("boston", 455, alpha, 32) == expected
    assert known.seconds("boston", 455, "1", 32) == pytest.approx(1500 * cost(455, 32))
    assert known.seconds("boston", 455, "0.8", 16) != 9.0, "M was not measured"
    assert known.seconds("boston", 455, "full", 0) == pytest.approx(20 * cost(455, 0))


def test_a_power_between_costs_more_than_the_nearest_by_what_it_costs_more_elsewhere(measured):
    """At 0.5 the quadrature of a probit is cheap: by it the other powers were planned too cheap."""
    lines = [x | {"alpha": "0.5", "seconds": 9.0} for x in measured]
    planted = {"0.5": 4.0, "0.8": 6.0}
    theirs = [x | {"alpha": alpha, "seconds": s} for alpha, s in planted.items() for x in measured]
    known = Costs(pd.DataFrame([*measured, *lines]), pd.DataFrame(theirs))
    assert known.seconds("boston", 455, "0.8", 32) == pytest.approx(9.0 * 6.0 / 4.0)
    assert known.seconds("boston", 455, "0.2", 32) == 9.0, "the others do not have it"
    assert known.seconds("boston", 455, "0.5", 32) == 9.0
    idle = Costs(pd.DataFrame([*measured, *lines]), pd.DataFrame(theirs).assign(seconds=0.0))
    assert idle.seconds("boston", 455, "0.8", 32) == 9.0, "too short for the clock"


@pytest.mark.parametrize("study", [REGRESSION, CLASSIFICATION])
def test_powers_left_out_of_the_committed_records_are_planned_within_a_fifth(study):
    """Without the factor from the other protocol 0.76 and 0.70 of what classifications took."""
    frame = records.load(study, COMMITTED)
    inner = frame["alpha"].isin(["0.05", "0.2", "0.4", "0.6", "0.8"])
    for protocol in frame["protocol"].unique():
        own = frame["protocol"] == protocol
        known, left_out = Costs(frame[own & ~inner], frame[~own]), frame[own & inner]
        told = [known.seconds(x.dataset, x.n_train, x.alpha, x.m) for x in left_out.itertuples()]
        assert sum(told) == pytest.approx(left_out["seconds"].sum(), rel=0.2), protocol


def test_a_fit_too_short_for_the_clock_is_no_hindrance(measured):
    measured[0]["seconds"] = 0.0
    seconds = Costs(pd.DataFrame(measured)).seconds("power", 9000, "0", 64)
    assert 0 < seconds < np.inf


def test_without_a_record_of_its_kind_the_cost_is_unknown(measured):
    frame = pd.DataFrame(measured)
    assert Costs(frame[frame["alpha"] != "full"]).seconds("power", 9000, "full", 0) is None
    assert Costs(frame[frame["alpha"] == "full"]).seconds("power", 9000, "0", 8) is None


def test_jobs_of_regressions(measured, tmp_path):
    saved(tmp_path / "r", REGRESSION, measured)
    config = {
        "pep": {"small": {"alphas": [0, 1], "m": [8, 32], "rows": {"concrete": {"splits": 4, "block": 4}}}}
    }
    (job,) = costs(config, tmp_path / "r").values()
    expected = 4 * (300 * 4 * cost(927, 8) + 500 * 4 * cost(927, 32))
    assert (job.part, job.fits) == ("PEP small", 16) and job.path.endswith(
        "pep/small/concrete/00-03.jsonl.gz"
    )
    np.testing.assert_allclose(job.seconds, expected, rtol=1e-2)
    (unknown,) = costs(config, tmp_path / "nothing").values()
    assert unknown.seconds is None
    # a configuration whose own folder has nothing yet, such as the preview's, beside the committed records
    jobs = configuration.asked({**FOLDERS, **config}).jobs.values()
    (beside,) = plan.costs(jobs, [tmp_path / "nothing", tmp_path / "r"], NOTHING)
    assert beside.seconds == job.seconds
    saved(tmp_path / "some", REGRESSION, [{**measured[0], "dataset": "yacht"}])  # of another set
    (beside,) = plan.costs(jobs, [tmp_path / "some", tmp_path / "r"], NOTHING)
    np.testing.assert_allclose(beside.seconds, job.seconds, rtol=1e-2)


def test_jobs_of_a_protocol_cost_its_own_fits_or_else_those_of_the_other(measured, tmp_path):
    grid = {"alphas": [0], "m": [8], "rows": {"concrete": {"splits": 4, "block": 4}}}
    config = {"pep": {"small": {**grid, "protocols": ["as-described", "converged"]}}}
    saved(tmp_path / "one", REGRESSION, measured)
    described, converged = (job.seconds for job in costs(config, tmp_path / "one").values())
    assert described == converged
    faster = [{**line, "protocol": "converged", "seconds": line["seconds"] / 3} for line in measured]
    saved(tmp_path / "both", REGRESSION, [*measured, *faster])
    described, converged = (job.seconds for job in costs(config, tmp_path / "both").values())
    np.testing.assert_allclose(converged, described / 3, rtol=1e-2)
    config["pep"]["small"]["alphas"] = [0.8]
    powers = {"as-described": {"0.5": 4.0, "0.8": 6.0}, "converged": {"0.5": 8.0}}
    lines = [
        line | {"protocol": protocol, "alpha": alpha, "seconds": seconds}
        for protocol, of in powers.items()
        for alpha, seconds in of.items()
        for line in measured
        if line["alpha"] == "0"
    ]
    saved(tmp_path / "powers", REGRESSION, lines)
    described, converged = (job.seconds for job in costs(config, tmp_path / "powers").values())
    assert (described, converged) == pytest.approx((4 * 6.0, 4 * 12.0))


def test_jobs_of_classifications_cost_their_own_fits(tmp_path):
    about = {"dataset": "crabs", "protocol": "corrected", "n_train": 180, "n_test": 20, "outcome": "ok"}
    lines = [{**about, "split": split, "alpha": "1", "m": 4, "seconds": 3.0} for split in (0, 1)]
    saved(tmp_path, CLASSIFICATION, lines)
    grid = {"protocols": ["corrected"], "alphas": [1], "m": [4], "rows": {"crabs": {"splits": 5, "block": 5}}}
    (job,) = costs({"pep_classification": {"x": grid}}, tmp_path).values()
    assert (job.part, job.fits, job.seconds) == ("PEP classes x", 5, 15.0)


def test_jobs_of_exact_regressions_cost_both_hyperparameters_of_every_size(tmp_path):
    lines = [
        {"dataset": "synthetic", "split": split, "n_train": n, "seconds": seconds, "hyperparameters": name}
        | {"outcome": "ok"}
        for split in (0, 1)
        for n, name, seconds in ((500, "true", 1.0), (500, "learned", 2.0), (1000, "learned", 40.0))
    ]
    saved(tmp_path, TOY, lines)
    part = {"synthetic": {"splits": 1, "block": 1}}

    def jobs(sizes, folder=tmp_path):
        toy = {"splits": 15, "block": 10, "n_train": sizes}
        pep = {"x": {"alphas": [1], "m": [4], "rows": part}}
        return [job for job in costs({"toy": toy, "pep": pep}, folder).values() if job.part == "PEP toy"]

    assert [(job.fits, job.seconds) for job in jobs([500, 1000])] == [(40, 430.0), (20, 215.0)]
    assert [job.seconds for job in jobs([500])] == [30.0, 15.0]
    assert [job.seconds for job in jobs([500], tmp_path / "nothing")] == [None, None]


def test_trainings_cost_their_steps_at_the_same_power_if_there_are_such(tmp_path):
    lines = [
        {"dataset": "mnist", "alpha": alpha, "m": 8, "seed": 0, "steps": 100, "step": step, "outcome": "ok"}
        | {"seconds": each * step}
        for alpha, each in ((0.0, 1.0), (1.0, 3.0))
        for step in (50, 100)
    ]
    saved(tmp_path, DIGITS, lines)
    grid = {"alphas": [1, 0.5], "m": [8, 9], "seeds": 1, "steps": 10}
    found = {
        path.rpartition("/")[2]: job.seconds for path, job in costs({"mnist": {"x": grid}}, tmp_path).items()
    }
    assert found == {
        "alpha1-m8-seed0.jsonl.gz": 30.0,
        "alpha0.5-m8-seed0.jsonl.gz": 20.0,
        "alpha1-m9-seed0.jsonl.gz": None,
        "alpha0.5-m9-seed0.jsonl.gz": None,
    }


def test_jobs_of_table_1_cost_their_seeds_with_every_tuning(tmp_path):
    folds = [{"seed": seed, "fold": fold} for seed in (0, 1) for fold in range(10)]
    about = {"protocol": "as-released", "dataset": "wine12", "outcome": "ok", "lengthscale": "1"}
    lines = [{**about, **fold, "method": "ep", "seconds": 2.0} for fold in folds]
    lines += [{**about, **fold, "method": "ep-tune", "seconds": 3.0} for fold in folds]
    study = FITS["as-released"]
    saved(tmp_path, study, [{**line, **NO_PAIR} for line in lines])
    part = {"methods": ["ep", "vb"], "rows": {"wine12": {"seeds": 5, "block": 5}}}
    known, unknown = costs({"qp": {"as-released": part}}, tmp_path).values()
    assert (known.part, known.fits) == ("QP as-released", 50)
    np.testing.assert_allclose(known.seconds, 5 * 10 * (2.0 + 3.0))
    assert unknown.seconds is None and unknown.fits == 50


NO_PAIR = dict.fromkeys(("n_above", "ratio_min", "ratio_median", "ratio_max"))


def test_jobs_of_the_relaxed_paper(tmp_path):
    """A split of heart costs 3 s and 5 s, with flips 40 s; choosing 60 s; two sets of five points 10 s."""
    splits = [(0.0, 0, 1.0), (0.0, 0, 2.0), (0.0, 1, 5.0), (0.1, 0, 40.0)]
    fits = [
        {"dataset": "heart", "flips": flips, "split": split, "seconds": seconds, "method": f"m{k}"}
        | {"outcome": "converged"}
        for k, (flips, split, seconds) in enumerate(splits)
    ]
    saved(tmp_path, SPLITS, fits)
    saved(tmp_path, CHOICES, [{"dataset": "heart", "method": f"m{s}", "seconds": s} for s in (20.0, 40.0)])
    points = [{"set": k, "seconds": seconds, "outcome": "converged"} for k, seconds in ((-1, 4.0), (0, 6.0))]
    saved(tmp_path, POINTS, points)
    sets = {
        "heart": {"splits": 10, "block": 10, "flips": [0, 0.1, 0.3]},
        "spam": {"splits": 1, "block": 1, "flips": [0]},
    }
    config = {"rep": {"points": {"sets": 4, "block": 4}, "sets": sets}}
    found = {path.removeprefix("data/fits/rep/"): job for path, job in costs(config, tmp_path).items()}
    assert {path: job.seconds for path, job in found.items()} == {
        "points/000-003.jsonl.gz": 20.0,
        "fits/heart-0/000-009.jsonl.gz": 40.0,
        "fits/heart-0.1/000-009.jsonl.gz": 400.0,
        "fits/heart-0.3/000-009.jsonl.gz": 160.0,
        "fits/spam-0/000-000.jsonl.gz": None,
        "choices/heart-0/000.jsonl.gz": 60.0,
        "choices/heart-0.1/000.jsonl.gz": 60.0,
        "choices/heart-0.3/000.jsonl.gz": 60.0,
        "choices/spam-0/000.jsonl.gz": None,
    }
    assert {(job.part, job.fits) for job in found.values()} >= {
        ("REP fits", 10),
        ("REP choices", 1),
        ("REP points", 4),
    }
    assert all(job.seconds is None for job in costs(config, tmp_path / "nothing").values())


def test_the_text_counts_what_is_made_and_what_is_unknown(tmp_path):
    made = store.write_text(tmp_path / "made", "")
    jobs = [
        plan.Cost("A", str(made), 10, 7200.0, 200.0, 1.0),
        plan.Cost("A", str(tmp_path / "b"), 20, 3600.0, 100.0, 3.0),
        plan.Cost("B", str(tmp_path / "c"), 5, None),
    ]
    head, _, a, b, both, _, note, meaning = plan.lines(jobs)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in (head, a, b, both)]
    assert cells[0] == list(plan.COLUMNS)
    assert cells[1] == ["A", "2", "1", "30", "20", "3.0", "1.0", "60 min", "200 MB", "4.0 MB"]
    assert cells[2] == ["B", "1", "1", "5", "5", "?", "?", "?", "?", "?"]
    assert cells[3] == ["together", "3", "2", "35", "25", "3.0+?", "1.0+?", "60 min", "200 MB", "4.0+? MB"]
    assert note.startswith("Of 1 jobs no fit was measured yet") and meaning.startswith("Memory:")
    assert len({len(line) for line in (head, a, b, both)}) == 1
    assert plan.rest(jobs).startswith("With `reuse: true` to do: 25 fits, 1.0+? core-hours")
    assert len(plan.lines(jobs[:2])) == 6
    assert "0.02" in plan.lines([jobs[0]._replace(seconds=72.0)])[2]
    left = jobs[1]._replace(fits=1, seconds=36.0)  # of a job whose other fits are recorded
    shown = [line.strip("|").split("|") for line in plan.lines(jobs, {left.path: left})[2:5]]
    assert [[cell.strip() for cell in row[2:5]] for row in shown] == [
        ["1", "30", "1"],
        ["0", "5", "0"],
        ["1", "35", "1"],
    ]


MEASURED = """\
target,seconds,peak_mb,kilobytes,date
data/fits/pesc/searches/40/gp-0.jsonl.gz,30.0,100,1024,2026-01-01
data/fits/pesc/accuracy/15/1d-1c.jsonl.gz,45.0,100,1024,2026-01-01
data/fits/pep/m200/naval/00-00.jsonl.gz,,300,,2026-01-01
data/fits/pep/small/boston/00-04.jsonl.gz,9.0,200,2048,2026-01-01
data/fits/pep/small/yacht/00-09.jsonl.gz,9.0,150,4096,2026-01-01
data/truth/pima.json.gz,9.0,120,1024,2026-01-01
"""


@pytest.fixture
def seen(tmp_path):
    return resources.read(store.write_text(tmp_path / "resources.csv", MEASURED))


def test_jobs_whose_records_hold_no_times_cost_in_proportion(seen, tmp_path):
    config = {"pesc": {"accuracy": {"problems": 5}, "searches": {"repeats": 2, "evaluations": 8}}}
    found = {path.removeprefix("data/fits/pesc/"): job for path, job in costs(config, tmp_path, seen).items()}
    assert {path: job.seconds for path, job in found.items() if job.seconds is not None} == {
        "accuracy/5/1d-1c.jsonl.gz": 15.0,
        "searches/8/gp-0.jsonl.gz": 6.0,
        "searches/8/gp-1.jsonl.gz": 6.0,
    }
    assert len(found) == 4 + 4


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
def test_needs_are_those_of_the_nearest_measured_jobs(seen, tmp_path, path, memory, disk):
    job = Job(path, "of no known kind", "", {}, (), part="A")
    (needed,) = plan.costs([job], [tmp_path], seen)
    assert (needed.memory, needed.disk, needed.seconds) == (memory, disk, None)


def test_without_measured_jobs_needs_are_unknown_and_damage_is_named(tmp_path):
    assert resources.read(tmp_path / "none.csv") == NOTHING
    with pytest.raises(RecordError, match="resources.csv: damaged"):
        resources.read(store.write_text(tmp_path / "resources.csv", MEASURED.replace("100,", "much,")))
