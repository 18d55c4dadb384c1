"""The contract of a kernel."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np


class Kernel(Protocol):
    """Contract of ``tilted.kernels``; X, X2, Z are arrays [N, D], [N2, D], [M, D], all hyperparameters > 0.

    ``matrix(X)`` is that of one set of points and ``matrix(X, X2)`` that between two sets, which differ for
    kernels with independent noise: these have a property ``noise`` too, how much of k(x, x) no other point
    shares, the same at every x (``white``).
    """

    def parameters(self) -> np.ndarray:
        """The hyperparameters [P], all positive."""

    def with_parameters(self, values: np.ndarray) -> Self:
        """Return the kernel with other hyperparameters [P], ordered as in :meth:`parameters`."""

    def distances(self, X: np.ndarray) -> Any:
        """Return the values that matrices at the same ``X`` [N, D] share for all hyperparameters, or None."""

    def matrix(self, X: np.ndarray, X2: np.ndarray | None = None, distances: Any = None) -> np.ndarray:
        """Covariance matrix [N, N2]; ``distances`` may be :meth:`distances` of ``X``."""

    def diagonal(self, X: np.ndarray) -> np.ndarray:
        """Prior variances [N]."""

    def contract_gradient(
        self, X: np.ndarray, K: np.ndarray, G: np.ndarray, distances: Any = None
    ) -> np.ndarray:
        """sum_ij G_ij dK_ij/dtheta [P], K [N, N] being the matrix at ``X``; G need not be symmetric."""

    def contract_cross(
        self, Z: np.ndarray, X: np.ndarray, K: np.ndarray, G: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Contract the gradient of K [M, N] between two sets: by parameters [P], and by Z [M, D]."""

    def contract_diagonal(self, X: np.ndarray, g: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i dk(x_i, x_i)/dtheta [P], and the derivatives in the rows of ``X`` [N, D]."""


def require_sound(kernel: Kernel, X: np.ndarray) -> None:
    """ValueError where a kernel of somebody's own breaks its contract at rows of ``X`` [N, D]."""
    if type(kernel).__module__.startswith("tilted."):
        return
    some, second_rows = X[:3], X[1:]
    second_rows = second_rows[: len(some) + 1]
    square, n = kernel.matrix(some), len(some)
    for name, value, shape in (
        ("matrix(X)", square, (n, n)),
        ("matrix(X, X2)", kernel.matrix(some, second_rows), (n, len(second_rows))),
        ("diagonal(X)", kernel.diagonal(some), (n,)),
    ):
        subject = f"{name} of the kernel, {type(kernel).__name__},"
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.shape != shape:
            raise ValueError(f"{subject} must be an array {list(shape)} of floats, got {value!r}")
        if not np.all(np.isfinite(value)):
            raise ValueError(f"{subject} is not finite: {value!r}")
    if not np.allclose(square, square.T, rtol=1e-5, atol=0.0):
        raise ValueError(f"matrix(X) of the kernel, {type(kernel).__name__}, is not symmetric: {square!r}")


def require_variance(kernel: Kernel, X: np.ndarray) -> None:
    """ValueError where f has no prior variance at one of the rows of ``X`` [N, D]."""
    without = np.flatnonzero(kernel.diagonal(X) <= 0)
    if len(without):
        raise ValueError(
            f"the kernel has no variance at row {without[0]} ({len(without)} such rows), as a linear one "
            "where all inputs are 0: f is known there; leave these rows out, or add a Constant kernel"
        )
