"""Where a result comes from: source hashes, package versions, machine.

Snakemake does not notice a changed imported module. ``closure_hash`` is the hash of the code of everything
a module of this package imports, directly or not; rules carry it in their parameters, so that an edit
reruns what it touches and nothing else. What does not run does not count: comments, docstrings, layout, type
hints of functions, and what stands under ``if TYPE_CHECKING``. Rules, likelihoods and figures are imported by
name at run time (``importlib``), so a closure holds only the modules named to it; the `REGISTRIES` that find
them are no part of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

PACKAGE = Path(__file__).parent
ROOT = PACKAGE.name
PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "h5py", "matplotlib", "snakemake")
OPTIONAL = ("mkl",)
"""Named where they are installed: they change the last digits."""

REGISTRIES = frozenset(f"{ROOT}{package}" for package in ("", ".inference", ".kernels", ".likelihoods"))
"""Packages whose own file does nothing but find modules by name, so that it may gain a name."""

ABSENT = "not installed"


def closure(*modules: str) -> list[str]:
    """Names of all modules of the package that ``modules`` import statically, themselves included.

    `REGISTRIES` are left out.

    Raises
    ------
    ValueError
        If a named module does not exist in the package.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting.extend(_imports(name) - found)
    return sorted(found - REGISTRIES)


def closure_hash(*modules: str) -> str:
    """Short hash of the code of :func:`closure`, without comments, docstrings and type hints."""
    return content_hash({name: _code(_source(name)) for name in closure(*modules)})


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


def content_hash(value: object) -> str:
    """Short content hash of a JSON value; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def stamp(source: str, choices: dict[str, Any]) -> dict[str, Any]:
    """What every record of a run says about it.

    Parameters
    ----------
    source : str
        :func:`closure_hash` of the modules that run.
    choices : dict
        What the protocol says about the fit (``protocols.choices``).

    Returns
    -------
    stamp : dict
        ``source``, ``choices`` (hashes), ``environment`` (see :func:`environment`) and ``date`` (today, UTC).
    """
    return {
        "source": source,
        "choices": content_hash(choices),
        "environment": environment(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def environment() -> dict[str, str]:
    """Versions and machine, as a flat dictionary of strings."""
    versions = {name: _version(name) for name in PACKAGES}
    optional = {name: version for name in OPTIONAL if (version := _version(name)) != ABSENT}
    return {
        "python": platform.python_version(),
        **versions,
        **optional,
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _cpu(),
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ABSENT


def _path(name: str) -> Path | None:
    """Source file of a module of this package, or None."""
    base = PACKAGE.joinpath(*name.split(".")[1:]) if name.split(".")[0] == ROOT else None
    if base is None:
        return None
    for candidate in (base / "__init__.py", base.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None


def _source(name: str) -> bytes:
    path = _path(name)
    if path is None:
        raise ValueError(f"no module '{name}' in package {ROOT}")
    return path.read_bytes()


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """``ast.walk`` without what stands under ``if TYPE_CHECKING``."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not _for_checkers(child):
            yield from _walk(child)


@lru_cache(maxsize=512)
def _imports(name: str) -> frozenset[str]:
    """Modules of this package that one module imports, and its own parent packages."""
    parts = name.split(".")
    parents = {".".join(parts[:i]) for i in range(1, len(parts))}
    path = _path(name)
    package = name if path is not None and path.name == "__init__.py" else ".".join(parts[:-1])
    for node in _walk(ast.parse(_source(name))):
        if isinstance(node, ast.Import):
            candidates = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                anchor = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*anchor, *filter(None, [node.module])])
            candidates = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        parents.update(c for c in candidates if c.split(".")[0] == ROOT and _path(c) is not None)
    return frozenset(parents)


def _cpu() -> str:
    """Model name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
