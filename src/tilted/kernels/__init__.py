"""Covariance functions, one file each (`tilted.kernels.contract`)."""

from tilted.kernels.active import Active
from tilted.kernels.compound import Product, Sum
from tilted.kernels.constant import Constant
from tilted.kernels.linear import Linear
from tilted.kernels.matern import Matern
from tilted.kernels.periodic import Periodic
from tilted.kernels.polynomial import Polynomial
from tilted.kernels.rational_quadratic import RationalQuadratic
from tilted.kernels.restricted import Restricted
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.white import White

__all__ = [
    "Active",
    "Constant",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Restricted",
    "SquaredExponential",
    "Sum",
    "White",
]
