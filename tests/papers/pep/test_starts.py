"""The study of starts: differences worked out by hand."""

import numpy as np
import pytest

from papers.pep import starts
from papers.pep.records import REGRESSION, line_of


def frame_of(lines):
    return REGRESSION.frame({"run": "r", **line} for line in lines)


@pytest.fixture
def fit(regression_fit):
    return regression_fit


@pytest.fixture
def frame(fit):
    """Two splits, three starts: `long` 45.5 and 0 nats above `data`, `short` failed once."""

    def one(start, split, nlml, smse, smll, outcome="ok"):
        scores = {} if outcome == "failed" else {"nlml": nlml, "smse": smse, "smll": smll}
        return line_of(fit(outcome, start=start, split=split, **scores))

    return frame_of(
        [
            one("data", 0, 100.0, 0.10, -1.0),
            one("data", 1, 200.0, 0.20, -2.0),
            one("long", 0, 145.5, 0.13, -0.7),
            one("long", 1, 200.0, 0.19, -2.1),
            one("short", 0, 90.9, 0.10, -1.0),
            one("short", 1, None, None, None, "failed"),
            one("quiet", 7, 1.0, 0.1, -1.0),  # no default start of this split
        ]
    )


def test_differences_are_paired_and_failures_counted(frame):
    found = starts.effects(frame).set_index("start")
    long, short, quiet = found.loc["long"], found.loc["short"], found.loc["quiet"]
    assert (long.n_attempted, long.n_paired, long.n_lower) == (2, 2, 0)
    np.testing.assert_allclose([long.nlml_mean, long.nlml_largest], [0.05, 0.1])
    np.testing.assert_allclose([long.smse_mean, long.smse_largest], [0.01, 0.03])
    np.testing.assert_allclose([long.smll_mean, long.smll_largest], [0.1, 0.3])
    assert (short.n_attempted, short.n_paired, short.n_lower) == (2, 1, 1)
    np.testing.assert_allclose(short.nlml_largest, -0.02)
    assert (quiet.n_attempted, quiet.n_paired) == (1, 0) and np.isnan(quiet.smse_mean)


def test_ranges_over_starts_and_over_powers(frame, fit):
    assert starts.ranges(frame)[2] == 1  # split 1 has a failure, split 7 no default start
    lines = frame[frame["split"] == 0].to_dict("records")
    for start, smll in (("data", -1.5), ("long", -1.6), ("short", -1.5)):
        lines.append(line_of(fit(alpha=1, start=start, smll=smll)))
    lines.append(line_of(fit(alpha=0, smll=9.0)))  # a power without other starts
    by_start, by_power, cells = starts.ranges(frame_of(lines))
    np.testing.assert_allclose([by_start, by_power, cells], [np.median([0.3, 0.1]), 0.5, 1])
    assert starts.ranges(frame_of([]))[2] == 0


def test_files(frame, tmp_path):
    starts.write(frame, ["Made by nobody."], tmp_path)
    csv, text = (tmp_path / name for name in starts.NAMES)
    assert csv.read_text(encoding="utf-8").splitlines()[0].split(",") == list(starts.COLUMNS)
    words = text.read_text(encoding="utf-8")
    row = next(line.split() for line in words.splitlines() if "| long" in line)
    assert row[1::2][:7] == ["boston", "0.5", "long", "2/2", "0", "+0.0500", "+0.1000"]
    assert (
        "boston (3 splits); M 5; protocol as-described.\nNot converged, of the fits from other starts: 0 of 5"
        in words
    )
    assert "\n\nMade by nobody.\n\n" in words
    assert max(map(len, words.splitlines())) <= 120


def test_nothing_without_other_starts(frame, tmp_path):
    starts.write(frame[frame["start"] == "data"], [], tmp_path)
    assert not list(tmp_path.iterdir())
