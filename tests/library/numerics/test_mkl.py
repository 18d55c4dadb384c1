"""Factorisations by `tilted.numerics.mkl`: the numbers of LAPACK, nothing overwritten, errors told.

Where MKL is installed it stands behind the door. Elsewhere scipy's own LAPACK does, called in the same way,
so that the calls are tested on every machine.
"""

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import cython_lapack

from tilted.inference import RULES
from tilted.inference.engine import infer
from tilted.kernels import SquaredExponential
from tilted.likelihoods.probit import Probit
from tilted.numerics import linalg, mkl
from tilted.numerics.linalg import NotPositiveDefinite
from tilted.posteriors.dense import Dense


def from_scipy(routine):
    """A LAPACK routine of scipy's as a C function: its address is in the interface for Cython."""
    capsule = cython_lapack.__pyx_capi__[routine]
    name, pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None)(pointer(capsule, name(capsule)))


@pytest.fixture
def library(monkeypatch):
    """MKL, or scipy's LAPACK in its place."""
    found = mkl.library() or SimpleNamespace(dpotrf=from_scipy("dpotrf"), dtrtri=from_scipy("dtrtri"))
    monkeypatch.setattr(mkl, "library", lambda: found)
    return found


@pytest.fixture
def without(monkeypatch):
    """Function: a result with LAPACK in the place of MKL."""

    def run(function, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(mkl, "library", lambda: None)
            return function(*arguments)

    return run


def positive(n, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return np.asfortranarray(A @ A.T + n * np.eye(n))


@pytest.mark.usefixtures("library")
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 316, 1501])
def test_factor_and_inverse_agree_to_rounding(n, without):
    A = positive(n)
    L = linalg.cholesky(A, "A")
    np.testing.assert_allclose(L, without(linalg.cholesky, A, "A"), rtol=0, atol=1e-13 * np.max(L))
    np.testing.assert_array_equal(L, np.tril(L))
    inverse = linalg.inverse_lower(L)
    expected = without(linalg.inverse_lower, L)
    np.testing.assert_allclose(inverse, expected, rtol=0, atol=1e-13 * np.max(np.abs(expected)))


@pytest.mark.usefixtures("library")
def test_inference_agrees_to_rounding(toy, without):
    X, y = toy
    posterior = Dense.build(SquaredExponential(4.0, 1.0).matrix(X))
    found = infer(posterior, Probit(), y, RULES["ep"])
    plain = without(infer, posterior, Probit(), y, RULES["ep"])
    assert found.log_evidence == pytest.approx(plain.log_evidence, rel=1e-12)
    assert found.status.sweeps == plain.status.sweeps


@pytest.mark.usefixtures("library")
def test_a_matrix_that_is_not_positive_definite_is_reported():
    with pytest.raises(NotPositiveDefinite, match="K is not positive definite \\(pivot 2 of 2\\)"):
        linalg.cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]), "K")


@pytest.mark.usefixtures("library")
def test_the_given_matrix_stays_unless_it_may_be_overwritten():
    A = positive(70)
    before = A.copy()
    linalg.inverse_lower(linalg.cholesky(A, "A"))
    np.testing.assert_array_equal(A, before)
    L = linalg.cholesky(A, "A", overwrite=True)
    assert L is A


@pytest.mark.usefixtures("library")
def test_a_leading_dimension_is_respected():
    A = positive(40)
    whole = np.asfortranarray(np.zeros((60, 60)))
    part = whole[:40, :40]
    part[...] = A
    assert mkl.factorise(part) == 0
    np.testing.assert_allclose(np.tril(part), np.linalg.cholesky(A), rtol=1e-12)
    assert not whole[40:].any() and not whole[:, 40:].any()


def test_without_the_package_nothing_is_loaded(monkeypatch):
    def absent(name):
        raise mkl.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(mkl.metadata, "files", absent)
    assert mkl.library.__wrapped__() is None


def test_the_package_s_one_dynamic_library_is_loaded_on_one_thread(monkeypatch):
    """Among its files, by name, and sequential before the first call."""
    calls = []
    names = ["libmkl_core.so.3", "libmkl_rt.so.3", "libmkl_sequential.so.3"]
    files = [SimpleNamespace(name=n, suffix=".3", locate=lambda n=n: f"lib/{n}") for n in names]
    monkeypatch.setattr(mkl.metadata, "files", lambda name: files)

    def load(path):
        calls.append(path)
        return SimpleNamespace(MKL_Set_Interface_Layer=ask, MKL_Set_Threading_Layer=ask)

    def ask(layer):
        calls.append(layer)
        return layer + wrong

    wrong = 0
    monkeypatch.setattr(ctypes, "CDLL", load)
    assert mkl.library.__wrapped__() is not None
    assert calls == ["lib/libmkl_rt.so.3", mkl.LP64, mkl.SEQUENTIAL]
    wrong = 1
    with pytest.raises(OSError, match="interface and threading"):
        mkl.library.__wrapped__()


@pytest.mark.parametrize(
    "A", [np.eye(3, dtype=np.float32), np.zeros((3, 4), order="F"), np.zeros((4, 4))[::2, ::2]]
)
def test_other_arrays_are_refused(A):
    with pytest.raises(ValueError, match="doubles in Fortran order"):
        mkl.factorise(A)
