"""Lines of the relaxed-EP paper's records made again: what differs, and what may."""

import pytest

from papers.evidence.verified import DIFFERS, PASSED, REPORTED
from papers.evidence.verify import Context
from papers.rep import points, rerun
from papers.rep.records import POINTS


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
