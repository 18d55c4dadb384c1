"""The folder of records: folding in, runs, check sums, refusals."""

import gzip
import os
import shutil
import subprocess
import sys
from collections import Counter

import pandas as pd
import pytest

from papers.evidence import records, runs
from papers.evidence.store import RecordError


def scores(study, folder):
    frame = records.load(study, folder)
    return dict(
        zip(zip(frame["dataset"], frame["method"], frame["seed"], strict=True), frame["score"], strict=True)
    )


def test_fits_become_lines_of_a_run(study, make, files, tmp_path):
    fits = [make(seed=seed, dataset=name) for name in ("iono", "wine") for seed in (1, 0)]
    change = records.fold_in(study, files(fits), tmp_path)
    frame = records.load(study, tmp_path)
    assert list(frame["dataset"]) == ["wine", "wine", "iono", "iono"] and list(frame["seed"]) == [0, 1, 0, 1]
    assert frame["score"][0] == 0.123457 and change == (4, 0, 0, 0, "", 0)
    (run,) = records.read_runs(tmp_path).values()
    assert set(frame["run"]) == {run.run} and run.run.startswith("2026-11-22-")
    assert (run.commit, run.version, run.protocol, run.lines, run.replaced) == ("abc", "0.2.0", "p", 4, 0)
    assert run.core_seconds == 6.0 and run.study == study.file


def test_folding_in_twice_changes_nothing(study, make, files, tmp_path):
    paths = files([make(seed=k) for k in range(3)])
    records.fold_in(study, paths, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    again = records.fold_in(study, paths, tmp_path)
    assert (again.added, again.replaced, again.kept) == (0, 0, 3)
    assert before == {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    # also when some of its lines were replaced since
    later = files([make(seed=1, score=0.5, date="2026-11-23")])
    records.fold_in(study, later, tmp_path)
    before = (tmp_path / runs.FILE).read_bytes()
    records.fold_in(study, [*paths, *later], tmp_path)
    assert (tmp_path / runs.FILE).read_bytes() == before


def test_the_later_run_wins_and_says_what_it_replaced(study, make, files, tmp_path):
    records.fold_in(study, files([make(seed=0), make(seed=1)]), tmp_path)
    change = records.fold_in(
        study, files([make(seed=1, score=0.5, date="2026-11-23"), make(seed=2, date="2026-11-23")]), tmp_path
    )
    assert change == (1, 1, 1, 0, "", 0)
    assert scores(study, tmp_path) == {
        ("wine", "ep", 0): 0.123457,
        ("wine", "ep", 1): 0.5,
        ("wine", "ep", 2): 0.123457,
    }
    old, new = records.read_runs(tmp_path).values()
    assert (old.lines, old.replaced, new.lines, new.replaced) == (2, 0, 2, 1)
    change = records.fold_in(study, files([make(seed=2, score=0.9, date="2026-11-21")]), tmp_path)
    assert change.outdated == 1 and scores(study, tmp_path)["wine", "ep", 2] == 0.123457


def test_lines_that_older_code_made_the_same_day_are_said_to_be(study, make, files, tmp_path, monkeypatch):
    """As a machine folds in fits of the morning after a pull of newer records; git knows the order."""
    before, after, other = ("0a" * 6, "0b" * 6, "0c" * 6)
    history = {(before, after), (other, before)}
    monkeypatch.setattr(runs, "precedes", lambda *pair: pair in history)
    records.fold_in(study, files([make(seed=0, commit=after), make(seed=1, commit=other)]), tmp_path)
    change = records.fold_in(study, files([make(seed=1, commit=before, score=0.3)]), tmp_path)
    assert change == (0, 1, 1, 0, "", 0)
    change = records.fold_in(study, files([make(seed=0, commit=before, score=0.3)]), tmp_path)
    assert change[:4] == (0, 1, 1, 0)
    assert f"BY OLDER CODE: lines of {before} replaced those of {after}" in str(change)


def test_lines_of_code_whose_place_in_history_is_not_known_are_said_to_be(
    study, make, files, tmp_path, monkeypatch
):
    """As in a shallow clone, or where a colleague's commit was never fetched: nothing was said."""
    before, after = ("0a" * 6, "0b" * 6)
    monkeypatch.setattr(runs, "precedes", lambda *pair: False)
    records.fold_in(study, files([make(seed=0, commit=after)]), tmp_path)
    change = records.fold_in(study, files([make(seed=0, commit=before, score=0.3)]), tmp_path)
    assert f"BY OTHER CODE: lines of {before} replaced those of {after}" in str(change)
    change = records.fold_in(study, files([make(seed=0, commit="", score=0.4)]), tmp_path)
    assert "OTHER CODE" not in str(change), "without a commit there is nothing to say"


def test_what_a_run_of_the_whole_leaves_out_is_said_to_be_gone(study, make, tmp_path):
    """Lines went without a word, and were counted nowhere."""
    lines = [study.line(make(seed=seed)) for seed in range(3)]
    records.put(tmp_path, {study: lines})
    change = records.put(tmp_path, {study: lines[:1]}, keep=False)[study.file]
    assert change.dropped == 2 and "2 TAKEN OUT" in str(change)
    assert "TAKEN OUT" not in str(records.put(tmp_path, {study: lines})[study.file])


def test_of_two_files_of_one_day_the_later_wins(study, make, files, tmp_path):
    first, second = files([make(score=0.1)], [make(score=0.2)])

    os.utime(first, ns=(2, 2))
    os.utime(second, ns=(1, 1))
    records.fold_in(study, [first, second], tmp_path)
    assert scores(study, tmp_path) == {("wine", "ep", 0): 0.1}


def test_without_keeping_only_the_new_lines_stay(study, make, files, tmp_path):
    records.fold_in(study, files([make(seed=0), make(seed=1)]), tmp_path)
    records.put(tmp_path, {study: [study.line(make(seed=5))]}, keep=False)
    assert list(scores(study, tmp_path)) == [("wine", "ep", 5)]
    assert list(records.read_runs(tmp_path).values())[-1].replaced == 2


def test_two_stamps_are_two_runs(study, make, files, tmp_path):
    records.fold_in(study, files([make(seed=0), make(seed=1, commit="def")], [make(seed=2)]), tmp_path)
    lines = {run.commit: run.lines for run in records.read_runs(tmp_path).values()}
    assert lines == {"abc": 2, "def": 1}
    assert not any("source" in run._fields for run in records.read_runs(tmp_path).values())


def test_a_key_has_the_digits_of_the_file(tmp_path, files, make, study):
    from dataclasses import replace

    wide = replace(study, file="toy/wide.csv", key=("score",), unit=("score",))
    records.fold_in(wide, files([make(score=1 / 3)]), tmp_path)
    assert records.fold_in(wide, files([make(score=0.33333333, date="2026-11-23")]), tmp_path).replaced == 1


def test_two_records_of_one_line_in_a_file_are_refused(study, make, files, tmp_path):
    with pytest.raises(RecordError, match="dataset wine, method ep, seed 0: two records"):
        records.fold_in(study, files([make(), make()]), tmp_path)
    assert not (tmp_path / study.file).exists()


def test_lines_of_a_unit_are_of_one_run(study, make, files, tmp_path):
    from dataclasses import replace

    seeds = replace(study, unit=("dataset", "method"))
    with pytest.raises(RecordError, match="several runs mixed"):
        records.fold_in(seeds, files([make(seed=0), make(seed=1, commit="def")]), tmp_path)


def test_what_cannot_be_a_line_is_refused_before_anything_is_written(study, make, files, tmp_path):
    records.fold_in(study, files([make(seed=0)]), tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("[!f]*/*")}
    with pytest.raises(RecordError, match="seed 1: score against outcome"):
        records.fold_in(study, files([make(seed=1, outcome="failed")]), tmp_path)
    assert before and before == {path: path.read_bytes() for path in tmp_path.glob("[!f]*/*")}


@pytest.mark.parametrize("day", ["2026-13-01", "20261122", "", 5])
def test_a_record_of_no_day_is_refused(study, make, files, tmp_path, day):
    """Of two runs the later counts."""
    with pytest.raises(RecordError, match=f"0.jsonl.gz: a record of '{day}', which is no date"):
        records.fold_in(study, files([make(date=day)]), tmp_path / "results")


@pytest.fixture
def folder(study, make, files, tmp_path):
    records.fold_in(study, files([make(seed=k) for k in range(3)]), tmp_path / "results")
    return tmp_path / "results"


def test_the_sums_are_those_of_sha256sum(folder):
    done = subprocess.run(["sha256sum", "-c", records.SUMS], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("OK") == 2


@pytest.mark.parametrize("place", [0, 9, -1])
def test_a_changed_byte_is_named(study, folder, place):
    path = folder / study.file
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(RecordError, match="fits.csv.gz: differs from its check sum"):
        records.load(study, folder)
    assert "fits.csv.gz: differs" in records.wrong(folder, [study])[0]


def test_a_record_that_is_gone_is_named(study, folder):
    (folder / study.file).unlink()
    with pytest.raises(RecordError, match="missing, though SHA256SUMS has it"):
        records.find(study, folder)
    assert any("fits.csv.gz" in line for line in records.wrong(folder, [study]))


def test_a_record_that_is_gone_with_its_sum_is_named(study, folder):
    """As after a merge of branches that went wrong; its runs still say that it was there."""
    (folder / study.file).unlink()
    sums = folder / records.SUMS
    sums.write_text("".join(line for line in sums.open() if study.file not in line))
    with pytest.raises(RecordError, match="missing, though runs.csv has it"):
        records.find(study, folder)
    assert any("fits.csv.gz" in line for line in records.wrong(folder, [study]))


def test_two_sums_of_one_file_are_refused(study, folder):
    sums = folder / records.SUMS
    sums.write_text(f"{'0' * 64}  {study.file}\n{sums.read_text()}")
    with pytest.raises(RecordError, match=r"line \d: .* a second sum of one"):
        records.load(study, folder)


def test_what_is_read_while_it_is_replaced_is_of_one_moment_or_refused(study, files, make, tmp_path):
    """Readers need no right to lock the folder: at worst a file of the next moment is refused by name."""
    folders = [tmp_path / name for name in ("a", "b", "read")]
    for score, folder in enumerate(folders):
        records.fold_in(study, files([make(seed=k, score=float(score)) for k in range(20)]), folder)
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom papers.evidence import files\n"
        "*states, folder = map(Path, sys.argv[1:])\n"
        "read = [{str(p.relative_to(s)): p.read_bytes() for p in s.rglob('[!.]*') if p.is_file()} "
        "for s in states]\n"
        "while True:\n"
        "    for state in read:\n"
        "        with files.alone(folder):\n            files.replace_all(folder, state)\n"
        "        print(flush=True)\n        time.sleep(0.01)\n"
    )
    command, seen = [sys.executable, "-c", code, *map(str, folders)], Counter()
    writer = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        writer.stdout.readline()
        for _ in range(40):
            try:
                (score,) = set(records.load(study, folders[2])["score"])
                seen[score] += 1
            except RecordError as error:
                assert str(folders[2]) in str(error)
                seen["refused"] += 1
    finally:
        writer.kill()
        writer.communicate()
    assert sum(seen.values()) == 40 and seen[0.0] + seen[1.0] + seen["refused"] == 40


def test_a_record_beside_the_sums_is_refused(study, folder):
    sums = folder / records.SUMS
    sums.write_text("".join(line for line in sums.open() if "fits" not in line))
    with pytest.raises(RecordError, match="not in .*SHA256SUMS"):
        records.load(study, folder)
    sums.write_text("nonsense\n")
    with pytest.raises(RecordError, match="line 1: not a check sum"):
        records.load(study, folder)


def rewritten(folder, name, change):
    """Another content in the place of a file, its sum brought up to date: what a careless hand would do."""
    import hashlib

    path = folder / name
    path.write_bytes(change(path.read_bytes()))
    sums = records.sums(folder) | {name: hashlib.sha256(path.read_bytes()).hexdigest()}
    (folder / records.SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()))


def fewer(content):
    return gzip.compress(b"".join(gzip.decompress(content).splitlines(keepends=True)[:-1]), mtime=0)


def test_fewer_lines_than_the_runs_brought_are_noticed(study, folder):
    rewritten(folder, study.file, fewer)
    with pytest.raises(RecordError, match="2 lines, where its runs in runs.csv brought 3"):
        records.load(study, folder)


def test_the_record_of_another_study_is_noticed(study, folder, files, make):
    from dataclasses import replace

    other = replace(study, file="toy/others.csv.gz")
    records.fold_in(other, files([make(seed=k, score=0.7) for k in range(3)]), folder)
    content = (folder / other.file).read_bytes()
    rewritten(folder, study.file, lambda _: content)
    with pytest.raises(RecordError, match="is one of toy/others.csv.gz"):
        records.load(study, folder)


def test_a_run_that_is_not_listed_is_noticed(study, folder):
    rewritten(folder, runs.FILE, lambda content: content.splitlines(keepends=True)[0])
    with pytest.raises(RecordError, match="not in runs.csv"):
        records.load(study, folder)


@pytest.mark.parametrize(
    "change, what",
    [
        (lambda content: content.replace(b"replaced", b"else"), "columns"),
        (lambda content: content + content.splitlines(keepends=True)[1], "two runs of one name"),
        (lambda content: content.replace(b",3,0", b",three,0"), "three"),
        (lambda content: content.replace(b",3,0", b",-3,0"), "-3 lines"),
        (lambda content: content.replace(b",2026-11-22,", b",2026-11-32,"), "of '2026-11-32'"),
    ],
)
def test_damaged_runs_are_named(study, folder, change, what):
    rewritten(folder, runs.FILE, change)
    with pytest.raises(RecordError, match=f"runs.csv: .*{what}"):
        records.load(study, folder)


def test_runs_are_appended_never_rewritten(study, folder, files, make):
    before = (folder / runs.FILE).read_bytes()
    records.fold_in(study, files([make(seed=1, score=0.2, date="2026-11-23")]), folder)
    assert (folder / runs.FILE).read_bytes().startswith(before)


def test_an_empty_folder_has_no_lines(study, tmp_path):
    assert records.find(study, tmp_path) is None and records.find(study, None) is None
    frame = records.load(study, tmp_path)
    assert isinstance(frame, pd.DataFrame) and len(frame) == 0 and list(frame.columns)[-1] == "run"


def test_a_copied_folder_is_as_good(study, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    assert (
        len(records.load(study, tmp_path / "copy")) == 3 and records.wrong(tmp_path / "copy", [study]) == []
    )
