"""What a job does, with functions that stand for experiments."""

import gzip

import pytest

from papers.core import jobs, runs, store

MODULES = ("papers.data.splits",)


def lines(first, last, log, given=None):
    """Stands for an experiment: a record a number."""
    store.write_text(log, f"{first} to {last}\n")
    return ({"n": n, "given": given} for n in range(first, last + 1))


def content(text, log):
    return text.encode()


def job(path="fits/a.jsonl.gz", **more):
    given = {"parameters": {"first": 0, "last": 1}, "modules": MODULES, **more}
    return jobs.Job(str(path), "lines", f"{__name__}:lines", **given)


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
    monkeypatch.setattr(jobs, "named", lambda name: own[name.partition(":")[2]])


def test_records_are_stamped_with_the_run_and_the_code(tmp_path):
    asked = job(choices={"method": "ep"})
    path, log = tmp_path / "a.jsonl.gz", tmp_path / "a.log"
    jobs.make(path, asked.function, asked.parameters, {"given": "x"}, log, asked.choices, asked.source)
    first, second = store.read_records(path)
    assert (first["n"], second["n"], first["given"]) == (0, 1, "x") and log.read_text() == "0 to 1\n"
    assert first["run"] == {**runs.stamp({"method": "ep"}), "source": runs.source_hash(*MODULES)}


def test_bytes_are_written_as_they_are(tmp_path):
    jobs.make(tmp_path / "a", f"{__name__}:content", {"text": "abc"}, {}, tmp_path / "log", {}, "")
    assert (tmp_path / "a").read_bytes() == b"abc"


def test_nothing_is_left_of_a_job_that_fails_midway(tmp_path):
    asked = job(parameters={"first": 0, "last": "three"})
    with pytest.raises(TypeError):
        jobs.make(tmp_path / "a", asked.function, asked.parameters, {}, tmp_path / "log", {}, "")
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def make_resumed(path, first, last, source="code", **more):
    parameters = {"first": first, "last": last, **more}
    jobs.make(path, f"{__name__}:resumed", parameters, {}, path.with_suffix(".log"), {}, source)
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
    assert all(record["run"] == {**runs.stamp(), "source": "code"} for record in store.read_records(path))


def test_other_blocks_of_a_folder_count_and_other_code_does_not(tmp_path):
    make_resumed(tmp_path / "00-01.jsonl.gz", 0, 1)
    assert make_resumed(tmp_path / "00-02.jsonl.gz", 0, 2) == {0: "0 to 1", 1: "0 to 1", 2: "0 to 2"}
    assert set(make_resumed(tmp_path / "00-02.jsonl.gz", 0, 2, source="changed").values()) == {"0 to 2"}
    kept = (tmp_path / "00-02.kept").read_text()
    assert '"code"' not in kept and len(kept.splitlines()) == 3


def test_a_file_from_which_a_line_was_cut_is_refused(tmp_path):
    """Whatever line it is, the one with the number of lines too."""
    path = tmp_path / "00-02.jsonl.gz"
    make_resumed(path, 0, 2)
    whole = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    assert len(whole) == 4
    for gone in range(4):
        path.write_bytes(gzip.compress(b"".join(whole[:gone] + whole[gone + 1 :])))
        with pytest.raises(store.RecordError, match=r"00-02\.jsonl\.gz: \d records, where the file had"):
            store.read_records(path)


def test_a_jobs_inputs_are_files_or_other_jobs():
    first = job("fits/first.gz")
    second = job("fits/second.gz", inputs={"start": first, "data": "x.h5", "raw": ("a", "b")})
    third = job("fits/third.gz", inputs={"start": second})
    assert second.files == {"start": "fits/first.gz", "data": "x.h5", "raw": ("a", "b")}
    assert [needed.path for needed in third.chain()] == ["fits/first.gz", "fits/second.gz", "fits/third.gz"]


@pytest.mark.parametrize(
    "number, size, expected", [(5, 2, [(0, 1), (2, 3), (4, 4)]), (2, 9, [(0, 1)]), (0, 3, [])]
)
def test_blocks(number, size, expected):
    assert jobs.blocks(number, size) == expected
