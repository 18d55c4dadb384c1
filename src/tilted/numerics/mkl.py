"""MKL's Cholesky factorisation and triangular inverse, where the package ``mkl`` is installed (extra "mkl").

numpy and scipy keep their own BLAS; only what `tilted.numerics.linalg` factorises in double precision
goes to MKL, on one thread. The results agree with LAPACK's to rounding, no further.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import metadata

import numpy as np

LP64, SEQUENTIAL = 0, 1  # MKL_INTERFACE_LP64 and MKL_THREADING_SEQUENTIAL, of mkl_service.h


@lru_cache(maxsize=1)
def library() -> ctypes.CDLL | None:
    """MKL's single dynamic library on one thread; None where the package is not installed.

    Raises
    ------
    OSError
        If it cannot be loaded, or was loaded before with other integers or threads.
    """
    try:
        files = metadata.files("mkl") or []
    except metadata.PackageNotFoundError:
        return None
    names = [file for file in files if file.name.startswith(("libmkl_rt.", "mkl_rt."))]
    for file in names:
        if ".so" in file.name or file.suffix in (".dll", ".dylib"):
            loaded = ctypes.CDLL(str(file.locate()))
            # whatever the environment asks for: 32-bit integers are what `_call` passes
            asked = loaded.MKL_Set_Interface_Layer(LP64), loaded.MKL_Set_Threading_Layer(SEQUENTIAL)
            if asked != (LP64, SEQUENTIAL):
                raise OSError(f"{file.name} does not take the interface and threading asked for: {asked}")
            return loaded
    return None


def factorise(A: np.ndarray) -> int:
    """Replace the lower triangle of ``A`` [N, N], in Fortran order, by its Cholesky factor (LAPACK's dpotrf).

    Returns
    -------
    int
        LAPACK's info: 0, or the pivot that is not positive.
    """
    return _call("dpotrf", A, b"L")


def invert(L: np.ndarray) -> int:
    """Replace the lower triangle of ``L`` [N, N], in Fortran order, by its inverse (LAPACK's dtrtri).

    Returns
    -------
    int
        LAPACK's info: 0, or the diagonal entry that is 0.
    """
    return _call("dtrtri", L, b"L", b"N")


def _call(routine: str, A: np.ndarray, *options: bytes) -> int:
    if A.dtype != np.float64 or A.strides[0] != A.itemsize or A.shape[0] != A.shape[1]:
        raise ValueError("need a square array of doubles in Fortran order")
    n, leading = len(A), A.strides[1] // A.itemsize if len(A) > 1 else 1
    info, by = ctypes.c_int(0), ctypes.byref
    numbers = by(ctypes.c_int(n)), ctypes.c_void_p(A.ctypes.data), by(ctypes.c_int(leading)), by(info)
    getattr(library(), routine)(*map(ctypes.c_char_p, options), *numbers)
    return info.value
