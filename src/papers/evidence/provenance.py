"""Which code a job runs, as a hash: the workflow's cache key of jobs, and of nothing else.

Snakemake does not notice a changed imported module. `closure_hash` is the hash of the code of everything that
a module of our packages imports, directly or not; rules carry it in their parameters, so that an edit makes
again what it touches and nothing else. What does not run does not count: comments, docstrings, layout, type
hints of functions, and what stands under ``if TYPE_CHECKING``. Rules, likelihoods and kernels are found by
name at run time: a closure holds only those that are named to it, and no `REGISTRIES`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from papers.evidence.runs import content_hash

SOURCES = Path(__file__).resolve().parents[2]
ROOTS = ("tilted", "papers")
REGISTRIES = frozenset(("tilted", "tilted.inference", "tilted.kernels", "tilted.likelihoods"))
"""Packages whose own file does nothing but find modules, so that it may gain one."""

JUDGES, METRICS = "papers.evidence", "papers.evidence.metrics"
"""What keeps, verifies and judges fits; of it their numbers depend on the metrics alone."""


def closure(*modules: str, fits: bool = False) -> list[str]:
    """Names of all modules that some modules of our packages import, themselves included, `REGISTRIES` not.

    Parameters
    ----------
    modules : str
    fits : bool
        Whether only what the numbers of fits depend on is wanted: nothing of `JUDGES` but `METRICS`.

    Raises
    ------
    ValueError
        A named module does not exist.
    """
    reached: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        judges = fits and name.startswith(JUDGES) and name != METRICS
        if name not in reached and name not in REGISTRIES and not judges:
            reached.add(name)
            waiting.extend(_imports(name) - reached)
    return sorted(reached)


@lru_cache(maxsize=256)
def closure_hash(*names: str, fits: bool = False) -> str:
    """Short hash of the code of a `closure` of modules, and of single functions.

    Parameters
    ----------
    names : str
        Of modules, and ``module:name`` of functions: of these their own code counts, with what it names of
        its module's, and nothing that is imported.
    fits : bool
        As of `closure`.

    Raises
    ------
    ValueError
        A module or function does not exist.
    """
    modules = closure(*(name for name in names if ":" not in name), fits=fits)
    functions = {name: _function(name) for name in names if ":" in name}
    return content_hash({**{name: _code(_source(name)) for name in modules}, **functions})


def _function(name: str) -> dict[str, object]:
    """The code of ``module:name``, and of all at the top of its module that it needs."""
    module, _, wanted = name.partition(":")
    at_top: dict[str, ast.AST] = {}
    for node in ast.parse(_source(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            at_top[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                at_top |= {part.id: node for part in ast.walk(target) if isinstance(part, ast.Name)}
    if wanted not in at_top:
        raise ValueError(f"no '{wanted}' in {module}")
    found: dict[str, object] = {}
    waiting = [wanted]
    while waiting:
        if (one := waiting.pop()) not in found:
            found[one] = _outline(at_top[one])
            named = (part.id for part in ast.walk(at_top[one]) if isinstance(part, ast.Name))
            waiting += [other for other in named if other in at_top]
    return found


@lru_cache(maxsize=256)
def _code(source: bytes) -> str:
    """Hash of the syntax tree of a module, the same for every version of Python."""
    return content_hash(_outline(ast.parse(source)))


def _outline(node: object) -> object:
    """A syntax tree as JSON, without what does not run and empty fields (which ones exist varies by version).

    Hints of a class's fields count: a dataclass reads them.
    """
    if isinstance(node, list):
        return [_outline(item) for item in node if not _for_checkers(item)]
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = {name: value for name, value in ast.iter_fields(node) if value not in (None, [])}
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
        fields["body"] = node.body[1:]
    if isinstance(node, ast.arg):
        fields.pop("annotation", None)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        fields.pop("returns", None)
    return [type(node).__name__, {name: _outline(value) for name, value in fields.items()}]


def _for_checkers(node: object) -> bool:
    """Whether a statement is ``if TYPE_CHECKING``, or imports from `typing` (which count where used)."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "typing"
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _path(name: str) -> Path | None:
    """Source file of a module of our packages, or None."""
    base = SOURCES.joinpath(*name.split(".")) if name.split(".")[0] in ROOTS else None
    if base is None:
        return None
    for candidate in (base / "__init__.py", base.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def _source(name: str) -> bytes:
    path = _path(name)
    if path is None:
        raise ValueError(f"no module '{name}' in {' or '.join(ROOTS)}")
    return path.read_bytes()


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk`` without what stands under ``if TYPE_CHECKING``."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not _for_checkers(child):
            yield from _walk(child)


@lru_cache(maxsize=512)
def _imports(name: str) -> frozenset[str]:
    """Modules of our packages that one module imports, and its own parent packages."""
    parts = name.split(".")
    imported = {".".join(parts[:i]) for i in range(1, len(parts))}
    for node in _walk(ast.parse(_source(name))):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(other for other in imported if _path(other) is not None)
