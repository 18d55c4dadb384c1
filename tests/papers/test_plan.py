"""What a configuration will cost, from recorded rows like those of its jobs."""

import pytest

from papers import plan
from papers.core import records, resources
from papers.core.jobs import Job
from papers.core.slices import Slice
from papers.core.study import Float, Integer, Study, Text, seconds

FITS = Study(
    "toy/fits.csv",
    {
        "dataset": Text(),
        "method": Text(),
        "m": Integer(),
        "split": Integer(),
        "score": Float(6),
        "seconds": seconds(),
    },
    key=("dataset", "method", "m", "split"),
    group=("dataset", "method"),
)
SEARCHES = Study(
    "toy/searches.csv",
    {"run_number": Integer(), "step": Integer(), "seconds": seconds()},
    key=("run_number", "step"),
    unit=("run_number",),
    progress="step",
)
PROBLEMS = Study("toy/problems.csv", {"problem": Integer()}, key=("problem",), seconds=0.5)


def frame(study, rows):
    return study.frame({**row, "run": ""} for row in rows)


@pytest.fixture
def recorded():
    """Two splits; the seconds are m for "ep" and twice that for "qp"."""
    return frame(
        FITS,
        [
            {"dataset": "wine", "method": method, "m": m, "split": split, "score": 0.0, "seconds": m * factor}
            for split in (0, 1)
            for m in (5, 10)
            for method, factor in (("ep", 1.0), ("qp", 2.0))
        ],
    )


def job(study, where, fits, path="data/fits/toy/x.jsonl.gz"):
    return Job(path, "toy_fit", "toy:run", {}, (), rows=(Slice(study, where),), part="toy", fits=fits)


@pytest.mark.parametrize(
    ("where", "fits", "expected"),
    [
        ({"dataset": ["wine"], "method": ["ep"], "m": [5], "split": range(10)}, 10, 50.0),
        ({"dataset": ["wine"], "method": ["ep", "qp"], "m": [5, 10], "split": range(3)}, 12, 3 * 45.0),
        # without recorded rows of 20 pseudo-points: in proportion to the largest recorded number
        ({"dataset": ["wine"], "method": ["ep"], "m": [20], "split": range(2)}, 2, 2 * 20.0),
        ({"dataset": ["iono"], "method": ["ep"], "m": [5], "split": range(2)}, 2, None),
    ],
)
def test_a_job_costs_what_rows_like_its_own_took(recorded, where, fits, expected):
    assert plan.seconds(job(FITS, where, fits), recorded) == (expected and pytest.approx(expected))


def test_a_longer_run_costs_in_proportion_to_its_steps():
    rows = [{"run_number": 0, "step": step, "seconds": 2.0 * step} for step in (1, 10)]
    found = plan.seconds(job(SEARCHES, {"run_number": [1], "steps": [100]}, 1), frame(SEARCHES, rows))
    assert found == pytest.approx(200.0)


def test_a_study_without_times_says_what_a_row_takes():
    assert plan.seconds(job(PROBLEMS, {"problem": range(8)}, 8), frame(PROBLEMS, [])) == pytest.approx(4.0)


def test_lines_count_what_is_there_and_what_is_unknown(tmp_path, monkeypatch, recorded):
    monkeypatch.chdir(tmp_path)
    records.put("results", {FITS: recorded.drop(columns="run").to_dict("records")})
    where = {"dataset": ["wine"], "method": ["ep"], "m": [5], "split": range(720)}
    paths = [f"data/fits/{name}.jsonl.gz" for name in ("other/a/done", "toy/a/b", "other/a/new")]
    jobs = [job(FITS, where, 720, path) for path in paths[:2]]
    jobs.append(job(FITS, {**where, "dataset": ["iono"]}, 720, paths[2]))
    (tmp_path / paths[0]).parent.mkdir(parents=True)
    (tmp_path / paths[0]).touch()
    seen = resources.Measured({}, {"data/fits/toy/a/c.jsonl.gz": 80.0}, {})
    costs = plan.costs(jobs, ["results"], seen)
    assert [cost.seconds for cost in costs] == [3600.0, 3600.0, None]
    assert [cost.memory for cost in costs] == [None, 80.0, None]
    text = "\n".join(plan.lines(costs))
    cells = [cell.strip() for cell in text.splitlines()[2].split("|")[1:-1]]
    assert cells[:7] == ["toy", "3", "2", "2160", "1440", "2.0+?", "1.0+?"]
    assert "Of 1 jobs no fit was measured yet" in text
    left = [cost for cost in costs if cost.seconds]
    assert plan.rest(left).startswith("With `reuse: true` to do: 720 fits, 1.0 core-hours")


def test_a_measured_job_costs_what_it_took(recorded, tmp_path):
    measured = job(FITS, {"dataset": ["wine"], "method": ["ep"], "m": [5], "split": range(2)}, 2)
    seen = resources.Measured({measured.path: 7.0}, {}, {})
    assert [cost.seconds for cost in plan.costs([measured], [tmp_path], seen)] == [7.0]


def test_damaged_measurements_are_named(tmp_path):
    assert resources.read(tmp_path / "none.csv") == resources.Measured({}, {}, {})
    (tmp_path / "resources.csv").write_text("target,seconds\na,many\n")
    with pytest.raises(ValueError, match="resources.csv: damaged"):
        resources.read(tmp_path / "resources.csv")
