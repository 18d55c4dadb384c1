"""What is said about records of another source: loud, quiet once a sample is verified, loud if it differs."""

import pytest

from tilted.results import runs, standing, verified

EP = ("as-released", "wine12", "ep")


def entry(**changes):
    source, choices = runs.todays(*EP)
    names = dict(zip(("protocol", "dataset", "method"), EP, strict=True))
    today = {**names, "source": source, "choices": choices, "environment": "e", "date": "2026-01-01"}
    return {**today, "seeds": "0", "n_attempted": 10, "n_converged": 9, "core_seconds": 3600.0} | changes


def made(*folds, seed=0, how="fixed", passed="yes", name=EP):
    source, choices = runs.todays(*name)
    return [
        verified.Check(*name, seed, fold, how, 0.0, 0.0, 0.0, passed, "", "r", source, choices)
        for fold in folds
    ]


def many(**changes):
    """Ten seeds of ten folds."""
    return entry(**({"source": "old", "seeds": "0-9", "n_attempted": 100} | changes))


def sample(n=standing.ENOUGH, first_seed=0, **how):
    """Checks of n folds, ten a seed."""
    return [check for k in range(n) for check in made(k % 10, seed=first_seed + k // 10, **how)]


def test_what_is_not_todays_is_listed_with_its_reason():
    assert standing.notes([entry()]) == standing.Notes([], [], [])
    listed = [entry(source="old"), entry(source="old", dataset="wine13", choices=runs.todays(*EP)[1])]
    found = standing.notes(listed)
    (text,) = found.outdated
    assert text == "as-released ep, 20 fits of Wine1, Wine2: source old of 2026-01-01, today's differs"
    assert found.loud == [f"NOT BY TODAY'S SOURCE: {text}"]
    (text,) = standing.notes([entry(choices="old")]).outdated
    assert text.endswith("protocol old of 2026-01-01, today's differs")
    assert "unknown source" in standing.notes([entry(source="")]).outdated[0]
    assert "not a method" in standing.notes([entry(method="laplace")]).outdated[0]


def test_thirty_verified_folds_make_the_note_quiet():
    checks = sample(30) + made(3, how="scratch")
    found = standing.notes([many()], checks)
    assert not found.outdated and not found.loud
    assert found.verified == [
        "as-released ep, 100 fits of Wine1: made by other source (old, 2026-01-01), "
        "30 folds verified with today's (1 from scratch)"
    ]


@pytest.mark.parametrize(
    "checks",
    [
        sample(29),  # too few
        sample(29) + made(3),  # twenty-nine folds
        sample(30, first_seed=10),  # seeds of another run
        sample(30, name=("as-released", "wine12", "qp")),
        sample(30, passed="reported"),
        sample(30) + made(8, seed=9, passed="no"),
        sample(30) + made(7, how="scratch", passed="no"),
    ],
)
def test_less_than_that_stays_loud(checks):
    found = standing.notes([many()], checks)
    assert len(found.outdated) == 1 and not found.verified


def test_a_group_smaller_than_the_sample_is_verified_whole():
    small = entry(source="old", n_attempted=2)
    assert standing.notes([small], made(0, 3, passed="by search")).verified
    assert standing.notes([small], made(0)).outdated


def test_each_row_needs_its_own_sample():
    found = standing.notes([many(), many(dataset="wine13")], sample())
    assert "Wine1:" in found.verified[0] and "Wine2:" in found.outdated[0]


def test_a_sample_does_not_excuse_another_protocol_or_an_unknown_source():
    assert standing.notes([many()], sample()).verified
    assert standing.notes([many(choices="old")], sample()).outdated
    assert standing.notes([many(source="")], sample()).outdated


def test_todays_source_that_differs_is_loud():
    found = standing.notes([entry()], made(0, 3) + made(7, passed="no"))
    assert found.loud == ["NOT REPRODUCED: as-released ep, 10 fits of Wine1: 1 of 3 folds rerun differ"]


def test_lines_of_the_table_are_loud_about_it():
    machines = {"e": {"numpy": "2", "cpu": "fast"}}
    good = "\n".join(standing.summary_lines([entry(), entry(date="2026-01-03")], machines))
    assert "| as-released | ep     |   20 |        18 |      2.000 | 2026-01-01 to 2026-01-03 |" in good
    assert "- numpy 2, cpu fast" in good and "by today's source and protocols" in good
    bad = "\n".join(standing.summary_lines([entry(source="old")], machines))
    assert "NOT BY TODAY'S SOURCE" in bad and "source old" in bad
    quiet = "\n".join(standing.summary_lines([many()], machines, sample()))
    assert "NOT" not in quiet and "30 folds verified with today's" in quiet
    assert "Every fit was made by today's" not in quiet
    differs = "\n".join(standing.summary_lines([entry()], machines, made(0, passed="no")))
    assert "### NOT REPRODUCED" in differs
