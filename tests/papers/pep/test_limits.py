"""PEP8: the record of the study, and what it shows."""

import numpy as np
import pytest

from papers.core import records
from papers.pep import limits
from papers.pep.records import LIMITS, make
from tilted.kernels import SquaredExponential


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    make("limits", folder)
    return records.load(LIMITS, folder)


def test_the_limits_hold_and_one_printed_pass_does_not_suffice(found):
    printed, whole = limits.recovered(found)
    assert printed.verdict == "holds in part" and whole.verdict == "holds"
    rows = printed.rows()
    assert rows.pop("one pass, printed step") == "no"
    assert len(rows) == 4 and set(rows.values()) == {"yes"}
    assert [line.sample.status for line in printed.lines[-2:]] == ["yes", "no"]  # enough at power 1 only


def test_one_printed_pass_goes_a_fraction_alpha_of_the_way(found):
    """The sites are linear: what is left after one pass is 1 - alpha."""
    part = found[found["limit"] == limits.PRINTED]
    np.testing.assert_allclose(part["difference"], 1 - part["alpha"], atol=1e-5)


@pytest.mark.parametrize(
    ("limit", "alpha", "quantity", "row"),
    [
        ("FITC", 1.0, "evidence", "α = 1 is FITC: evidence"),
        ("VFE", 0.0, "variance", "α to 0 is VFE: posterior"),
        ("VFE", 1e-6, "mean", "α to 0 is VFE: posterior"),
        ("one pass (F.4)", 1.0, "sites", "one pass, printed step"),
    ],
)
def test_each_part_can_fail(found, limit, alpha, quantity, row):
    spoiled = found.copy()
    where = (spoiled["limit"] == limit) & (spoiled["alpha"] == alpha) & (spoiled["quantity"] == quantity)
    spoiled.loc[where & (spoiled["problem"] == "middle"), "difference"] = 1e-3
    rows = limits.recovered(spoiled)[0].rows()
    assert rows[row] == "no"


def test_dense_formulas_with_all_data_as_pseudo_points_are_exact_regression():
    rng = np.random.default_rng(0)
    X, Xs = rng.standard_normal((12, 2)), rng.standard_normal((5, 2))
    y, kernel = rng.standard_normal(12), SquaredExponential(1.3, (1.0, 2.0))
    A = kernel.matrix(X) + limits.NOISE * np.eye(12)
    K = kernel.matrix(Xs, X)
    evidence = -0.5 * (y @ np.linalg.inv(A) @ y + np.log(np.linalg.det(2 * np.pi * A)))
    for limit in (limits.FITC, limits.VFE):
        found = limits.dense(limit, kernel, X, y, X, Xs)
        assert found[0] == pytest.approx(evidence)
        np.testing.assert_allclose(found[1], K @ np.linalg.inv(A) @ y)
        np.testing.assert_allclose(found[2], 1.3 - np.diagonal(K @ np.linalg.inv(A) @ K.T))
