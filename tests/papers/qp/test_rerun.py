"""Fits made again: fresh records pass, an altered digit does not, failed fits must fail again."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from papers import data
from papers.data.fetch import DownloadError
from papers.evidence import files, records, runs, store
from papers.evidence.verification import standing, verified
from papers.evidence.verification.verify import Selection
from papers.evidence.verification.verify import verify as make_again
from papers.qp import collect, protocols, rerun
from papers.qp import fits as qp
from papers.qp.lines import NUMBERS
from papers.qp.records import FITS
from tilted.learning import dense as hyperparameters
from tilted.learning.dense import infer_at

JOBS = (
    ("as-released", "wine13", "ep", (0, 0)),
    ("as-released", "wine13", "ep", (0, 1)),
    ("as-released", "wine13", "qp", (0, 0)),
    ("as-released", "wine13", "qp", (0, 1)),
    ("as-released", "wine13", "vb-joint", (0, 0)),
    ("as-released", "wine13", "corrected-evidence", (0, 0)),
    ("as-described", "coal", "ep", (2, 0)),
    ("as-described", "coal", "qp", (2, 0)),
    ("corrected", "coal", "ep", (1, 0)),
)


def fitted(protocol, dataset, method, where, start):
    """Records of one job, stamped as the workflow stamps them."""
    task = qp.task_of(dataset)
    loaded = data.load(dataset, protocols.block(protocol, task)["variant"])
    stamp = runs.stamp(protocols.choices(protocol, task, method))
    made = qp.run_cell(loaded, protocol, method, *where, start=start)
    return [{**record, "run": stamp} for record in made]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Records that today's code made."""
    folder, done = tmp_path_factory.mktemp("records"), {}
    jobs: dict[tuple, list[dict]] = {}
    for protocol, dataset, method, where in JOBS:
        start = protocols.method(protocol, qp.task_of(dataset), method).get("start")
        made = fitted(protocol, dataset, method, where, start and done[protocol, dataset, start, where])
        done |= {(protocol, dataset, record["method"], where): record for record in made}
        jobs.setdefault((protocol, dataset, method), []).extend(made)
    paths = [
        store.write_records(folder / "fits" / protocol / dataset / f"{method}.jsonl.gz", made)
        for (protocol, dataset, method), made in jobs.items()
    ]
    collect.fold_in(paths, folder / "results")
    return folder / "results"


@pytest.fixture
def results(fresh, tmp_path):
    return Path(shutil.copytree(fresh, tmp_path / "results"))


def changed(results, protocol, change):
    """Rewrite the records of a protocol."""
    study = FITS[protocol]
    with files.alone(results):
        records.save(results, {study: change(records.load(study, results))}, [], {})


def altered(results, protocol, change, **where):
    """Rewrite a protocol's records with one line changed."""

    def alter(frame):
        (index,) = frame.index[(frame[list(where)] == list(where.values())).all(axis=1)]
        for name, value in change.items():
            frame.loc[index, name] = value(frame.loc[index, name]) if callable(value) else value
        return frame

    changed(results, protocol, alter)


def verify(results, protocol="as-released", scratches=0, **wanted):
    """Make records of a protocol again: (method, fold, way) -> check; what could not be made again."""
    chosen = {name: [value] for name, value in wanted.items()}
    found = make_again([FITS[protocol]], results, Selection(chosen, scratches=scratches))
    done = {}
    for check in found.checks:
        fold = int(check.fit.split("fold=")[1])
        done[check.group.split()[-1], fold, check.how] = check
    return done, found.missing


JOINT = ("vb-joint", "vb-joint-released")
"""Records of the joint search, which can only be repeated as a whole."""


LEARNED = "corrected-evidence"


def test_fresh_records_pass_both_ways(results):
    checks, missing = verify(results, scratches=9)
    both = {(m, how) for m in ("ep-tune", "ep", "qp", LEARNED) for how in ("fixed", "scratch")}
    joint = {(name, "scratch") for name in JOINT}
    assert {(m, how) for m, _, how in checks} == both | joint and not missing
    assert all(c.passed == "yes" and c.difference < 1e-7 and c.gain > -1e-9 for c in checks.values())
    (qp_group,) = (g for g in standing.groups(FITS["as-released"], results) if g.name.endswith(" qp"))
    assert (qp_group.good, qp_group.scratch, qp_group.stale, qp_group.needed) == (2, 2, 0, 2)
    assert not standing.loud([qp_group])


@pytest.mark.parametrize("name", ["log_evidence", "ntll", "test_error", "ratio_min", "ratio_max"])
def test_an_altered_digit_is_found(results, name):
    altered(results, "as-released", {name: lambda value: value + 1e-5}, method="qp", fold=1)
    checks, _ = verify(results, method="qp")
    wrong = checks["qp", 1, "fixed"]
    assert wrong.passed == "no" and wrong.note.startswith(name)
    assert wrong.difference == pytest.approx(1e-5, rel=1e-2)
    assert checks["qp", 0, "fixed"].passed == "yes"
    if name == "log_evidence":  # the search, tried because the rest differs, is below what is recorded
        search = checks["qp", 1, "scratch"]
        assert search.passed == "no" and search.note.startswith("the evidence is lower")


def test_what_is_made_where_a_line_differs_could_stand_in_its_place(results):
    study = FITS["as-released"]
    before = records.load(study, results)
    moved = {name: lambda value: value + 1e-5 for name in ("ntll", "ratio_min")}
    moved["sweeps"] = lambda value: value + 7
    altered(results, "as-released", moved, method="qp", fold=1)
    found = make_again([study], results, Selection({"method": ["qp"]}, scratches=0))
    ((same, line),) = found.elsewhere
    (true,) = before[(before["method"] == "qp") & (before["fold"] == 1)].to_dict("records")
    assert same == study and line["fold"] == 1
    for name in (*NUMBERS, "ratio_min", "ratio_max", "n_above"):
        assert line[name] == pytest.approx(true[name], abs=1e-7)
    assert line["sweeps"] == true["sweeps"]  # the whole line is today's, the status too


def test_a_count_beyond_rounding_is_found(results):
    altered(results, "as-released", {"n_above": lambda value: value + 13}, method="qp", fold=1)
    checks, _ = verify(results, method="qp")
    assert checks["qp", 1, "fixed"].note.startswith("n_above")


def test_altered_sizes_and_hyperparameters_are_found(results):
    altered(results, "as-released", {"n_test": lambda value: value + 1}, method="ep", fold=0)
    altered(results, "as-released", {"lengthscale": "3.1"}, method="ep", fold=1)
    checks, _ = verify(results, method="ep")
    notes = [checks["ep", fold, "fixed"].note for fold in (0, 1)]
    assert "test points today" in notes[0] and notes[1].startswith("log_evidence, ntll")


@pytest.mark.parametrize(("more", "verdict"), [(2e-6, "no"), (5e-7, "yes"), (-0.5, "yes")])
def test_a_search_must_reach_the_recorded_evidence(results, more, verdict):
    """To 1e-6, above which it may be; where NTLL goes is shown."""
    change = {"log_evidence": lambda value: value + more, "ntll": lambda value: value - 0.25}
    altered(results, "as-released", change, method="ep", fold=0)
    checks, _ = verify(results, scratches=9, method="ep")
    search = checks["ep", 0, "scratch"]
    assert search.passed == verdict and search.gain == pytest.approx(-more, abs=1e-8)
    assert search.note == ("the evidence is lower (NTLL +0.25)" if verdict == "no" else "")
    assert checks["ep", 0, "fixed"].passed == "no" and checks["ep", 1, "scratch"].passed == "yes"


def unconverged(function, only):
    """A fit that ends where it does, but not converged, where ``only`` says so of its arguments."""

    def fit(*arguments):
        found = function(*arguments)
        if not only(*arguments):
            return found
        return replace(found, status=replace(found.status, converged=False, message="a pretext"))

    return fit


def inferred(cell, kernel, sites, optimise, table):
    return not optimise


def test_a_fit_recorded_as_converged_must_converge(results, monkeypatch):
    for name in ("_fit", "_fit_joint"):
        monkeypatch.setattr(qp, name, unconverged(getattr(qp, name), lambda *arguments: True))
    checks, _ = verify(results, scratches=9)
    chaotic = [checks.pop((name, 0, "scratch")) for name in JOINT]
    assert {(c.how, c.passed, c.note) for c in checks.values()} == {
        (how, "no", "not converged today: a pretext") for how in ("fixed", "scratch")
    }
    assert all(c.difference < 1e-6 for c in checks.values())
    assert [check.passed for check in chaotic] == ["reported", "reported"]


def test_only_a_search_that_converges_verifies_by_search(results, monkeypatch):
    fit = qp._fit
    monkeypatch.setattr(qp, "_fit", unconverged(fit, inferred))
    checks, _ = verify(results, "corrected")
    fixed, search = (checks["ep", 0, how] for how in ("fixed", "scratch"))
    assert (fixed.passed, search.passed) == ("by search", "yes")
    assert fixed.note == "not converged today: a pretext"
    monkeypatch.setattr(qp, "_fit", unconverged(fit, lambda *arguments: True))
    assert {c.passed for c in verify(results, "corrected")[0].values()} == {"no"}


def test_a_record_that_never_converged_need_not(results, monkeypatch):
    altered(results, "corrected", {"outcome": "not converged", "reason": "1000 evaluations"}, method="ep")
    monkeypatch.setattr(qp, "_fit", unconverged(qp._fit, lambda *arguments: True))
    checks, _ = verify(results, "corrected", scratches=9)
    assert {(c.how, c.passed) for c in checks.values()} == {("fixed", "yes"), ("scratch", "yes")}


def test_another_end_of_the_chaotic_search_is_no_failure(results):
    altered(results, "as-released", {"log_evidence": lambda value: value + 0.5}, method="vb-joint")
    checks, _ = verify(results, method="vb-joint")  # which can only be searched for
    check = checks["vb-joint", 0, "scratch"]
    assert check.passed == "reported" and check.note == "another end of a chaotic search"
    assert check.gain == pytest.approx(-0.5, abs=1e-6)


def test_another_end_of_the_codes_own_search_is_no_failure(results, monkeypatch):
    """At the recorded hyperparameters the record is given all the same."""
    given = protocols.method
    replayed = {"optimise": qp.AS_RELEASED}
    monkeypatch.setattr(protocols, "method", lambda p, t, m: given(p, t, m) | (replayed if m == "ep" else {}))
    checks, _ = verify(results, scratches=9, method="ep")
    passed = {how: check.passed for (name, _, how), check in checks.items() if name == "ep"}
    assert passed == {"fixed": "yes", "scratch": "reported"}


@pytest.mark.parametrize(
    "change, how, expected",
    [
        ({"ratio_max": lambda x: x + 1e-4}, "fixed", "reported"),
        ({"ratio_max": lambda x: x + 1e-4, "ntll": lambda x: x + 1e-4}, "fixed", "no"),
        ({"log_evidence": lambda x: x + 0.5}, "scratch", "reported"),
    ],
)
def test_the_texts_stop_leaves_ratios_and_the_end_of_a_search_open(results, change, how, expected):
    altered(results, "as-described", change, method="qp")
    checks, _ = verify(results, "as-described", scratches=9, method="qp")
    assert checks["qp", 0, how].passed == expected
    assert checks["qp", 0, how].note.startswith(rerun.OPEN) is (expected == "reported")


NOTHING = {
    **dict.fromkeys(("variance", "log_evidence", "test_error", "ntll"), float("nan")),
    "lengthscale": "",
    "outcome": "failed",
}


def test_failed_fits_must_fail_again_for_the_same_reason(results, monkeypatch):
    def fail(*arguments):
        raise ArithmeticError("a posterior is lost")

    monkeypatch.setattr(qp, "_fit", fail)
    altered(results, "as-described", {**NOTHING, "reason": "a posterior is lost"}, method="ep")
    altered(results, "as-described", {**NOTHING, "reason": "no start, 'ep' failed"}, method="qp")
    checks, _ = verify(results, "as-described")
    assert {(m, how): c.passed for (m, _, how), c in checks.items()} == {
        ("ep", "scratch"): "yes",
        ("qp", "scratch"): "yes",
    }
    assert checks["qp", 0, "scratch"].note == "fails again: no start, 'ep' failed"
    altered(results, "as-described", {"reason": "one class only"}, method="ep")
    check = verify(results, "as-described")[0]["ep", 0, "scratch"]
    assert check.passed == "no" and check.note.startswith("fails for another reason")


def test_a_failure_that_is_not_repeated_is_found(results):
    altered(results, "as-released", {**NOTHING, "reason": "one class only"}, method="ep", fold=0)
    check = verify(results, method="ep")[0]["ep", 0, "scratch"]
    assert (check.passed, check.note) == ("no", "does not fail today; recorded: one class only")


def test_another_fixed_point_is_verified_by_search(results, monkeypatch):
    """One inference ends elsewhere, the search where it did."""

    def elsewhere(*arguments):
        found = infer_at(*arguments)
        return replace(found, log_evidence=found.log_evidence + 0.5)

    monkeypatch.setattr(hyperparameters, "infer_at", elsewhere)
    checks, _ = verify(results, "corrected")
    fixed, search = (checks["ep", 0, how] for how in ("fixed", "scratch"))
    assert fixed.passed == "by search" and fixed.difference > 1e-3
    assert search.passed == "yes" and search.difference < 1e-6


def test_a_search_that_was_made_again_is_not_made_twice(results, monkeypatch):
    made, outcome = [], rerun.outcome

    def elsewhere(bench, line, how):
        made.append(how)
        return outcome(bench, line, how)._replace(passed="no" if how == "fixed" else "yes", difference=0.0)

    monkeypatch.setattr(rerun, "outcome", elsewhere)
    checks, _ = verify(results, scratches=2, method="ep")
    assert {check.passed for check in checks.values()} == {"by search", "yes"}
    assert sorted(made) == ["fixed", "fixed", "scratch", "scratch"]


def test_what_cannot_be_made_again_says_why(results, monkeypatch):
    changed(results, "as-released", lambda frame: frame[frame["method"] != "ep-tune"])
    _, missing = verify(results, method="qp")  # neither pair nor start
    name = "qp/as-released.csv.gz as-released wine13 qp"
    assert missing == [f"{name}: no record of 'ep-tune', seed 0, fold {fold}" for fold in (0, 1)]

    def unavailable(name, *_, **__):
        raise DownloadError(f"could not get '{name}.data'; tried:\n  everything\nTo place it by hand: ...")

    rerun.loaded.cache_clear()
    monkeypatch.setattr(rerun.data, "load", unavailable)
    _, missing = verify(results, method="ep")
    remedy = "set TILTED_DATA_MIRROR or --mirror to a folder or URL that has it"
    assert set(missing) == {f"{name[:-2]}ep: could not get 'wine13.data'; {remedy}"}


def test_a_pair_whose_method_the_protocol_has_no_more_is_said(results, monkeypatch):
    monkeypatch.setattr(protocols, "job_of", lambda methods, name: name if name in methods else None)
    _, missing = verify(results, method="qp")
    assert {text.rsplit(": ", 1)[1] for text in missing} == {"'ep-tune' is not in today's protocol"}


def test_a_line_whose_method_the_protocol_has_no_more_is_said_and_loud(results, monkeypatch):
    monkeypatch.setattr(protocols, "job_of", lambda methods, name: None)
    checks, missing = verify(results, method="ep")
    assert not checks and set(missing) == {
        "qp/as-released.csv.gz as-released wine13 ep: 'ep' is not in today's protocol"
    }
    (group,) = (g for g in standing.groups(FITS["as-released"], results) if g.name.endswith(" ep"))
    assert any(text.startswith("ANOTHER PROTOCOL THAN TODAY'S") for text in standing.loud([group]))


def test_what_was_made_again_counts_for_its_run(results):
    verify(results, method="ep")
    study = FITS["as-released"]
    checks, frame = verified.read(results), records.load(study, results)
    assert len(verified.counting(checks, study, frame)) == 2
    assert not verified.counting(checks, study, frame.assign(run="another"))
