"""Tables of rows in a folder: joining, runs, check sums, refusals."""

import hashlib
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from papers import PAPERS
from papers.__main__ import main
from papers.core import jobs, records, runs, store
from papers.core.store import RecordError
from papers.pep.records import DIGITS
from papers.pesc.records import REGRET
from papers.qp.records import FITS

ROOT = Path(__file__).parents[3]
DAYS = {name: f"2026-11-2{k}" for k, name in enumerate("abc")}
KNOWN = {name: runs.Run(name, "toy/fits.csv.gz", "", "", "", "", day) for name, day in DAYS.items()}


def content(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Joining


def test_fits_become_rows_of_a_run(study, make, collect, tmp_path):
    fits = [make(seed=seed, dataset=name) for name in ("iono", "wine") for seed in (1, 0)]
    assert collect(fits[:2], fits[2:]) == (4, 0, 0, 0)
    frame = records.load(study, tmp_path / "results")
    assert list(frame["dataset"]) == ["wine", "wine", "iono", "iono"] and list(frame["seed"]) == [0, 1, 0, 1]
    assert frame["score"][0] == 0.123457
    (run,) = records.read_runs(tmp_path / "results").values()
    assert set(frame["run"]) == {run.run} and run.run.startswith("2026-11-22-")
    assert (run.study, run.commit, run.version, run.protocol) == (study.file, "abc", "0.2.0", "p")
    assert (run.lines, run.core_seconds) == (4, 6.0)


def test_collecting_again_changes_no_byte(make, collect, folder):
    before = content(folder)
    assert collect([make(seed=seed) for seed in (2, 0)]) == (0, 0, 2, 0)
    assert content(folder) == before


@pytest.mark.parametrize(
    "had, new, expected, change",
    [
        ([("a", 0, 1.0)], [("b", 0, 2.0)], [("b", 0, 2.0)], (0, 1, 0, 0)),
        ([("b", 0, 1.0)], [("a", 0, 2.0)], [("b", 0, 1.0)], (0, 0, 0, 1)),
        ([("a", 0, 1.0)], [("a", 0, 2.0)], [("a", 0, 2.0)], (0, 1, 0, 0)),
        ([("a", 0, 1.0)], [("a", 0, 1.0)], [("a", 0, 1.0)], (0, 0, 1, 0)),
        # a unit is replaced whole
        ([("a", 0, 1.0), ("a", 1, 1.0)], [("b", 1, 2.0)], [("b", 1, 2.0)], (0, 1, 0, 0)),
        # a shorter run never replaces a longer one
        ([("a", 0, 1.0), ("a", 5, 1.0)], [("c", 4, 2.0)], [("a", 0, 1.0), ("a", 5, 1.0)], (0, 0, 0, 1)),
        ([("a", 4, 1.0)], [("c", 0, 2.0), ("c", 5, 2.0)], [("c", 0, 2.0), ("c", 5, 2.0)], (0, 1, 0, 0)),
        ([], [("a", 0, 1.0)], [("a", 0, 1.0)], (1, 0, 0, 0)),
        ([("a", 0, 1.0)], [], [("a", 0, 1.0)], (0, 0, 0, 0)),
    ],
)
def test_which_rows_stay(study, make, had, new, expected, change):
    runs_of_sets = replace(study, unit=("dataset", "method"), progress="seed")

    def frame(rows):
        made = [make(seed=seed, score=score) | {"run": run} for run, seed, score in rows]
        return runs_of_sets.frame(made + [make(dataset="iono") | {"run": "a"}] * (rows is had))

    joined, found = records.joined_rows(runs_of_sets, frame(had), frame(new), KNOWN)
    assert found == change
    wine = joined[joined["dataset"] == "wine"]
    assert list(zip(wine["run"], wine["seed"], wine["score"], strict=True)) == expected
    assert (joined["dataset"] == "iono").sum() == 1, "other units stay"


@pytest.mark.parametrize(
    "first, second, score",
    [({}, {}, 0.2), ({"date": "2026-11-23"}, {}, 0.1), ({}, {"date": "2026-11-23"}, 0.2)],
)
def test_of_two_files_the_later_day_wins_and_on_one_day_the_later_file(
    study, make, collect, tmp_path, first, second, score
):
    collect([make(score=0.1, **first)], [make(score=0.2, **second)])
    assert records.load(study, tmp_path / "results")["score"].tolist() == [score]


def test_of_two_files_of_a_search_the_longer_wins(searches, tmp_path):
    """A preview's searches of 10 evaluations lie beside those of 60."""
    long, short = searches(0, folder="60", evaluations=(5, 10)) + searches(0, folder="10", evaluations=(5,))
    os.utime(long, ns=(1, 1))
    assert records.collect([short, long], tmp_path / "results")[REGRET.file] == (1, 0, 0, 0)
    assert records.load(REGRET, tmp_path / "results")["evaluations"].tolist() == [5, 10]


def test_only_the_new_rows_stay_if_others_are_not_kept(study, make, folder):
    change = records.put(folder, {study: [make(seed=5)]}, keep=False)[study.file]
    assert change == (1, 0, 0, 0) and records.load(study, folder)["seed"].tolist() == [5]
    assert [(run.lines, run.replaced) for run in records.read_runs(folder).values()] == [(3, 0), (1, 3)]


def test_runs_are_appended_to_and_never_rewritten(make, collect, folder):
    """Also those whose rows were all replaced."""
    before = (folder / runs.FILE).read_bytes()
    assert collect([make(seed=seed, score=0.5) for seed in (0, 1, 2, 3)]) == (1, 3, 0, 0)
    after = (folder / runs.FILE).read_bytes()
    assert after.startswith(before) and after.count(b"\n") == before.count(b"\n") + 1
    assert [(run.lines, run.replaced) for run in records.read_runs(folder).values()] == [(3, 0), (4, 3)]


def test_committed_runs_are_written_as_they_are_read():
    data = (ROOT / "results" / runs.FILE).read_bytes()
    assert runs.encode(runs.parse(data, "").values()) == data


def test_a_key_has_the_digits_of_the_file(study, make, tmp_path):
    wide = replace(study, file="toy/wide.csv", key=("score",), unit=("score",))
    records.put(tmp_path, {wide: [make(score=1 / 3)]})
    assert records.put(tmp_path, {wide: [make(score=0.33333333)]})[wide.file] == (0, 0, 1, 0)


def test_rows_that_contradict_are_refused_and_nothing_is_written(make, collect, folder):
    before = content(folder)
    for fits, what in (
        ([make(seed=1, outcome="failed")], "seed 1: score against outcome"),
        ([make(seed=7), make(seed=7)], "seed 7: two lines of one name"),
    ):
        with pytest.raises(RecordError, match=what):
            collect(fits)
    assert content(folder) == before


def test_two_processes_that_join_at_once_lose_no_rows(tmp_path):
    code = (
        "import sys\nfrom papers.core import records\nfrom papers.pesc.records import REGRET\n"
        "row = {'problem': 'gp', 'rule': 'pesc', 'evaluations': 5, 'observed_gap': 0.5,"
        " 'recommended_gap': None, 'confident': True}\n"
        "for repeat in range(int(sys.argv[2]), 12, 2):\n"
        "    records.put(sys.argv[1], {REGRET: [{**row, 'repeat': repeat}]})\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(k)]) for k in (0, 1)]
    assert [process.wait() for process in both] == [0, 0]
    assert records.load(REGRET, tmp_path)["repeat"].tolist() == list(range(12))
    assert records.damaged(tmp_path) == []


# Folders of fits


@pytest.fixture
def searches(tmp_path):
    """Function of a repeat: the files of its searches, in a folder of fits."""

    def write(repeat, folder="5", evaluations=(5,)):
        about = {"problem": "gp", "rule": "pesc", "observed_gap": 0.5, "recommended_gap": None}
        about |= {"confident": True, "repeat": repeat, "run": runs.stamp()}
        path = tmp_path / f"data/fits/pesc/searches/{folder}/gp-{repeat}.jsonl.gz"
        return [store.write_records(path, [{**about, "evaluations": n} for n in evaluations])]

    return write


PLACES = [(paper, place) for paper in PAPERS for place in jobs.named(f"papers.{paper}.records:ROWS_OF")]


@pytest.mark.parametrize("paper, place", PLACES)
def test_each_folder_of_fits_has_its_function(paper, place, tmp_path):
    expected = jobs.named(f"papers.{paper}.records:ROWS_OF")[place]
    assert records.rows_function(tmp_path / "data" / place / "some/0.jsonl.gz") is expected


@pytest.mark.parametrize("place", ["data/fits/rep", "data/fits/pep-other", "data/points", "fits/pep", ""])
def test_another_folder_is_refused(place, tmp_path):
    with pytest.raises(RecordError, match=r"0.jsonl.gz: in no folder of an experiment's fits"):
        records.rows_function(tmp_path / place / "0.jsonl.gz")


@pytest.mark.parametrize("committed, expected", [("committed", [0, 1]), ("", [1])])
def test_the_rule_joins_new_rows_to_the_committed_ones(searches, tmp_path, committed, expected):
    folder = tmp_path / "rows"
    records.collect(searches(0), tmp_path / "committed")
    before = content(tmp_path / "committed")
    where = str(tmp_path / committed) if committed else ""
    params = SimpleNamespace(folder=folder, files=[REGRET.file], committed=where)
    job = SimpleNamespace(params=params, input={"fits": searches(1)}, log=[tmp_path / "log"])
    for _ in range(2):  # a second time gives the same
        runpy.run_path(str(ROOT / "workflow/scripts/rows.py"), {"snakemake": job})
        assert records.load(REGRET, folder)["repeat"].tolist() == expected
        assert records.damaged(folder) == []
    assert content(tmp_path / "committed") == before
    assert "pesc/regret.csv: 1 added" in (tmp_path / "log").read_text()


def test_a_table_that_begins_anew_may_be_damaged(searches, tmp_path):
    """As after Snakemake removed the outputs of a job; other tables stay."""
    folder = tmp_path / "results"
    records.collect(searches(0), folder)
    records.put(folder, {DIGITS: []})
    for damage in (Path.unlink, lambda path: path.write_bytes(b"nonsense")):
        damage(folder / REGRET.file)
        with pytest.raises(RecordError, match=r"regret\.csv"):
            records.collect(searches(0), folder)
        records.begin(folder, [REGRET.file])
        records.collect(searches(0), folder)
        assert len(records.load(REGRET, folder)) == 1 and records.damaged(folder) == []
    assert (folder / DIGITS.file).is_file()


# Damage


def test_the_sums_are_those_of_sha256sum(folder):
    done = subprocess.run(["sha256sum", "-c", records.SUMS], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("OK") == 2


def flip(path):
    data = bytearray(path.read_bytes())
    data[9] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage, said", [(flip, "differs from its check sum"), (Path.unlink, "missing")])
@pytest.mark.parametrize("name", ["pesc/regret.csv", "runs.csv"])
def test_an_altered_file_is_named(searches, tmp_path, capsys, damage, said, name):
    folder = tmp_path / "results"
    records.collect(searches(0), folder)
    assert main(["check", "--records", str(folder)]) == 0
    assert "2 files, 1 rows: intact" in capsys.readouterr().out
    damage(folder / name)
    (line,) = records.damaged(folder)
    assert name in line and said in line
    assert main(["check", "--records", str(folder)]) == 1 and line in capsys.readouterr().err
    with pytest.raises(RecordError, match=said):
        records.load(REGRET, folder) if "regret" in name else records.read_runs(folder)


def test_a_file_without_a_sum_is_refused(study, folder):
    (folder / records.SUMS).write_text("")
    with pytest.raises(RecordError, match="differs from its check sum"):
        records.load(study, folder)


def test_a_file_with_a_sum_of_its_own_is_still_checked(study, folder):
    """Whoever brings the sum up to date gets no further with rows that cannot be."""
    frame = records.load(study, folder)
    path = folder / study.file
    path.write_bytes(path.read_bytes()[:-9])
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / records.SUMS).write_text(f"{digest}  {study.file}\n")
    with pytest.raises(RecordError, match="fits.csv.gz: "):
        records.load(study, folder)
    assert len(frame) == 3


def test_a_folder_without_a_file_has_no_rows(study, tmp_path):
    assert records.find(study, tmp_path) is None and records.find(study, None) is None
    assert len(records.load(study, tmp_path)) == 0 and records.read_runs(tmp_path) == {}
    assert main(["check", "--records", str(tmp_path)]) == 2, "nothing to compare with"


# Runs


def test_a_stamp_says_where_and_when():
    stamp = runs.stamp({"rule": "ep"})
    assert set(stamp) == set(runs.STAMP) and "numpy" in stamp["environment"] and len(stamp["protocol"]) == 16
    assert stamp["protocol"] != runs.stamp({"rule": "qp"})["protocol"] and runs.stamp()["protocol"] == ""


def test_a_run_has_the_number_of_its_committed_rows():
    listed = records.read_runs(ROOT / "results")
    for study in (FITS["as-released"], REGRET, DIGITS):
        counts = records.load(study, ROOT / "results")["run"].value_counts()
        assert {name: listed[name].lines for name in counts.index} == counts.to_dict()


def test_the_hash_of_sources_follows_their_files(tmp_path, monkeypatch):
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = [runs.source_hash.__wrapped__(name) for name in ("some_package", "some_package.part")]
    (package / "part.py").write_text("x = 2\n")
    after = [runs.source_hash.__wrapped__(name) for name in ("some_package", "some_package.part")]
    assert all(a != b for a, b in zip(before, after, strict=True))
    with pytest.raises(ValueError, match="no module 'nonesuch'"):
        runs.source_hash("nonesuch")


def test_the_environment_does_not_depend_on_the_order_of_libraries(monkeypatch):
    """NumPy and SciPy bring a library each; the order in which they are listed differs between processes."""
    libraries = [
        {"user_api": "blas", "internal_api": "openblas", "version": version, "architecture": "Haswell"}
        for version in ("0.3.31", "0.3.30")
    ]
    for listed in (libraries, libraries[::-1]):
        monkeypatch.setattr("threadpoolctl.threadpool_info", lambda listed=listed: listed)
        assert runs.blas() == ["openblas 0.3.30 Haswell", "openblas 0.3.31 Haswell"]
