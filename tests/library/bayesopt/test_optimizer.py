"""Ask and tell: the same search as `minimise`, made elsewhere."""

import numpy as np
import pytest

from tilted.bayesopt import Optimizer
from tilted.bayesopt.loop import minimise
from tilted.bayesopt.rules import Settings

BOUNDS = [(0.0, 2.0), (-1.0, 1.0)]
SMALL = Settings(optima=4, candidates=60)


def objective(x):
    return float((x[0] - 1.2) ** 2 + x[1])


def constraint(x):
    return float(x[1] + 0.5 * x[0])


@pytest.mark.parametrize("rule, number", [("pesc", 7), ("improvement", 9), ("random", 8)])
def test_asks_what_minimise_evaluates(rule, number):
    search = Optimizer(BOUNDS, 1, rule=rule, seed=3, settings=SMALL)
    for _ in range(number):
        x = search.ask()
        np.testing.assert_array_equal(x, search.ask())
        search.tell(x, objective(x), constraint(x))
    found = minimise(objective, [constraint], BOUNDS, number, 3, rule=rule, settings=SMALL)
    assert [e.x for e in search.evaluations] == [e.x for e in found.evaluations]
    assert search.found().best.values == found.best.values
    np.testing.assert_array_equal(search.found().recommended, found.recommended)


def test_without_constraints_and_from_what_is_known():
    search = Optimizer([(0.0, 1.0)], rule="improvement", initial=3)
    for x in (0.0, 0.5, 1.0):
        search.tell([x], (x - 0.6) ** 2)
    for _ in range(3):
        x = search.ask()
        search.tell(x, (x[0] - 0.6) ** 2)
    assert abs(search.found().recommended[0] - 0.6) < 0.02


def test_a_place_beyond_a_bound_by_rounding_is_on_it():
    """As after a text with twelve digits, or a unit of another size."""
    search = Optimizer([(0.1, 1.0)])
    search.tell([0.1 - 1e-14], 1.0)
    assert search.evaluations[0].x == (0.1,)
    with pytest.raises(ValueError, match="within"):
        search.tell([0.1 - 1e-6], 1.0)


@pytest.mark.parametrize("unit", [1e-15, 1e12])
def test_units_make_no_difference(unit):
    """Femtofarads: all values below 1e-12 were taken for one, and nothing was learned."""
    found = []
    for scale in (1.0, unit):
        search = Optimizer([(0.0, 1.0)], 1, rule="improvement", initial=3)
        for _ in range(7):
            x = search.ask()
            search.tell(x, scale * (x[0] - 0.3) ** 2, [scale * (x[0] - 0.1)])
        found.append(search.found())
    assert found[1].recommended == pytest.approx(found[0].recommended, abs=1e-3)
    assert found[1].recommended == pytest.approx([0.3], abs=0.05) and found[1].confident


def test_an_objective_that_never_changes_is_said():
    search = Optimizer([(0.0, 1.0)], rule="random")
    search.tell([0.2], 3.0)
    search.tell([0.7], 3.0)
    assert "the objective is the same everywhere" in search.found().message
    search.tell([0.9], 2.0)
    assert "same everywhere" not in search.found().message


def test_a_recommendation_without_confidence_is_said():
    search = Optimizer([(0.0, 1.0)], constraints=1, rule="improvement", initial=2)
    for x in np.linspace(0.0, 1.0, 6):
        search.tell([x], x, [0.0])  # holds, and to a continuous model as likely does not
    found = search.found()
    assert found.best.feasible and not found.confident
    assert "no place is held feasible with confidence" in found.message


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Optimizer([(1.0, 0.0)]), "low below high"),
        (lambda: Optimizer(BOUNDS, -1), "constraints"),
        (lambda: Optimizer(BOUNDS, rule="best"), "no rule 'best'"),
        (lambda: Optimizer(BOUNDS, settings=Settings(decoupled=True)), "decoupled"),
        (lambda: Optimizer(BOUNDS).found(), "nothing was told"),
        (lambda: Optimizer(BOUNDS).tell([3.0, 0.0], 1.0), "within"),
        (lambda: Optimizer(BOUNDS).tell([1.0], 1.0), "within"),
        (lambda: Optimizer(BOUNDS, 1).tell([1.0, 0.0], 1.0), "1 constraints are needed, got 0"),
        (lambda: Optimizer(BOUNDS, 1).tell([1.0, 0.0], 1.0, [np.nan]), "constraint 1 is nan"),
        (lambda: Optimizer(BOUNDS).tell([1.0, 0.0], None), "the objective is"),
        (lambda: Optimizer(BOUNDS).tell([1.0, 0.0], 1e300), "objective is 1e.300 .* beyond 1e.50"),
        (lambda: Optimizer(BOUNDS, settings={}), "tilted.bayesopt.rules.Settings"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
