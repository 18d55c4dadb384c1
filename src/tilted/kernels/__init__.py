"""Covariance functions, one file each (`tilted.kernels.contract`)."""

from tilted.kernels.compound import Product, Sum
from tilted.kernels.constant import Constant
from tilted.kernels.matern import Matern
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.kernels.white import White

__all__ = ["Constant", "Matern", "Product", "SquaredExponential", "Sum", "White"]
