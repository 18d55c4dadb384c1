"""Lines of the relaxed-EP paper's records made again: what differs, and what may."""

import pytest

from papers.evidence.verification.outcome import DIFFERS, PASSED, REPORTED, SCRATCH, Context
from papers.rep import choice, exact, points, rerun
from papers.rep.records import CURVES, EXACT, FITS, POINTS


@pytest.mark.parametrize(
    "ended, moved, expected",
    [
        (("converged", "converged"), 0.0, PASSED),
        (("converged", "converged"), 1e-3, DIFFERS),
        (("unsettled", "unsettled"), 0.0, PASSED),
        (("unsettled", "unsettled"), 1e-3, REPORTED),
        (("unsettled", "converged"), 1e-3, DIFFERS),
    ],
)
def test_sweeps_that_never_settle_need_not_end_where_they_did(ended, moved, expected, monkeypatch):
    line = points.line_of(-1, "ep", 1.0) | {"outcome": ended[0]}
    made = {**line, "outcome": ended[1], "mean_0": line["mean_0"] + moved}
    monkeypatch.setattr(points, "line_of", lambda *_: made)
    context = Context(mirror=None, every=POINTS.frame(), study=POINTS, folder="")
    (outcome,) = rerun._of_points(line, context)
    assert outcome.passed == expected
    assert outcome.note.startswith("did not settle") is (expected == REPORTED)


@pytest.mark.parametrize(
    "method, sweeps, expected",
    [
        ("ep", 60, DIFFERS),
        ("ep-engine", 60, REPORTED),
        ("ep-engine", 9, DIFFERS),
        ("rep-as-described", 9, REPORTED),
        ("rep-as-described", 1, DIFFERS),
    ],
)
def test_long_runs_of_chaotic_methods_may_end_elsewhere(method, sweeps, expected, monkeypatch):
    line = {
        "dataset": "blobs",
        "flips": 0.1,
        "chosen_on": 0,
        "split": 0,
        "method": method,
        "value": 1.0,
        "lengthscale": 1.0,
        "epsilon": 0.1,
        "n_train": 9,
        "n_test": 9,
        "outcome": "converged",
        "reason": "",
        "sweeps": sweeps,
        "negative_sites": 0,
        "error": 0.1,
        "nll": 0.3,
        "seconds": 0.0,
        "scratch": False,
    }
    monkeypatch.setattr(rerun, "_fitted", lambda *_: {**line, "error": 0.2})
    context = Context(mirror=None, every=FITS.frame(), study=FITS, folder="")
    assert [outcome.passed for outcome in rerun._of_fit(line, context)] == [expected]


def test_fits_are_read_once_for_all_lines_of_curves(monkeypatch, tmp_path):
    asked, fit = (
        [],
        dict.fromkeys(FITS.columns, 0) | {"dataset": "blobs", "method": "ep", "outcome": "", "reason": ""},
    )
    fits = FITS.frame([fit | {"run": "r"}])
    lines = CURVES.frame(fit | {"sweep": k, "change": 0.5, "run": "r"} for k in (1, 2))
    monkeypatch.setattr(rerun.records, "load", lambda study, folder: asked.append(study) or fits)
    monkeypatch.setattr(
        rerun, "_fitted", lambda line, recorded, mirror: {"changes": [0.5, recorded["value"]]}
    )
    context = Context(mirror=None, every=lines, study=CURVES, folder=str(tmp_path))
    (tmp_path / "SHA256SUMS").touch()
    made = [found.passed for _, (found,) in CURVES.again(lines, context)]
    assert made == [PASSED, DIFFERS] and asked == [FITS]


def test_what_stands_beside_the_exact_posterior_is_made_again_by_sampling_it():
    """A sample of lines asks for none from scratch, and no other way is known: nothing was made again."""
    lengthscale = choice.lengthscales(2)[0]
    truth = exact.sampled(0.1, 0, lengthscale, chains=4, iterations=16)
    lines = EXACT.frame([exact.line_of(truth, 0.1, 0, lengthscale, "ep", 1.0) | {"run": ""}])
    lines.loc[1] = lines.loc[0].to_dict() | {"mean_error": lines["mean_error"][0] + 1e-3}
    context = Context(mirror=None, every=EXACT.frame(), study=EXACT, folder="")
    made = [found[0] for _, found in rerun.again_exact(lines.assign(scratch=False), context)]
    assert [(found.how, found.passed) for found in made] == [(SCRATCH, PASSED), (SCRATCH, REPORTED)]
