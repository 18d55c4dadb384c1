"""Kernels of scikit-learn as kernels of this package, where there is an equivalent.

scikit-learn's kernels have variance 1 but for ``ConstantKernel``: one of these times another kernel becomes
its variance, and without one the variance is fixed. Parameters that are "fixed" there are so here; bounds
that are not scikit-learn's default become `Restricted`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tilted.kernels.compound import Product, Sum, is_kernel
from tilted.kernels.constant import Constant
from tilted.kernels.linear import Linear
from tilted.kernels.matern import Matern
from tilted.kernels.periodic import Periodic
from tilted.kernels.polynomial import Polynomial
from tilted.kernels.rational_quadratic import RationalQuadratic
from tilted.kernels.restricted import FIXED, Restricted
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.white import White

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel

DEFAULT = (1e-5, 1e5)
EXPECTED = "kernel must be a kernel, such as tilted.SquaredExponential()"
Names = dict[str, str]  # of our fields -> of scikit-learn's


def as_kernel(kernel: Any, dimension: int) -> Kernel:
    """A kernel of this package: ``kernel`` itself, or what a kernel of scikit-learn is equivalent to.

    Parameters
    ----------
    kernel : object
    dimension : int
        Of the inputs.

    Raises
    ------
    ValueError
        For what is no kernel, and for kernels of scikit-learn without an equivalent.
    """
    if is_kernel(kernel):
        return kernel
    if not of_scikit_learn(kernel):
        raise ValueError(f"{EXPECTED}, got {kernel!r}")
    return _converted(kernel, dimension)


def of_scikit_learn(kernel: Any) -> bool:
    """Return whether it is a kernel of scikit-learn, without importing scikit-learn's module."""
    return type(kernel).__module__ == "sklearn.gaussian_process.kernels"


def _converted(kernel: Any, dimension: int) -> Kernel:
    kind = type(kernel).__name__
    if kind == "ConstantKernel" and is_kernel(kernel.constant_value):
        return kernel.constant_value  # which scikit-learn's + and * take for a number
    if kind in ("Sum", "Product"):
        first, second = (_converted(kernel_k, dimension) for kernel_k in (kernel.k1, kernel.k2))
        return Sum(first, second) if kind == "Sum" else _product(first, second)
    if kind == "CompoundKernel":  # which may have no representation
        raise ValueError("kernel cannot be a CompoundKernel, which is several kernels in one")
    if kind not in KINDS:
        raise ValueError(f"there is no equivalent of scikit-learn's {kind}, got {kernel!r}")
    return KINDS[kind](kernel, dimension)


def _product(first: Kernel, second: Kernel) -> Kernel:
    """The product; a constant times a kernel of fixed variance 1 is that kernel with a variance."""
    for factor, cofactor in ((first, second), (second, first)):
        plain, restriction = (
            (factor.kernel, factor.bounds) if isinstance(factor, Restricted) else (factor, {})
        )
        if not (isinstance(plain, Constant) and isinstance(cofactor, Restricted)):
            continue
        is_fixed = dict(cofactor.bounds or {}).get("variance") == FIXED
        if is_fixed and not isinstance(cofactor.kernel, Constant) and cofactor.kernel.variance == 1.0:  # type: ignore[attr-defined]
            bounds = {
                name: bound for name, bound in dict(cofactor.bounds or {}).items() if name != "variance"
            }
            inner = replace(cofactor.kernel, variance=plain.variance)  # type: ignore[type-var]
            bounds |= dict(restriction or {})
            return Restricted(inner, bounds) if bounds else inner
    return Product(first, second)


def _restricted(kernel: Kernel, source: Any, names: Names, fixed: tuple[str, ...] = ()) -> Kernel:
    """``kernel`` with the bounds of ``source``, and what is fixed because that has no such parameter."""
    bounds: dict[str, Any] = dict.fromkeys(fixed, FIXED)
    for name, source_name in names.items():
        bounds_of_source = getattr(source, f"{source_name}_bounds")
        if isinstance(bounds_of_source, str):
            bounds[name] = FIXED
        elif not np.allclose(bounds_of_source, DEFAULT, atol=0.0):
            if len(np.unique(np.reshape(bounds_of_source, (-1, 2)), axis=0)) > 1:
                raise ValueError(
                    f"bounds must be the same for every column, got {source_name}_bounds={bounds_of_source!r}"
                )
            bounds[name] = tuple(np.reshape(bounds_of_source, (-1, 2))[0].tolist())
    return Restricted(kernel, bounds) if bounds else kernel


def _lengthscale(kernel: Any) -> Any:
    scale = np.asarray(kernel.length_scale, dtype=float)
    return float(scale.item()) if scale.size == 1 else tuple(scale.tolist())


def _rbf(kernel: Any, dimension: int) -> Kernel:
    converted = SquaredExponential(1.0, _lengthscale(kernel))
    return _restricted(converted, kernel, {"lengthscale": "length_scale"}, ("variance",))


def _matern(kernel: Any, dimension: int) -> Kernel:
    if kernel.nu == np.inf:
        return _rbf(kernel, dimension)
    if kernel.nu not in (1.5, 2.5):
        raise ValueError(f"a Matern kernel is of smoothness 1.5, 2.5 or inf here, got {kernel!r}")
    converted = Matern(1.0, _lengthscale(kernel), kernel.nu)
    return _restricted(converted, kernel, {"lengthscale": "length_scale"}, ("variance",))


def _rational_quadratic(kernel: Any, dimension: int) -> Kernel:
    converted = RationalQuadratic(1.0, float(kernel.length_scale), float(kernel.alpha))
    return _restricted(converted, kernel, {"lengthscale": "length_scale", "shape": "alpha"}, ("variance",))


def _periodic(kernel: Any, dimension: int) -> Kernel:
    if dimension > 1:
        raise ValueError(
            "scikit-learn's ExpSineSquared is no covariance of more than one column: use "
            f"tilted.kernels.Periodic, or Active(Periodic(), 0); got {kernel!r} for {dimension} columns"
        )
    converted = Periodic(1.0, float(kernel.length_scale), float(kernel.periodicity))
    return _restricted(
        converted, kernel, {"lengthscale": "length_scale", "period": "periodicity"}, ("variance",)
    )


def _linear(kernel: Any, dimension: int) -> Kernel:
    """x . x' + sigma_0^2."""
    if kernel.sigma_0 == 0:
        return Restricted(Linear(1.0))
    level: Kernel = Constant(float(kernel.sigma_0) ** 2)
    bounds = _squared(kernel, "variance")
    return Sum(Restricted(Linear(1.0)), Restricted(level, bounds) if bounds else level)


def _power(kernel: Any, dimension: int) -> Kernel:
    """(x . x' + sigma_0^2)^degree."""
    product, degree = kernel.kernel, kernel.exponent
    if type(product).__name__ != "DotProduct" or degree != int(degree) or degree < 1 or product.sigma_0 == 0:
        raise ValueError(f"powers are whole ones of a DotProduct with sigma_0 > 0 here, got {kernel!r}")
    converted = Polynomial(1.0, float(product.sigma_0) ** 2, int(degree))
    return Restricted(converted, {"variance": FIXED} | _squared(product, "offset"))


def _squared(product: Any, name: str) -> dict[str, Any]:
    """Bounds by ``name`` of the square of a DotProduct's sigma_0; empty where they are the default ones."""
    if isinstance(product.sigma_0_bounds, str):
        return {name: FIXED}
    bounds = np.square(product.sigma_0_bounds)
    return {} if np.allclose(bounds, np.square(DEFAULT), atol=0.0) else {name: tuple(bounds.tolist())}


KINDS: dict[str, Callable[[Any, int], Kernel]] = {
    "RBF": _rbf,
    "Matern": _matern,
    "RationalQuadratic": _rational_quadratic,
    "ExpSineSquared": _periodic,
    "DotProduct": _linear,
    "Exponentiation": _power,
    "ConstantKernel": lambda k, _: _restricted(
        Constant(float(k.constant_value)), k, {"variance": "constant_value"}
    ),
    "WhiteKernel": lambda k, _: _restricted(White(float(k.noise_level)), k, {"variance": "noise_level"}),
}
