"""The climber of every search: what is the best, what is a wall, how often; settings are checked."""

import numpy as np
import pytest

from tilted.learning.search import METHODS, Evaluation, Search, climb

TOP = np.array([2.0, -1.0])

both = pytest.mark.parametrize("method", METHODS)


def hill(x, sound=lambda x: True):
    """-|x - TOP|^2, which is found where it is."""
    return Evaluation(-float(np.sum((x - TOP) ** 2)), -2.0 * (x - TOP), x.tolist(), sound(x))


@pytest.mark.parametrize(("method", "why"), [("lbfgs", "CONVERGENCE"), ("bfgs", "gradient is zero")])
def test_a_climb_ends_at_the_top(method, why):
    end = climb(hill, np.zeros(2), Search(method=method))
    assert end.converged and end.slope < 1e-5 and end.failures == []
    assert end.result == end.best.x.tolist() == pytest.approx(TOP)
    assert why in end.message


@both
def test_what_is_unsound_shows_the_way_and_is_not_the_best(method):
    """As an evidence whose sites did not converge."""
    seen = []

    def evaluate(x):
        seen.append(x.copy())
        return hill(x, lambda x: x[0] < 1.5)

    end = climb(evaluate, np.zeros(2), Search(method=method))
    sound = [x for x in seen if x[0] < 1.5]
    assert seen[-1] == pytest.approx(TOP) and len(sound) < len(seen)
    assert end.result == max(sound, key=lambda x: hill(x).value).tolist()
    assert not end.converged  # the search met its tolerance, and not there
    assert end.message == "stopped away from the best evaluation"


@both
def test_a_climb_is_given_up_after_so_many_lost_evaluations(method):
    """Failed or unsound, after the first; the best stands."""
    seen = []

    def evaluate(x):
        seen.append(x.copy())
        if len(seen) % 2:
            return hill(x, lambda x: len(seen) < 2)
        raise ArithmeticError("no posterior")

    end = climb(evaluate, np.zeros(2), Search(method=method), patience=3)
    assert not end.converged and end.evaluations == len(seen) == 4
    assert end.result == [0.0, 0.0] and end.failures == ["no posterior"] * 2
    assert end.message.startswith("stopped after 4 evaluations, 3 of them without sound sites")


def test_the_first_is_the_best_until_there_is_a_sound_one():
    lonely = climb(lambda x: hill(x, lambda x: False), np.zeros(2), Search())
    assert lonely.result == [0.0, 0.0] and not lonely.converged
    flat = climb(lambda x: Evaluation(0.0, np.zeros(2), None, False), np.zeros(2), Search())
    assert not flat.converged and flat.message == "stopped without a sound evaluation"
    later = climb(lambda x: hill(x, lambda x: np.any(x != 0)), TOP * 0.0, Search())
    assert later.result == pytest.approx(TOP)


@both
@pytest.mark.parametrize("wrong", [np.nan, np.inf, ArithmeticError, ValueError])
def test_what_fails_is_a_wall_and_at_the_first_an_error(wrong, method):
    def evaluate(x):
        if x[0] > 1.0 and isinstance(wrong, type):
            raise wrong("beyond the wall")
        return hill(x)._replace(value=wrong) if x[0] > 1.0 else hill(x)

    end = climb(evaluate, np.zeros(2), Search(max_iterations=30, method=method))
    assert end.result[0] <= 1.0 and len(end.failures) > 0
    assert f"{len(end.failures)} evaluations without an energy ({end.failures[0]})" in end.message
    with pytest.raises((ArithmeticError, ValueError)):
        climb(evaluate, TOP, Search(method=method))


@both
def test_rounds_start_where_they_are_told(method):
    started = []

    def again(best):
        started.append(best.x.copy())
        return best.x

    def valley(x):  # Rosenbrock's, upside down
        a, b = x
        slope = np.array([2.0 * (1.0 - a) + 400.0 * a * (b - a**2), -200.0 * (b - a**2)])
        return Evaluation(-float((1.0 - a) ** 2 + 100.0 * (b - a**2) ** 2), slope, None)

    once = climb(valley, np.zeros(2), Search(max_iterations=4, method=method), restart=again)
    assert started == [] and not once.converged
    often = climb(valley, np.zeros(2), Search(max_iterations=4, rounds=50, method=method), restart=again)
    assert len(started) > 1 and np.array_equal(started[0], once.best.x)
    assert often.best.at.value > once.best.at.value and often.evaluations > once.evaluations


def test_a_lowest_coordinate_holds():
    end = climb(hill, np.zeros(2), Search(), lowest=-0.5)
    assert end.result == pytest.approx([2.0, -0.5]) and end.converged


def test_a_lowest_coordinate_is_a_wall_to_bfgs():
    seen = []

    def evaluate(x):
        seen.append(x)
        return hill(x)

    end = climb(evaluate, np.zeros(2), Search(method="bfgs", max_iterations=100), lowest=-0.5)
    assert np.all(np.array(seen) >= -0.5) and end.result[1] < -0.49 and not end.converged


@pytest.mark.parametrize(
    "bad",
    [
        {"max_iterations": 0},
        {"rounds": 0},
        {"relative_tolerance": -1e-9},
        {"gradient_tolerance": np.inf},
        {"expected_gain": -1e-5},
        {"transform": "square"},
        {"method": "newton"},
        {"first_rows": 0},
        {"gradient": "none"},
    ],
)
def test_searches_are_checked(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Search(**bad)
