"""Maps to positive parameters: inverses, slopes, and no warning where they overflow."""

import warnings

import numpy as np
import pytest

from tilted.numerics.optimise import TRANSFORMS, in_words


@pytest.mark.parametrize("name", TRANSFORMS)
def test_slopes_and_inverses(name):
    transform, x = TRANSFORMS[name], np.linspace(-30.0, 30.0, 25)
    p = transform.forward(x)
    assert np.all(p > 0)
    np.testing.assert_allclose(transform.inverse(p), x, rtol=1e-9, atol=1e-9)
    h = 1e-5
    slope = (transform.forward(x + h) - transform.forward(x - h)) / (2 * h)
    np.testing.assert_allclose(transform.slope(x), slope, rtol=1e-5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_step_of_a_line_search_may_overflow(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TRANSFORMS[name].forward(np.array([1e4]))[0] >= 1e4


def test_parameters_beyond_any_kernel_are_none():
    """A variance of 1e200 had an evidence, which came with overflows."""
    values = TRANSFORMS["log"].forward(np.log([1e200, 1e100, 1e-100, 1e-200]))
    assert values[0] == np.inf and values[3] == 0.0
    np.testing.assert_allclose(values[1:3], [1e100, 1e-100], rtol=1e-12)


def test_what_is_in_words_stays_as_it_is():
    """A message goes through several hands: "converged: converged: converged:" came of it."""
    for raw, said in (
        ("expected gain 1.0e-06 below 0.0001", "converged: expected gain 1.0e-06 below 0.0001"),
        ("no better point, expected gain 0 below 1", "converged: no better point, expected gain 0 below 1"),
        ("limit of 5 evaluations, expected gain 2.0", "limit of 5 evaluations, expected gain 2.0"),
        (
            "CONVERGENCE: NORM OF PROJECTED GRADIENT <= PGTOL",
            "converged: the gradient is within its tolerance",
        ),
    ):
        assert in_words(raw) == in_words(in_words(raw)) == said
        assert in_words(f"{raw}; jitter 1 on Kuu") == f"{said}; jitter 1 on Kuu"
