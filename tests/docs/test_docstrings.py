"""Docstrings of the public names: they give shapes of arrays, name the errors raised, cite the source."""

import ast
import doctest
import inspect
import re
import textwrap
from importlib import import_module

import pytest

import tilted
from tilted import kernels, likelihoods

ARRAYS = {"X", "y", "Xs", "Z", "m", "v", "theta"}
"""Parameters that are arrays wherever they occur in the public interface."""

SHAPE = re.compile(r"\[[A-Za-z0-9][A-Za-z0-9*, +]*\]|shape|broadcast")
CITED = re.compile(r"\[[A-Z][\w &.,-]*?\b(19|20)\d\d[^\]]*\]|\b[A-Z]\w+.{0,60}\((19|20)\d\d\)|\[PESC")
METHODS = (
    "inference/ep",
    "inference/qp",
    "inference/pep",
    "inference/rep",
    "inference/vb",
    "inference/newton",
)
METHODS += ("projections/moments", "projections/table")
METHODS += ("posteriors/dense", "posteriors/sparse", "posteriors/collapsed")
METHODS += ("likelihoods/probit", "likelihoods/step", "likelihoods/poisson")
METHODS += ("bayesopt/nfcpd", "learning/regression")
"""Modules that implement formulas of a paper."""


def public():
    """(name, object) of what `tilted` and the modules of `METHODS` offer, with the methods of classes."""
    found = {}
    for name in tilted.__all__:
        value = getattr(tilted, name)
        if inspect.ismodule(value):
            inside = getattr(value, "__all__", None) or [n for n in vars(value) if not n.startswith("_")]
            found |= {f"{name}.{n}": getattr(value, n) for n in inside}
        else:
            found[name] = value
    for name in METHODS:
        module = import_module("tilted." + name.replace("/", "."))
        found |= {
            f"{name}.{n}": o
            for n, o in vars(module).items()
            if n[0] != "_" and getattr(o, "__module__", "") == module.__name__
        }
    ours = {n: o for n, o in found.items() if getattr(o, "__module__", "").startswith("tilted")}
    for name, value in list(ours.items()):
        if inspect.isclass(value):
            members = inspect.getmembers(value, inspect.isfunction)
            ours |= {
                f"{name}.{n}": o for n, o in members if n[0] != "_" and o.__module__.startswith("tilted")
            }
    return sorted((n, o) for n, o in ours.items() if inspect.isroutine(o) or inspect.isclass(o))


def raised(function) -> set[str]:
    """Names of the exceptions that a function's own body raises."""
    names = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            call = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            names.add(call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "Exception"))
    return names


def faults(name: str, value) -> list[str]:
    """What a public name's docstring lacks."""
    text = inspect.getdoc(value) or ""
    if not text:
        return [f"{name} has no docstring"]
    if inspect.isclass(value):
        return []
    arrays = ARRAYS & set(inspect.signature(value).parameters)
    found = [f"{name} gives no shape of {sorted(arrays)}"] if arrays and not SHAPE.search(text) else []
    unnamed = {error for error in raised(value) if error not in text}
    return found + [f"{name} does not say that it raises {error}" for error in sorted(unnamed)]


def test_docstrings_say_shapes_and_errors():
    assert len(public()) > 200
    assert [fault for name, value in public() for fault in faults(name, value)] == []


WITH_EXAMPLES = {
    **{f"tilted.{n}": getattr(tilted, n) for n in tilted.__all__ if not inspect.ismodule(getattr(tilted, n))},
    **{f"kernels.{n}": getattr(kernels, n) for n in kernels.__all__},
    **{f"likelihoods.{n}": type(likelihoods.get(n)) for n in likelihoods.names() if n != "ordinal"},
    "likelihoods.Ordinal": likelihoods.Ordinal,
    "likelihoods.names": likelihoods.names,
    "likelihoods.get": likelihoods.get,
}


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_public_names_have_examples_that_run(name):
    value = WITH_EXAMPLES[name]
    (found,) = doctest.DocTestFinder(recurse=False).find(value, name, globs={})
    assert found.examples, f"{name} has no example"
    if not name.startswith("tilted.GP") and not name.startswith("tilted.Sparse"):  # run in test_estimators.py
        assert doctest.DocTestRunner().run(found).failed == 0


def test_modules_that_implement_a_formula_cite_it():
    modules = [import_module("tilted." + name.replace("/", ".")) for name in METHODS]
    assert [module.__name__ for module in modules if not CITED.search(module.__doc__)] == []


def test_faults_are_found():
    def silent(X):
        raise ValueError

    def vague(X):
        """Something of X."""
        raise ValueError("no")

    def sound(X):
        """Something of X [N, D]; ValueError if it has none."""
        raise ValueError("no")

    assert faults("f", silent) == ["f has no docstring"]
    assert faults("f", vague) == ["f gives no shape of ['X']", "f does not say that it raises ValueError"]
    assert faults("f", sound) == []
    assert CITED.search("As in [Zhang 2020, eq. 5].") and not CITED.search("As is known [N, D].")
