"""Regressions repeated: what reproduces is verified, what does not is told, what no longer stands is left."""

import pytest

from tilted.__main__ import main
from tilted.experiments import pep
from tilted.provenance import stamp
from tilted.results import store
from tilted.results.pep import records, rerun

GRID = {"alphas": [0, 1, "full"], "m": [5]}


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A file of real fits of one made-up set, by another source."""
    path = tmp_path_factory.mktemp("fits") / "synthetic.jsonl.gz"
    made = {**stamp("another", {}), "date": "2026-01-01"}
    store.write_records(path, ({**r, "run": made} for r in pep.run_block("synthetic", [0], GRID)))
    return path


@pytest.fixture
def folder(fitted, tmp_path):
    records.fold_in([fitted], tmp_path)
    return tmp_path


def frame_of(folder):
    return records.read_records(folder / records.REGRESSION.file)


def test_a_sample_is_repeated_and_its_data_sets_are_verified(folder, capsys):
    assert [part.verified for part in rerun.made(folder, frame_of(folder))] == [False]
    assert main(["verify-pep", "--records", str(folder)]) == 0
    assert "3 fits repeated, 0 differ" in capsys.readouterr().out
    assert all(c.largest_difference < 1e-9 and c.passed for c in rerun.read(folder / rerun.FILE))
    assert [part.verified for part in rerun.made(folder, frame_of(folder))] == [True]


def test_a_record_that_does_not_come_out_again_is_told(folder, capsys):
    frame = frame_of(folder)
    frame.loc[frame["alpha"] == "1", "nlml"] += 1e-3
    records.write_records(folder / records.REGRESSION.file, frame)
    assert main(["verify-pep", "--records", str(folder)]) == 1
    told = capsys.readouterr().out
    assert "DIFFERS: synthetic split 0, alpha 1, m 5, data: by 1.0e-03" in told and "1 differ" in told
    assert [part.verified for part in rerun.made(folder, frame_of(folder))] == [False]


def test_checks_of_other_records_or_another_source_do_not_count(folder, monkeypatch):
    rerun.verify(folder)
    checks = rerun.read(folder / rerun.FILE)
    frame = frame_of(folder)
    rerun.write([c._replace(record="other") for c in checks], folder / rerun.FILE)
    assert not rerun.made(folder, frame)[0].verified
    rerun.write([c._replace(source="other") for c in checks], folder / rerun.FILE)
    assert not rerun.made(folder, frame)[0].verified
    rerun.write(checks, folder / rerun.FILE)
    assert rerun.made(folder, frame)[0].verified


def test_only_small_fits_are_drawn_and_the_draw_is_seeded(fits):
    frame = fits(alphas=("0", "1"), sizes=(5, 20, 100))
    drawn = rerun.sample(frame, 2, 0)
    assert len(drawn) == 8 and set(drawn["m"]) <= {5, 20}
    assert drawn.equals(rerun.sample(frame, 2, 0))
    assert not drawn.equals(rerun.sample(frame, 2, 1))
    with pytest.raises(ValueError, match="at least one fit"):
        rerun.sample(frame, 0, 0)


def test_a_fit_that_has_failed_and_does_not_fail_today_differs(folder):
    line = frame_of(folder).to_dict("records")[0] | {name: float("nan") for name in records.REGRESSION.scores}
    found = rerun.check(line, pep.synthetic_split(0))
    assert not found.passed and found.largest_difference == float("inf")


def test_a_damaged_file_is_refused(folder):
    (folder / rerun.FILE).write_text("dataset,split\nx,1\n")
    with pytest.raises(store.RecordError, match="damaged"):
        rerun.made(folder, frame_of(folder))
