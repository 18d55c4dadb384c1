"""The library needs numpy, scipy and scikit-learn, and nothing else: not to run, not to be imported."""

import ast
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[2] / "src" / "tilted"
NEEDED = {"numpy", "scipy", "sklearn", "tilted"}
ABSENT = "pandas matplotlib h5py pooch yaml jsonschema jinja2 tqdm snakemake papers".split()
WITHOUT = f"""
import sys
sys.modules.update(dict.fromkeys({ABSENT}))  # importing what is None there fails
import pkgutil, importlib, tilted
for module in pkgutil.walk_packages(tilted.__path__, "tilted."):
    importlib.import_module(module.name)
    print(module.name)
for name in tilted.__all__:
    getattr(tilted, name)
"""
BESIDE = """
import sys, sklearn
before = set(sys.modules)
from tilted import GPClassifier
print(*sorted(set(sys.modules) - before), sep="\\n")
"""


def printed(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def foreign(source):
    """Top-level packages that a source imports, anywhere in it, beside Python's own and the needed ones."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    return {name.split(".")[0] for name in names} - NEEDED - sys.stdlib_module_names


def test_every_module_is_imported_without_the_packages_of_the_reproduction():
    imported = printed(WITHOUT)
    files = {path for path in LIBRARY.rglob("*.py") if path.parent != LIBRARY or path.name != "__init__.py"}
    assert len(imported) == len(files)


def test_no_function_imports_another_package():
    assert {path.name: found for path in LIBRARY.rglob("*.py") if (found := foreign(path.read_text()))} == {}
    assert foreign(
        "def f():\n    import h5py.h5f as h\n    from papers.data import x\n    import numpy.fft"
    ) == {
        "h5py",
        "papers",
    }


def test_the_classifier_costs_little_beyond_scikit_learn():
    """No further part of scipy, of scikit-learn only tools; cross-validation would double what it costs."""
    names = printed(BESIDE)
    others = [name for name in names if name.split(".")[0] != "tilted"]
    assert len(names) > len(others) > 0
    assert [name for name in others if not name.startswith("sklearn.utils.")] == []
