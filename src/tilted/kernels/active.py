"""A kernel that sees some columns of the inputs: ``Active(Matern(), (0, 2)) + Active(Periodic(), 1)``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilted.kernels.around import Around
from tilted.kernels.compound import is_kernel


@dataclass(frozen=True)
class Active(Around):
    """A kernel of some columns.

    Parameters
    ----------
    kernel : Kernel
        Its parameters are those of this one; lengthscales of ARD are those of the columns.
    columns : int or sequence of int
        Numbers of columns of X, from 0, each once.

    Raises
    ------
    ValueError
        For what is no kernel, for no columns and such that are no numbers of columns or stand twice.

    Examples
    --------
    >>> import numpy as np
    >>> from tilted.kernels import Active, Periodic, SquaredExponential
    >>> kernel = Active(SquaredExponential(), 0) + Active(Periodic(period=12.0), 1)
    >>> kernel.matrix(np.array([[0.0, 0.0], [1.0, 12.0]])).round(3)
    array([[2.   , 1.607],
           [1.607, 2.   ]])
    """

    columns: int | Sequence[int] = (0,)

    def __post_init__(self) -> None:
        if not is_kernel(self.kernel):
            raise ValueError(f"Active is made of a kernel and columns, got {self.kernel!r}")
        columns = np.atleast_1d(self.columns)
        valid = np.issubdtype(columns.dtype, np.integer) and np.all(columns >= 0)
        if columns.ndim != 1 or len(columns) == 0 or not valid or len(np.unique(columns)) < len(columns):
            raise ValueError(f"columns are different numbers from 0, got {self.columns!r}")
        object.__setattr__(self, "columns", tuple(columns.tolist()))

    def _inner_inputs(self, X: np.ndarray) -> np.ndarray:
        if max(self.columns) >= X.shape[1]:  # type: ignore[arg-type]  # a tuple by now
            raise ValueError(f"column {max(self.columns)} of inputs of dimension {X.shape[1]}")  # type: ignore[arg-type]
        return X[:, self.columns]

    def _spread(self, by_inputs: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Derivatives in all columns from those in the seen ones."""
        out = np.zeros(np.shape(X))
        out[:, self.columns] = by_inputs
        return out
