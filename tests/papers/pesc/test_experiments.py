"""PESC's experiments: problems with known minima, and rows with the expected numbers."""

from functools import partial

import numpy as np
import pytest

from papers.pesc import accuracy as pesc_accuracy
from papers.pesc import searches as pesc_searches
from tilted.bayesopt import nfcpd
from tilted.bayesopt.rules import Settings


def test_the_toys_minimum_is_the_published_one():
    """[Gramacy et al. 2016] give 0.5998 at about (0.1954, 0.4044)."""
    problem = pesc_searches.gramacy(0)
    assert problem.minimum == pytest.approx(0.5998, abs=5e-5)
    x = np.array([0.1954, 0.4044])
    assert problem.objective(x) == pytest.approx(0.5998, abs=1e-4)
    assert problem.constraints[0](x) == pytest.approx(0.0, abs=2e-3)
    assert problem.constraints[1](x) > 0


def test_drawn_problems_are_reproducible_and_their_minimum_is_not_beaten():
    problem, again = pesc_searches.gp(1), pesc_searches.gp(1)
    X = np.random.default_rng(0).random((2000, 2))
    values = np.array([problem.objective(x) for x in X])
    feasible = np.array([problem.constraints[0](x) >= 0 for x in X])
    assert feasible.mean() > 0.02
    assert values[feasible].min() >= problem.minimum
    assert values[feasible].min() - problem.minimum < 0.2
    assert again.minimum == problem.minimum != pesc_searches.gp(2).minimum


def test_a_search_has_a_row_for_each_number_of_evaluations(monkeypatch):
    monkeypatch.setattr(pesc_searches, "Settings", partial(Settings, candidates=50))
    lines = list(pesc_searches.rows_of("gramacy", 3, "random", [5, 10, 12]))
    assert [line["evaluations"] for line in lines] == [5, 10, 12]
    gaps = [line["observed_gap"] for line in lines if line["observed_gap"] is not None]
    assert all(gap >= 0 for gap in gaps) and gaps == sorted(gaps, reverse=True)
    assert all(line["recommended_gap"] is None or line["recommended_gap"] >= -1e-6 for line in lines)


def test_a_comparison_names_its_worst_moment():
    line = pesc_accuracy.row_of(1, 2, 1)
    assert tuple(line) == tuple(pesc_accuracy.COLUMNS)
    assert line["family"] == "1-D, K = 2" and line["constraints"] == 2
    assert line["kept"] >= 1000 and line["compared"] > 0
    assert line["mean_error_away"] <= line["mean_error"] and line["sd_error_away"] <= line["sd_error"]
    assert line["worst_function"] in ("f", "c1", "c2")
    assert line["acquisition_regret"] >= 0
    assert 1000 <= line["fewest"] <= line["kept"]


@pytest.mark.parametrize("least, share", [(0.0, 1), (1e9, 0)])
def test_errors_away_are_those_from_a_distance_on(monkeypatch, least, share):
    monkeypatch.setattr(pesc_accuracy, "AWAY", least)
    line = pesc_accuracy.row_of(1, 1, 1)
    assert line["mean_error"] > 0 and line["sd_error"] > 0
    assert line["mean_error_away"] == share * line["mean_error"]
    assert line["sd_error_away"] == share * line["sd_error"]


def test_each_step_is_judged_alone(monkeypatch):
    """EP spoilt shows in q and in all, not in the last factor; the last factor spoilt not in q."""

    def errors():
        line = pesc_accuracy.row_of(1, 1, 1)
        return [line[f"mean_error{suffix}"] for suffix in ("", "_q", "_last")]

    fine = errors()
    assert max(fine) < 0.1
    before, finish = nfcpd.before_last_factor, nfcpd.finish

    def shifted(found, Xs):
        q, *rest = before(found, Xs)
        return nfcpd.Predicted(q.mean + np.sqrt(q.variance), q.variance), *rest

    with monkeypatch.context() as patch:
        patch.setattr(nfcpd, "before_last_factor", shifted)
        everything, q, last = errors()
    assert everything > 0.5 and q > 0.9 and last == fine[2]

    def spoilt(*arguments):
        p = finish(*arguments)
        return nfcpd.Predicted(p.mean + np.sqrt(p.variance), p.variance)

    monkeypatch.setattr(nfcpd, "finish", spoilt)
    everything, q, last = errors()
    assert everything > 0.5 and last > 0.9 and q == fine[1]


def test_an_exact_ep_leaves_the_last_factors_error():
    """A problem of the study on which c changes its sign next to x*: EP is right, the last factor is not."""
    line = pesc_accuracy.row_of(1, 1, 12)
    assert line["mean_error"] > 2 and line["mean_error_last"] == pytest.approx(line["mean_error"], rel=0.05)
    assert line["mean_error_q"] < 0.02 and line["sd_error_q"] < 0.02
