"""Every kind of kernel: against scikit-learn's, gradients against differences, rounding, and in fits."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.gaussian_process import kernels as sk

import tilted
from tests.helpers import differences
from tilted import kernels
from tilted.estimators import GPClassifier, GPRegressor, SparseGPRegressor
from tilted.kernels import (
    Active,
    Constant,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Restricted,
    SquaredExponential,
    Sum,
    White,
)
from tilted.kernels.compound import noise_of
from tilted.kernels.converted import as_kernel
from tilted.kernels.restricted import off_bounds
from tilted.kernels.stationary import squared_distances
from tilted.learning.search import Search
from tilted.posteriors.full import FullRegression

RNG = np.random.default_rng(8)
X, Z = RNG.normal(size=(14, 2)), RNG.normal(size=(5, 2))
SE, ARD = SquaredExponential(1.3, 0.8), SquaredExponential(0.7, (0.6, 1.9))
M32, M52 = Matern(1.3, 0.8), Matern(0.7, (0.6, 1.9), 2.5)
FOUR = SE + Constant(0.4) * M52 + White(0.3)
DAYS = np.linspace(0.0, 15.0, 40)[:, None]
SLOW = np.sin(DAYS[:, 0] / 3.0) + 0.1 * RNG.normal(size=40)
NOISY = (SE + White(0.2)) * (Constant(0.9) + White(0.5))
# kernel, the same of scikit-learn; a kernel without an entry here fails test_every_kernel_is_tested
EXAMPLES = {
    "SquaredExponential": (SE, 1.3 * sk.RBF(0.8)),
    "Matern": (M32, 1.3 * sk.Matern(0.8, nu=1.5)),
    "Constant": (Constant(0.4), sk.ConstantKernel(0.4)),
    "White": (White(0.3), sk.WhiteKernel(0.3)),
    "Sum": (Sum(SE, ARD), 1.3 * sk.RBF(0.8) + 0.7 * sk.RBF([0.6, 1.9])),
    "Product": (SE * M52, (1.3 * sk.RBF(0.8)) * (0.7 * sk.Matern([0.6, 1.9], nu=2.5))),
    "ARD": (ARD, 0.7 * sk.RBF([0.6, 1.9])),
    "Matern 5/2": (Matern(1.3, 0.8, 2.5), 1.3 * sk.Matern(0.8, nu=2.5)),
    "Matern 3/2, ARD": (Matern(0.7, (0.6, 1.9)), 0.7 * sk.Matern([0.6, 1.9], nu=1.5)),
    "Matern 5/2, ARD": (M52, 0.7 * sk.Matern([0.6, 1.9], nu=2.5)),
    "four parts": (
        FOUR,
        1.3 * sk.RBF(0.8)
        + sk.ConstantKernel(0.4) * (0.7 * sk.Matern([0.6, 1.9], nu=2.5))
        + sk.WhiteKernel(0.3),
    ),
}
BOUNDS = {"shape": "fixed", "lengthscale": (0.2, 3.0)}
# those whose parameters scikit-learn has not, or in another order
OTHERS = {
    "Active": Active(Matern(0.7, (1.9,)), 1),
    "Linear": Linear(0.7),
    "Periodic": Periodic(1.3, 0.8, 2.1),
    "Polynomial": Polynomial(0.3, 0.5, 3),
    "RationalQuadratic": RationalQuadratic(1.3, 0.8, 0.6),
    "Restricted": Restricted(RationalQuadratic(1.3, (0.6, 1.9)), BOUNDS),
}
KERNELS = {name: kernel for name, (kernel, _) in EXAMPLES.items()} | {
    **OTHERS,
    "Linear, ARD": Linear((0.7, 0.2)),
    "Periodic, ARD": Periodic(1.3, (0.8, 1.1), 2.1),
    "RationalQuadratic, ARD": RationalQuadratic(1.3, (0.8, 1.1), 0.6),
    "not stationary, with noise": Linear(0.7) * Active(Periodic(1.3, 0.8, 2.1), 0)
    + Polynomial()
    + White(0.3),
    "noisy column": Active(SquaredExponential(0.7, 0.9) + White(0.2), 1) * ARD,
    "noisy product": NOISY,
    "noisy product of noises": Product(White(0.6), SE) + M32,
    "a share of what is noisy and not stationary": Product(Constant(0.4), Linear((0.7, 0.5)) + White(0.3)),
    "the same of a column": Product(Active(Linear(0.7), 1) + White(0.3), SE),
}


def test_every_kernel_is_tested():
    assert set(kernels.__all__) <= set(KERNELS)
    assert all(type(KERNELS[name]).__name__ == name for name in kernels.__all__)


@pytest.mark.parametrize("name", EXAMPLES)
def test_matrices_and_gradients_equal_scikit_learn(name):
    ours, theirs = EXAMPLES[name]
    K, slopes = theirs(X, eval_gradient=True)
    np.testing.assert_allclose(ours.matrix(X), K, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours.matrix(Z, X), theirs(Z, X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(ours.diagonal(X), theirs.diag(X), rtol=1e-14)
    G = RNG.normal(size=K.shape)
    np.testing.assert_allclose(ours.parameters(), np.exp(theirs.theta), rtol=1e-14)
    expected = np.einsum("ij,ijp->p", G, slopes) / ours.parameters()
    for distances in (None, ours.distances(X)):
        found = ours.contract_gradient(X, ours.matrix(X, distances=distances), G, distances)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_finite_differences(name):
    kernel = KERNELS[name]
    p = kernel.parameters()
    same = kernel.with_parameters(p)
    assert same == kernel or name == "Restricted"  # whose parameters go by logarithms
    np.testing.assert_allclose(same.parameters(), p, rtol=1e-13)
    of = kernel.with_parameters
    G, H, g = RNG.normal(size=(5, 14)), RNG.normal(size=(14, 14)), RNG.normal(size=14)
    by_parameters, by_Z = kernel.contract_cross(Z, X, kernel.matrix(Z, X), G)
    direct = differences(lambda p: np.vdot(G, of(p).matrix(Z, X)), p)
    np.testing.assert_allclose(by_parameters, direct, rtol=1e-7, atol=1e-8)
    direct = differences(lambda Z: np.vdot(G, kernel.matrix(Z, X)), Z)
    np.testing.assert_allclose(by_Z, direct, rtol=1e-7, atol=1e-8)
    direct = differences(lambda p: np.vdot(H, of(p).matrix(X)), p)
    for distances in (None, kernel.distances(X)):
        found = kernel.contract_gradient(X, kernel.matrix(X), H, distances)
        np.testing.assert_allclose(found, direct, rtol=1e-7, atol=1e-8)
    direct = differences(lambda p: g @ of(p).diagonal(X), p)
    by_parameters, by_X = kernel.contract_diagonal(X, g)
    np.testing.assert_allclose(by_parameters, direct, rtol=1e-8, atol=1e-8)
    direct = differences(lambda X: g @ kernel.diagonal(X), X)
    np.testing.assert_allclose(by_X, direct, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
def test_one_set_of_points_and_two_equal_ones_differ_by_the_noise(name):
    """The matrix of X has independent noise on its diagonal, that between X and a copy has none."""
    kernel = KERNELS[name]
    noise = noise_of(kernel)
    assert (noise > 0) == ("White" in repr(kernel))
    for other in (X, X.copy()):
        np.testing.assert_allclose(kernel.matrix(X) - kernel.matrix(X, other), noise * np.eye(14), atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(kernel.matrix(X)), rtol=1e-14)
    G, p = RNG.normal(size=(14, 14)), kernel.parameters()
    for K, matrix in (
        (kernel.matrix(X), lambda p: kernel.with_parameters(p).matrix(X)),
        (kernel.matrix(X, X), lambda p: kernel.with_parameters(p).matrix(X, X)),
    ):
        found = kernel.contract_cross(X, X, K, G)[0]
        np.testing.assert_allclose(found, differences(lambda p, m=matrix: np.vdot(G, m(p)), p), atol=1e-7)


@pytest.mark.parametrize("name", KERNELS)
def test_matrices_are_positive_definite(name):
    wide = np.vstack([RNG.normal(size=(60, 2)), RNG.normal(size=(1, 2)).repeat(3, axis=0)])  # with duplicates
    K = KERNELS[name].matrix(wide)
    smallest = np.linalg.eigvalsh(K)[0]
    assert smallest > noise_of(KERNELS[name]) - 1e-12 * np.trace(K)
    np.testing.assert_array_equal(K, K.T)


SCALE = sk.RBF(0.8, length_scale_bounds=(0.1, 7.0))
FIXED = sk.ConstantKernel(2.0, "fixed")
SQUARED = {"variance": (1e-4**2, 1e5**2)}
EQUIVALENTS = [
    (sk.RBF(0.8), Restricted(SquaredExponential(1.0, 0.8), {"variance": "fixed"})),
    (1.3 * sk.RBF(0.8), SE),
    (sk.RBF(0.8) * 1.3, SE),
    (1.3 * SCALE, Restricted(SE, {"lengthscale": (0.1, 7.0)})),
    (
        sk.ConstantKernel(1.3, "fixed") * sk.RBF([0.6, 1.9], "fixed"),
        Restricted(SquaredExponential(1.3, (0.6, 1.9)), {"variance": "fixed", "lengthscale": "fixed"}),
    ),
    (0.7 * sk.Matern([0.6, 1.9], nu=2.5) + sk.WhiteKernel(0.3), M52 + White(0.3)),
    (2.0 * sk.Matern(0.8, nu=np.inf), SquaredExponential(2.0, 0.8)),
    (1.3 * sk.RationalQuadratic(0.8, 0.6), RationalQuadratic(1.3, 0.8, 0.6)),
    (0.5 * sk.DotProduct(0.7) ** 3, Polynomial(0.5, 0.7**2, 3)),
    (sk.DotProduct(0.7), Restricted(Linear(1.0)) + Constant(0.7**2)),
    (sk.DotProduct(0.0, "fixed") * sk.ConstantKernel(0.4), Linear(0.4)),
    (sk.RBF(0.8) * sk.RBF(2.0), None),
    (sk.ConstantKernel(0.1, (1e-5, np.inf)) * sk.DotProduct(0.1) ** 2, None),
    (1.3 * sk.RBF(0.8, (0, 10.0)), Restricted(SE, {"lengthscale": (0, 10.0)})),
    (1.3 * sk.RBF([0.8]), SE),
    *(
        (kernel, None)
        for kernel in (FIXED * sk.RBF(0.8) * 1.3, 1.3 * (FIXED * sk.RBF(0.8)), FIXED * FIXED * SCALE)
    ),
    (1.3 * sk.WhiteKernel(0.5, "fixed"), None),
    (FIXED * sk.WhiteKernel(0.5, "fixed"), None),
    (sk.DotProduct(0.7, (1e-4, 1e5)), Restricted(Linear(1.0)) + Restricted(Constant(0.7**2), SQUARED)),
    (
        sk.DotProduct(0.7, (0.5, 2.0)) ** 2,
        Restricted(Polynomial(1.0, 0.7**2, 2), {"variance": "fixed", "offset": (0.25, 4.0)}),
    ),
    (SE, SE),
]


@pytest.mark.parametrize("theirs, ours", EQUIVALENTS, ids=lambda kernel: repr(kernel)[:60])
def test_kernels_of_scikit_learn_are_taken_for_their_equivalents(theirs, ours):
    found = as_kernel(theirs, 2)
    assert ours is None or found == ours
    if theirs is not SE:
        np.testing.assert_allclose(found.matrix(X), theirs(X), rtol=1e-12)
        np.testing.assert_allclose(found.matrix(Z, X), theirs(Z, X), rtol=1e-12)
        assert len(found.parameters()) == len(theirs.theta)


@pytest.mark.parametrize(
    "mixed, ours",
    [
        (1.3 * sk.RBF(0.8) + White(0.3), SE + White(0.3)),
        (White(0.3) + 1.3 * sk.RBF(0.8), White(0.3) + SE),
        (1.3 * sk.RBF(0.8) * M52, SE * M52),
        (M52 * (1.3 * sk.RBF(0.8)), M52 * SE),
        (Constant(1.3) * sk.RBF(0.8), SE),
        (1.3 * sk.RBF(0.8) + FOUR + sk.WhiteKernel(0.1), SE + FOUR + White(0.1)),
    ],
    ids=lambda _: "",
)
def test_kernels_of_both_libraries_are_combined(mixed, ours):
    assert as_kernel(mixed, 2) == ours
    assert as_kernel(clone(mixed), 2) == ours
    assert tilted.GPRegressor(kernel=mixed, optimise=None).fit(X, X[:, 0]).kernel_ == ours


def test_of_one_column_periods_are_scikit_learn_s():
    theirs = 1.3 * sk.ExpSineSquared(0.8, 2.1)
    found = as_kernel(theirs, 1)
    np.testing.assert_allclose(found.matrix(X[:, :1]), theirs(X[:, :1]), rtol=1e-12)
    assert found == Periodic(1.3, 0.8, 2.1)


@pytest.mark.parametrize(
    "kernel, message",
    [
        (sk.ExpSineSquared(), "no covariance of more than one column"),
        (sk.Matern(nu=0.5), "smoothness 1.5, 2.5 or inf"),
        (sk.PairwiseKernel(), "no equivalent of scikit-learn's PairwiseKernel"),
        (sk.CompoundKernel(0), "kernel cannot be a CompoundKernel"),
        (sk.CompoundKernel([sk.RBF()]), "kernel cannot be a CompoundKernel"),
        (sk.RBF() ** 2, "powers are whole ones of a DotProduct"),
        (sk.RBF([1.0, 2.0], [(0.1, 10), (0.2, 10)]), "bounds must be the same for every column"),
        (SquaredExponential, "must be a kernel"),
        ("rbf", "must be a kernel"),
    ],
)
def test_what_has_no_equivalent_is_refused(kernel, message):
    with pytest.raises(ValueError, match=message):
        as_kernel(kernel, 2)


def test_a_search_keeps_to_bounds_and_to_what_is_fixed(toy):
    inputs, y = toy
    free = tilted.fit(inputs, y, kernel=SquaredExponential(2.0, 1.0)).kernel
    wide = Restricted(SquaredExponential(2.0, 1.0), {"lengthscale": (1e-3, 1e3)})
    inside = tilted.fit(inputs, y, kernel=wide, search=Search("log"))
    assert inside.status.converged
    np.testing.assert_allclose(inside.kernel.kernel.parameters(), free.parameters(), rtol=1e-2)
    fixed = Restricted(SquaredExponential(2.0, 1.0), {"variance": "fixed"})
    high = tilted.fit(inputs, y, kernel=fixed).kernel.kernel.lengthscale * 0.8
    narrow = {"lengthscale": (0.7 * high, high), "variance": "fixed"}
    found = tilted.fit(
        inputs, y, kernel=Restricted(SquaredExponential(2.0, 0.8 * high), narrow)
    ).kernel.kernel
    assert found.variance == 2.0 and found.lengthscale < high  # beyond which the evidence rises
    assert found.lengthscale == pytest.approx(high, rel=1e-2)
    with pytest.raises(ValueError, match="lengthscale must lie between its bounds"):
        Restricted(SE, {"lengthscale": (2.0, 3.0)})


@pytest.mark.parametrize("bounds", [(1e-5, 1e5), (0.3, 2.0)])
@pytest.mark.parametrize("u", [1e-300, 1e18])
def test_however_far_a_search_goes_it_ends_between_the_bounds(u, bounds):
    within = Restricted(SquaredExponential(1.0, 1.0), {"lengthscale": bounds})
    found = within.with_parameters(np.array([1.0, u]))
    assert bounds[0] < found.kernel.lengthscale < bounds[1]
    seen = found.parameters()
    assert np.all((seen > 1e-100) & (seen < 1e100))  # where a search may start
    again = found.with_parameters(seen).kernel.lengthscale
    assert again == pytest.approx(found.kernel.lengthscale, rel=1e-14)


@pytest.mark.parametrize("start", [0.5, 50.0])
def test_a_search_may_start_at_a_bound(start):
    """Where the coordinate of the search has no slope; what is kept stays there."""
    kernel = sk.ConstantKernel(1.0) * sk.RBF(start, (0.5, 50.0)) + sk.WhiteKernel(0.1)
    kept = tilted.GPRegressor(kernel=kernel, optimise=None).fit(DAYS, SLOW)
    assert kept.kernel_.first.kernel.lengthscale == start
    found = tilted.GPRegressor(kernel=kernel).fit(DAYS, SLOW)
    free = tilted.GPRegressor(kernel=SE + White(0.1)).fit(DAYS, SLOW)
    assert found.kernel_.first.kernel.lengthscale == pytest.approx(free.kernel_.first.lengthscale, rel=1e-2)
    period = sk.ExpSineSquared(1.0, 1.0, periodicity_bounds=(1.0, 10.0))
    assert off_bounds(as_kernel(period, 1)).kernel.period == pytest.approx(10.0**0.01)


@pytest.mark.parametrize("bounds", [(0, np.inf), (0, 50.0), (0.1, np.inf)])
def test_a_bound_that_is_0_or_infinite_is_none(bounds):
    kernel = Restricted(SE, {"lengthscale": bounds})
    free, wide = (tilted.GPRegressor(kernel=k).fit(DAYS, SLOW).kernel_ for k in (SE, kernel))
    assert wide.kernel.lengthscale == pytest.approx(free.lengthscale, rel=1e-2)


def test_a_kernel_without_free_parameters_is_kept(toy):
    found = tilted.fit(*toy, kernel=Restricted(SE))
    assert found.kernel == Restricted(SE) and found.status.converged
    assert found.log_evidence == tilted.fit(*toy, kernel=SE, optimise=False).log_evidence


def test_noise_of_products_is_what_no_point_shares():
    assert noise_of(NOISY) == pytest.approx((1.3 + 0.2) * (0.9 + 0.5) - 1.3 * 0.9, rel=1e-14)
    assert noise_of(White(0.6) * SE) == pytest.approx(0.6 * 1.3, rel=1e-14)
    assert noise_of(White(0.5) * White(0.3)) == pytest.approx(0.15, rel=1e-14)


def test_operators_stand_on_either_side():
    for other in (SE, White(2.0), Constant(2.0), M32, Sum(SE, SE), Product(SE, SE)):
        assert SE + other == Sum(SE, other) and other + SE == Sum(other, SE)
        assert SE * other == Product(SE, other) and other * SE == Product(other, SE)
        for wrong in (lambda k: np.ones(2) * k, lambda k: k + np.ones(2), lambda k: k + "noise"):
            with pytest.raises(TypeError, match="unsupported operand|does not support ufuncs"):
                wrong(other)
        for wrong in (lambda k: k + 2.0, lambda k: 1 + k, lambda k: sum([k, k])):
            with pytest.raises(TypeError, match="are of two kernels, such as Constant"):
                wrong(other)
        for wrong in (lambda k: -1.0 * k, lambda k: k * 0.0):
            with pytest.raises(ValueError, match="finite and positive"):
                wrong(other)


@pytest.mark.parametrize("factor", [2, np.float64(2.0)])
def test_numbers_are_factors_of_the_variance(factor):
    """And add no parameter that another one could undo."""
    for kernel in KERNELS.values():
        for scaled in (factor * kernel, kernel * factor):
            np.testing.assert_allclose(scaled.matrix(X), 2.0 * kernel.matrix(X), rtol=1e-13)
            assert len(scaled.parameters()) == len(kernel.parameters())


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: Matern(0.0), "finite and positive, got 0"),
        (lambda: Matern(1.0, -1.0), "finite and positive, got -1"),
        (lambda: Matern(1.0, (1.0, np.inf)), "finite and positive, got inf"),
        (lambda: Matern(smoothness=0.5), "smoothness must be 1.5 or 2.5, got 0.5"),
        (lambda: Matern(1.0, (1.0, 2.0, 3.0)).matrix(X), "3 lengthscales for inputs of dimension 2"),
        (lambda: M32.matrix(X, Z, M32.distances(X)), "distances are those among X"),
        (lambda: White(-1.0), "variance must be finite and positive, got -1"),
        (lambda: Linear((1.0, 2.0)).matrix(X[:, :1]), "2 variances for inputs of dimension 1"),
        (lambda: Polynomial(degree=1.5), "degree must be a whole number"),
        (lambda: Polynomial(offset=0.0), "offset must be finite and positive"),
        (lambda: Periodic(period=-1.0), "period must be finite and positive"),
        (lambda: Active(SE, (0, 0)), "columns are different numbers from 0"),
        (lambda: Active(SE, 2).matrix(X), "column 2 of inputs of dimension 2"),
        (
            lambda: Restricted(SE, {"period": "fixed"}),
            "no parameter 'period' of .*; it has variance, lengthscale",
        ),
        (lambda: Restricted(SE, {"variance": (2.0, 1.0)}), "bounds are 0 <= low < high"),
        (lambda: Restricted(SE, {"variance": 2.0}), "bounds are 0 <= low < high.*variance=2.0"),
        (lambda: Restricted(SE, {"variance": (1,)}), "bounds are 0 <= low < high"),
        (lambda: Restricted(SE, {"variance": (1, None)}), "bounds are 0 <= low < high"),
        (lambda: Restricted(SE, {"variance": "Fixed"}), "bounds are 0 <= low < high.*'Fixed'"),
        (lambda: Restricted(SE, (0.1, 10.0)), "bounds are a mapping of names"),
        (lambda: Restricted(SE + SE), "restrict .*, not Sum of it"),
        (lambda: White(0.1) * Linear(), "noise has one variance everywhere"),
        (lambda: (Linear() + White(0.1)) * (Linear() + SE), "noise has one variance everywhere"),
        (lambda: Sum(SE, 2.0), "a Sum is made of two kernels, got 2.0"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_predictions_at_training_inputs_have_a_noise_of_their_own(toy):
    """White noise is no part of what neighbours share: latent variances at X exceed it, means ignore it."""
    inputs, y = toy
    kernel = SquaredExponential(2.0, 1.0) + White(0.5)
    found = tilted.fit(inputs, y, "gaussian", kernel=kernel, optimise=False)
    mean, variance = found.predict_latent(inputs)
    smooth = SquaredExponential(2.0, 1.0).matrix(inputs)
    C = smooth + 1.5 * np.eye(len(y))
    np.testing.assert_allclose(mean, smooth @ np.linalg.solve(C, y), atol=1e-8)
    np.testing.assert_allclose(
        variance, 2.5 - np.einsum("ij,ji->i", smooth, np.linalg.solve(C, smooth)), atol=1e-8
    )


def test_white_noise_in_the_kernel_is_noise_of_the_likelihood():
    y = np.sin(X[:, 0])
    problem, kernel = FullRegression(X, y), Matern(1.1, 0.9, 2.5)
    inside = problem.evaluate(kernel + White(0.3), Z[:0], 0.2)
    outside = problem.evaluate(kernel, Z[:0], 0.5)
    assert inside[0].log_evidence == pytest.approx(outside[0].log_evidence, rel=1e-12)
    np.testing.assert_allclose(inside[1].kernel, np.append(outside[1].kernel, outside[1].noise), rtol=1e-9)


@pytest.mark.parametrize(
    "fit",
    [
        lambda X, y: tilted.GPRegressor(kernel=Linear(1.0)).fit(X, y),
        lambda X, y: tilted.GPClassifier(kernel=Linear(1.0) * SquaredExponential(1.0, 1.0)).fit(X, y > 3.0),
        lambda X, y: tilted.SparseGPClassifier(kernel=Linear(1.0), n_pseudo=5).fit(X, y > 3.0),
        lambda X, y: tilted.fit(X, np.where(y > 3.0, 1.0, -1.0), kernel=Linear(1.0)),
    ],
)
def test_rows_of_which_f_is_known_are_named(fit):
    """A matrix named Sigma was not positive definite, or pseudo-inputs were blamed."""
    X = np.arange(20.0)[::-1, None]
    with pytest.raises(ValueError, match=r"no variance at row 19 \(1 such rows\).*add a Constant"):
        fit(X, 0.3 * X[:, 0] + 0.2 * np.random.default_rng(0).normal(size=20))
    with pytest.raises(ArithmeticError, match="0 as a linear kernel's at inputs of 0"):
        tilted.SparseGPRegressor(kernel=Linear(1.0), n_pseudo=5).fit(X, 0.3 * X[:, 0])
    model = tilted.GPRegressor(kernel=Linear(1.0)).fit(X + 1.0, 0.3 * X[:, 0])
    assert model.predict(np.zeros((1, 1))).shape == (1,)
    with pytest.raises(ArithmeticError, match="0 as a linear kernel's at inputs of 0"):
        model.predict(np.zeros((1, 1)), return_std=True)


def test_periods_are_of_the_differences_however_far_from_zero():
    """At 2^40 angles had lost twelve digits, and the gradient was that of another matrix."""
    near = np.arange(24)[:, None] * 0.25
    far, kernel = 2.0**40 + near, Periodic(1.0, 1.0, 2.0)  # sums and the period's multiples are exact
    np.testing.assert_array_equal(kernel.matrix(far), kernel.matrix(near))
    np.testing.assert_array_equal(kernel.matrix(far, near[:3]), kernel.matrix(near, near[:3]))
    weights = np.random.default_rng(0).normal(size=(24, 24))
    found = kernel.contract_gradient(far, kernel.matrix(far), weights)[-1]
    assert found == pytest.approx(kernel.contract_gradient(near, kernel.matrix(near), weights)[-1], abs=1e-9)


FAR = 2.0**20  # added to multiples of 2^-10 it is exact


def dyadic(n, dimension):
    return np.round(RNG.standard_normal((n, dimension)) * 2**10) / 2**10


def test_gradients_do_not_lose_their_digits_far_from_the_origin():
    kernel, X, Z = SquaredExponential(1.3, (0.8, 1.2)), dyadic(30, 2), dyadic(5, 2)
    G = RNG.standard_normal((5, 30))
    here = kernel.contract_cross(Z, X, kernel.matrix(Z, X), G)
    there = kernel.contract_cross(Z + FAR, X + FAR, kernel.matrix(Z + FAR, X + FAR), G)
    for a, b in zip(here, there, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dimension", [3, 8, 9, 20])
def test_distances_do_not_lose_their_digits_far_from_the_origin(dimension):
    A, B = dyadic(40, dimension), dyadic(7, dimension)
    np.testing.assert_allclose(
        squared_distances(A + FAR, B + FAR, np.inf), cdist(A, B, "sqeuclidean"), rtol=1e-12
    )
    np.testing.assert_allclose(
        squared_distances(A + FAR, A + FAR, np.inf), cdist(A, A, "sqeuclidean"), rtol=1e-12, atol=1e-12
    )


def test_one_large_feature_does_not_drown_the_others():
    """Two groups 1e8 apart in one of nine features: within a group the other eight decide."""
    X = np.column_stack([np.repeat([0.0, 1e8], 15), dyadic(30, 8)])
    exact = np.exp(-0.5 * cdist(X, X, "sqeuclidean"))
    kernel = SquaredExponential()
    for same in (kernel, SquaredExponential(1.0, (1.0,) * 9)):
        np.testing.assert_allclose(same.matrix(X), exact, atol=1e-12)
        np.testing.assert_allclose(same.matrix(X, X[:4]), exact[:, :4], atol=1e-12)
    np.testing.assert_allclose(kernel.matrix(X, distances=kernel.distances(X)), exact, atol=1e-12)


@pytest.mark.parametrize("far", [1e8, 1e200])
@pytest.mark.parametrize("of", [SquaredExponential, Matern, partial(Matern, smoothness=2.5)])
def test_gradients_of_groups_far_apart_are_those_within_the_groups(of, far):
    """What has no correlation has no derivative, however far; its squared distance may overflow."""
    kernel, X, Z = of(1.3, (0.8, 1.2)), dyadic(30, 2), dyadic(5, 2)
    G, away = RNG.standard_normal((5, 30)), np.zeros(30)
    away[20:] = far
    inputs = X + away[:, None]
    with np.errstate(all="raise", under="ignore"):
        found = kernel.contract_cross(Z, inputs, kernel.matrix(Z, inputs), G)
    alone = kernel.contract_cross(Z, X[:20], kernel.matrix(Z, X[:20]), G[:, :20])
    for a, b in zip(found, alone, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


RETURNS = {
    "is not finite": [lambda K: K * np.nan, lambda K: K + np.inf],
    "must be an array": [
        lambda K: K[:-1],
        lambda K: K.tolist(),
        lambda K: None,
        lambda K: K * 1j,
        lambda K: 1.0,
    ],
    "is not symmetric": [np.triu],
}


@dataclass(frozen=True)
class Own(SquaredExponential):
    """As the one it inherits from, but for what its matrix is made of."""

    made: object = np.array

    def matrix(self, X, X2=None, distances=None):
        return self.made(super().matrix(X, X2, distances))


@pytest.mark.parametrize("kind", [GPRegressor, GPClassifier, SparseGPRegressor])
@pytest.mark.parametrize("message, made", [(said, each) for said, many in RETURNS.items() for each in many])
def test_what_such_a_kernel_returns_is_named(kind, message, made):
    """Regressions had predicted NaN, complex numbers, or by half a matrix; others raised NumPy's words."""
    X, y = np.linspace(0.0, 3.0, 8)[:, None], np.array([0.0, 1.0] * 4)
    assert np.all(np.isfinite(kind(kernel=Own(), optimise=None).fit(X, y).predict(X)))
    with pytest.raises(ValueError, match=f"of the kernel, Own, {message}"):
        kind(kernel=Own(made=made), optimise=None).fit(X, y)


def test_a_likelihoods_class_is_no_likelihood():
    with pytest.raises(ValueError, match="likelihood must be a name or a likelihood, got <class"):
        tilted.fit([[0.0], [1.0]], [-1, 1], type(tilted.likelihoods.get("probit")))
