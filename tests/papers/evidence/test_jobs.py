"""What a job does, and how its files are folded in: with functions that stand for experiments."""

import gzip
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from papers.evidence import jobs, records, runs, store
from papers.evidence.provenance import closure_hash

MODULES = ("papers.data.splits",)
LINES = "papers.rep.choice:lines"  # whose code is in the key; `lines` below stands for what it does


def lines(first, last, log, given=None):
    """Stands for an experiment: a record a number."""
    store.write_text(log, f"{first} to {last}\n")
    return ({"n": n, "given": given} for n in range(first, last + 1))


def content(text, log):
    return text.encode()


def job(path="fits/a.jsonl.gz", **more):
    given = {"parameters": {"first": 0, "last": 1}, "modules": MODULES, **more}
    return jobs.Job(str(path), "lines", LINES, **given)


def resumed(first, last, log, kept, stop=None):
    """The same of an experiment that takes what was made before, and is killed before it makes ``stop``."""
    had = {record["n"]: record for record in kept}
    for n in range(first, last + 1):
        if n == stop:
            raise KeyboardInterrupt
        yield had.get(n) or {"n": n, "made": f"{first} to {last}"}


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """Jobs name functions, also those of this file, which cannot be imported by its name."""
    own = {"lines": lines, "content": content, "resumed": resumed}
    monkeypatch.setattr(
        jobs, "named", lambda name, old=jobs.named: own.get(name.partition(":")[2]) or old(name)
    )


def test_records_are_stamped_with_the_run_and_the_code(tmp_path):
    asked = job(choices={"method": "ep"})
    path, log = tmp_path / "a.jsonl.gz", tmp_path / "a.log"
    jobs.make(path, asked.function, asked.parameters, {"given": "x"}, log, asked.choices, asked.key)
    first, second = store.read_records(path)
    assert (first["n"], second["n"], first["given"]) == (0, 1, "x") and log.read_text() == "0 to 1\n"
    source = closure_hash(LINES, *MODULES, fits=True)
    assert first["run"] == {**runs.stamp({"method": "ep"}), "source": source, **store.COUNTED}
    assert first["run"]["protocol"] == runs.content_hash({"method": "ep"})


def test_bytes_are_written_as_they_are(tmp_path):
    jobs.make(tmp_path / "a", f"{__name__}:content", {"text": "abc"}, {}, tmp_path / "log", {}, "")
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_nothing_is_left_of_a_job_that_fails_midway(tmp_path):
    asked = job(parameters={"first": 0, "last": "three"})
    with pytest.raises(TypeError):
        jobs.make(tmp_path / "a", asked.function, asked.parameters, {}, tmp_path / "log", {}, "")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def make_resumed(path, first, last, key="code", **more):
    parameters = {"first": first, "last": last, **more}
    jobs.make(path, f"{__name__}:resumed", parameters, {}, path.with_suffix(".log"), {}, key)
    return {record["n"]: record["made"] for record in store.read_records(path)}


def test_a_job_that_was_killed_goes_on_and_one_asked_for_more_makes_only_that(tmp_path):
    path = tmp_path / "00-03.jsonl.gz"
    with pytest.raises(KeyboardInterrupt):
        make_resumed(path, 0, 3, stop=2)
    assert not path.exists()
    with (tmp_path / "00-03.kept").open("a") as file:
        file.write('{"n":2,"made":"0 to')  # what a kill cut off
    assert make_resumed(path, 0, 4) == {0: "0 to 3", 1: "0 to 3", **dict.fromkeys((2, 3, 4), "0 to 4")}
    path.unlink()  # as Snakemake does when parameters change
    assert make_resumed(path, 1, 5)[5] == "1 to 5" != make_resumed(path, 1, 5)[4]
    assert len((tmp_path / "00-03.kept").read_text().splitlines()) == 6
    records = store.read_records(path)
    assert all(record["run"] == {**runs.stamp(), "source": "code", **store.COUNTED} for record in records)


def test_other_blocks_of_a_folder_count_and_other_code_does_not(tmp_path):
    make_resumed(tmp_path / "00-01.jsonl.gz", 0, 1)
    assert make_resumed(tmp_path / "00-02.jsonl.gz", 0, 2) == {0: "0 to 1", 1: "0 to 1", 2: "0 to 2"}
    assert set(make_resumed(tmp_path / "00-02.jsonl.gz", 0, 2, key="changed").values()) == {"0 to 2"}
    kept = (tmp_path / "00-02.kept").read_text()
    assert '"code"' not in kept and len(kept.splitlines()) == 3


@pytest.mark.parametrize("damaged, instead", [(b'"0 to 1"', b'"0 to 7"'), (b'"n"', b'"m"'), (b"{", b"\xff")])
def test_a_damaged_line_of_what_is_kept_is_none(tmp_path, damaged, instead):
    path = tmp_path / "00-01.jsonl.gz"
    make_resumed(path, 0, 1)
    kept = tmp_path / "00-01.kept"
    kept.write_bytes(kept.read_bytes().replace(damaged, instead, 1))
    assert make_resumed(tmp_path / "00-02.jsonl.gz", 0, 2) == {0: "0 to 2", 1: "0 to 1", 2: "0 to 2"}
    assert make_resumed(path, 0, 1) == {0: "0 to 2", 1: "0 to 1"}


def test_a_jobs_inputs_are_files_or_other_jobs():
    first = job("fits/first.gz")
    second = job("fits/second.gz", inputs={"start": first, "data": "x.h5", "raw": ("a", "b")})
    third = job("fits/third.gz", inputs={"start": second})
    assert second.files == {"start": "fits/first.gz", "data": "x.h5", "raw": ("a", "b")}
    assert [needed.path for needed in third.chain()] == ["fits/first.gz", "fits/second.gz", "fits/third.gz"]


def test_the_key_of_a_job_is_that_of_its_function_and_its_modules():
    assert job().code == (LINES, *MODULES)
    assert job().key == closure_hash(LINES, *MODULES, fits=True) != closure_hash(*MODULES, fits=True)
    assert job().key != job(modules=("papers.qp.protocols",)).key


@pytest.mark.parametrize(
    "number, size, expected", [(5, 2, [(0, 1), (2, 3), (4, 4)]), (2, 9, [(0, 1)]), (0, 3, [])]
)
def test_blocks(number, size, expected):
    assert jobs.blocks(number, size) == expected


def fold(paths, folder, keep):
    """Fold files into the record of searches, which begins anew unless it is kept."""
    if not keep:
        records.begin(folder, ["pesc/regret.csv"])
    changes = jobs.fold(paths, folder, "papers.pesc.records:REGRET")
    return [f"{file}: {change}" for file, change in changes.items()]


@pytest.fixture
def searches(tmp_path):
    """Function of repeats: a file of searches of each."""

    def write(*repeats):
        stamp = {**runs.stamp(), "source": "abc"}
        about = {"problem": "gp", "rule": "pesc", "evaluations": 5, "confident": True, "run": stamp}
        gaps = {"observed_gap": 0.5, "recommended_gap": None}
        paths = [tmp_path / f"{repeat}.jsonl.gz" for repeat in repeats]
        for repeat, path in zip(repeats, paths, strict=True):
            store.write_records(path, [{**about, **gaps, "repeat": repeat}])
        return paths

    return write


def test_a_record_keeps_other_lines_or_begins_anew(searches, tmp_path):
    from papers.pesc.records import REGRET

    folder = tmp_path / "results"
    assert fold(searches(0, 1), folder, True) == ["pesc/regret.csv: 2 added, 0 replaced, 0 kept"]
    assert fold(searches(2), folder, True) == ["pesc/regret.csv: 1 added, 0 replaced, 2 kept"]
    assert fold(searches(1), folder, False) == ["pesc/regret.csv: 1 added, 0 replaced, 0 kept"]
    assert records.load(REGRET, folder)["repeat"].tolist() == [1]
    assert [run.lines for run in records.read_runs(folder).values()] == [1]
    for repeats in ((0, 1), (1,), (0, 1)):  # the runs of before come again
        fold(searches(*repeats), folder, False)
        assert len(records.load(REGRET, folder)) == len(repeats)


def test_shorter_runs_do_not_replace_longer_ones(tmp_path):
    """A preview's searches of 10 evaluations, folded into records of 40 by `tilted records`."""
    from papers.pesc.records import REGRET

    def searched(evaluations, repeats, gap):
        about = {"problem": "gp", "rule": "pesc", "confident": True, "run": {**runs.stamp(), "source": "abc"}}
        gaps = {"observed_gap": gap, "recommended_gap": None}
        lines = [
            {**about, **gaps, "repeat": repeat, "evaluations": k} for repeat in repeats for k in evaluations
        ]
        return [store.write_records(tmp_path / f"{gap}.jsonl.gz", lines)]

    folder = tmp_path / "results"
    fold(searched((3, 4, 5), (0,), 0.5), folder, True)
    (said,) = fold(searched((3, 4), (0, 1), 0.25), folder, True)
    assert "1 added, 0 replaced, 1 kept; 1 passed over, runs of which the records have longer ones" in said
    found = records.load(REGRET, folder)
    assert found.groupby("repeat")["observed_gap"].agg(list).tolist() == [[0.5] * 3, [0.25] * 2]
    (said,) = fold(searched((3, 4, 5, 6), (0,), 0.125), folder, True)
    assert "1 replaced" in said and "passed over" not in said
    (said,) = fold(searched((3,), (0,), 0.0625), folder, False)  # a record that begins anew
    assert "1 added" in said and len(records.load(REGRET, folder)) == 1


@pytest.mark.parametrize("committed, left", [("committed", [0, 1]), ("", [1])])
def test_rows_are_the_committed_ones_and_the_new_ones_as_the_rule_says(searches, tmp_path, committed, left):
    from papers.pesc.records import REGRET

    script, folder = Path(__file__).parents[3] / "workflow/scripts/rows.py", tmp_path / "rows"
    fold(searches(0), tmp_path / "committed", True)
    before = (tmp_path / "committed" / REGRET.file).read_bytes()
    where = str(tmp_path / committed) if committed else ""
    fitted = {"searches": ["papers.evidence.jobs:fold", {"study": "papers.pesc.records:REGRET"}]}
    params = SimpleNamespace(folder=folder, files=[REGRET.file], committed=where, records=fitted)
    job = SimpleNamespace(params=params, input={"searches": searches(1)}, log=[tmp_path / "log"])
    for _ in range(2):  # a second time gives the same
        runpy.run_path(str(script), {"snakemake": job})
        assert records.load(REGRET, folder)["repeat"].tolist() == left and records.wrong(folder) == []
    assert (tmp_path / "committed" / REGRET.file).read_bytes() == before


def test_what_begins_anew_may_be_damaged_or_missing(searches, tmp_path):
    """As after Snakemake has removed the outputs of a job, or somebody a damaged file, as told."""
    folder = tmp_path / "results"
    fold(searches(0), folder, False)
    whole = (folder / "pesc/regret.csv").read_bytes()
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"nonsense")):
        damage(folder / "pesc/regret.csv")
        with pytest.raises(store.RecordError, match="regret.csv"):
            fold(searches(0), folder, True)
        fold(searches(0), folder, False)
        assert (folder / "pesc/regret.csv").read_bytes() == whole
    assert records.wrong(folder) == []


def test_other_records_stay_when_one_begins_anew(searches, tmp_path):
    folder = tmp_path / "results"
    fold(searches(0), folder, True)
    records.begin(folder, ["pesc/accuracy.csv"])
    assert records.wrong(folder) == [] and (folder / "pesc/regret.csv").is_file()


def test_a_file_of_fits_from_which_a_line_was_cut_is_not_folded_in(tmp_path):
    """Whatever line it is, the one that says how many there are too; the file stays a valid one."""
    path = tmp_path / "00-02.jsonl.gz"
    make_resumed(path, 0, 2)
    whole = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    assert len(whole) == 4 and len(store.read_records(path)) == 3
    for gone in range(4):
        path.write_bytes(gzip.compress(b"".join(whole[:gone] + whole[gone + 1 :])))
        with pytest.raises(store.RecordError, match=r"00-02\.jsonl\.gz: \d records, where the file had"):
            fold([path], tmp_path / "results", True)
    assert not (tmp_path / "results/runs.csv").exists()


def test_a_file_without_records_is_named(searches, tmp_path):
    (path,) = searches(0)
    store.write_records(path, [])
    with pytest.raises(store.RecordError, match="0.jsonl.gz: no record in it"):
        fold([path], tmp_path / "results", True)
