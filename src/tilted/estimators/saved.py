"""Fitted estimators in a file, without pickle: an .npz of plain arrays and a description as JSON.

The description is a tree of names: dataclasses of this package with their fields, functions and methods of
its rules, kernels of scikit-learn with their parameters, and numbers of arrays. Nothing else is ever built
from a file, so that one from elsewhere can be wrong but runs no code of its own.
"""

from __future__ import annotations

import errno
import io
import json
import os
import reprlib
import uuid
from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import FunctionType, MethodType
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.gaussian_process import kernels as others
from sklearn.utils.validation import check_is_fitted

import tilted
from tilted.estimators.base import LatentFunctions
from tilted.estimators.ordinal import GPOrdinalClassifier

ZIP = b"PK"  # how a file of NumPy's arrays begins
ROUTING = "_metadata_request"  # scikit-learn's, as asked for by hand
FORMAT, VERSION = "tilted estimator", 1
RULES = "tilted.inference.", "tilted.projections."  # rooms whose functions are parts of rules


@dataclass
class _Arrays:
    """The arrays of one file; one that is met again is kept once."""

    known: dict[int, int] = field(default_factory=dict)
    kept: list[np.ndarray] = field(default_factory=list)

    def number(self, array: np.ndarray) -> int:
        """Its place in the file."""
        if id(array) not in self.known:
            self.known[id(array)] = len(self.kept)
            self.kept.append(array)
        return self.known[id(array)]


def save(model: LatentFunctions, path: str | Path) -> None:
    """Write a fitted estimator to a file, which is replaced as a whole.

    Parameters
    ----------
    model : estimator
        Of this package. Of a pipeline give the last step; other steps are scikit-learn's to keep.
    path : str or Path
        Conventionally ``name.npz``.

    Raises
    ------
    TypeError
        For other objects, for parameters that are neither numbers, texts, arrays nor of this package, and for
        attributes of the user's own unless their names end in ``_``. Requests of scikit-learn's metadata
        routing are not kept.
    OSError
        If there can be no such file, or there is something else or a file that may not be written.
    NotFittedError
    """
    if not isinstance(model, LatentFunctions):
        raise TypeError(
            f"only estimators of tilted can be saved (of a pipeline its last step), got {model!r}"
        )
    check_is_fitted(model, "models_")
    arrays = _Arrays()
    described = {"format": FORMAT, "version": VERSION, "tilted": tilted.__version__}
    described["model"] = _described(model, arrays, "model")
    text = np.array(json.dumps(described))
    place = Path(path).resolve()  # a link stays one
    beside = place.with_name(f".{uuid.uuid4().hex}.part")
    try:
        _require_file(place)
        with beside.open("wb") as file:
            kept: dict[str, Any] = {str(i): array for i, array in enumerate(arrays.kept)}
            np.savez(file, description=text, **kept)
        beside.replace(place)
    except OSError as error:  # which names the file beside it
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        beside.unlink(missing_ok=True)


def _require_file(place: Path) -> None:
    """OSError where what is there would be replaced though it is no file, or may not be written."""
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if place.exists() and not place.is_file():
        raise OSError(errno.EINVAL, "not a file, which saving would replace")
    if place.exists() and not os.access(place, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def load(path: str | Path) -> Any:
    """The estimator that `save` wrote: predictions, evidences and status are the same numbers.

    Raises
    ------
    ValueError
        For a file that is damaged, none of this kind, of another version of the format, or that describes
        what this version of the package does not have.
    OSError
        If it cannot be read.
    """
    content = Path(path).read_bytes()
    if not content.startswith(ZIP):
        raise ValueError(
            f"{path} is damaged or no saved estimator: `save` of this package writes other files"
        )
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        described = json.loads(str(arrays["description"]))
        format_, version = described["format"], described["version"]
    except Exception as error:  # what readers of zip, npy and JSON raise for damage is no fixed list
        raise ValueError(f"{path} is damaged or no saved estimator ({error})") from None
    if (format_, version) != (FORMAT, VERSION):
        raise ValueError(f"{path} is of {format_!r} version {version}; this is {FORMAT!r} version {VERSION}")
    try:
        model = _built(described["model"], arrays)
    except (KeyError, TypeError, AttributeError, ImportError, IndexError, ValueError) as error:
        by = described.get("tilted")
        raise ValueError(
            f"{path}, saved by tilted {by}, is damaged or not of this version: {error}"
        ) from None
    if not isinstance(model, LatentFunctions):
        raise ValueError(f"{path} holds no estimator")
    needed = "models_ n_features_in_ status_".split() + ["classes_"] * isinstance(model, ClassifierMixin)
    needed += ["categories_"] * isinstance(model, GPOrdinalClassifier)
    lacking = [name for name in needed if not np.size(getattr(model, name, ()))]
    if lacking or not isinstance(getattr(model, "classes_", model.models_), list | np.ndarray):
        raise ValueError(f"{path} holds no fitted estimator: {', '.join(lacking) or 'classes_'} is missing")
    return model


def _described(value: Any, arrays: _Arrays, where: str) -> Any:
    """What JSON can say of a value, its arrays put aside; TypeError that says ``where`` for others."""
    if value is None or isinstance(value, bool | str) or type(value) in (int, float):
        return value

    def each(part: Any, name: object) -> Any:
        return _described(part, arrays, f"{where}.{name}")

    if isinstance(value, np.ndarray) and value.dtype == object:
        return {"objects": [each(part, i) for i, part in enumerate(value.tolist())]}
    if isinstance(value, np.ndarray | np.generic):
        return {"array": arrays.number(np.asarray(value)), "scalar": isinstance(value, np.generic)}
    if isinstance(value, list | tuple):
        return {type(value).__name__: [each(part, i) for i, part in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[each(key, key), each(part, key)] for key, part in value.items()]}
    if isinstance(value, partial):
        parts = value.func, value.args, value.keywords
        return {"partial": [each(part, i) for i, part in enumerate(parts)]}
    if isinstance(value, FunctionType) and value.__module__.startswith(RULES):
        return {"function": [value.__module__, value.__qualname__]}
    kind = type(value)
    if isinstance(value, MethodType) and type(value.__self__).__module__.startswith(RULES):
        return {"method": [each(value.__self__, "of"), value.__name__]}
    if isinstance(value, others.Kernel) and kind.__module__ == others.__name__:
        return {"scikit-learn": [kind.__name__, each(value.get_params(deep=False), kind.__name__)]}
    if is_dataclass(value) and kind.__module__.startswith("tilted."):
        held = [one.name for one in fields(value)]
        if isinstance(value, LatentFunctions):
            parameters, held = held, [name for name in vars(value) if name != ROUTING]
            if own := [name for name in held if not (name in parameters or _is_later(name))]:
                how = f"call it {own[0]}_, or delete it"
                raise TypeError(f"{where}.{own[0]} is no parameter and would be lost: {how}")
        parts_by_name = {name: each(getattr(value, name), name) for name in held}
        return {"of": [kind.__module__, kind.__qualname__], "fields": parts_by_name}
    raise TypeError(f"{where} cannot be saved: {reprlib.repr(value)}")


def _built(tree: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The value that was described."""
    if not isinstance(tree, dict):
        return tree
    (kind, content), *more = tree.items()
    if kind == "array":
        array = arrays[str(content)]
        return array[()] if tree["scalar"] else array
    if kind in ("function", "of"):
        module, name = content
        if not module.startswith(RULES if kind == "function" else "tilted."):
            raise ValueError(f"{module}.{name} is none of its parts")
        found = getattr(import_module(module), name)
        if kind == "function" and isinstance(found, FunctionType) and found.__module__.startswith(RULES):
            return found
        if not (isinstance(found, type) and is_dataclass(found) and found.__module__ == module):
            raise ValueError(f"{module}.{name} is none of its parts")
        return _instance(found, {name: _built(part, arrays) for name, part in tree["fields"].items()})
    parts = [_built(part, arrays) for part in content] if kind != "dict" else content
    if kind == "objects":
        return np.array(parts, dtype=object)
    if kind == "partial":
        function, arguments, keywords = parts
        return partial(function, *arguments, **keywords)
    if kind == "method":
        return _method(*parts)
    if kind == "scikit-learn":
        return _kernel(*parts)
    if kind == "dict":
        return {_built(key, arrays): _built(part, arrays) for key, part in parts}
    return {"list": list, "tuple": tuple}[kind](parts)


def _method(owner: Any, name: str) -> Any:
    found = getattr(owner, name)
    if not (isinstance(found, MethodType) and type(owner).__module__.startswith(RULES)):
        raise ValueError(f"{name} is no method of a rule")
    return found


def _kernel(name: str, parameters: dict[str, Any]) -> Any:
    found = getattr(others, name)
    if not (isinstance(found, type) and issubclass(found, others.Kernel)):
        raise ValueError(f"{name} is no kernel")
    return found(**parameters)


def _is_later(name: str) -> bool:
    """Whether an attribute of an estimator comes after its parameters."""
    return name.endswith("_") or name.startswith("_sklearn")


def _instance(kind: type, values: dict[str, Any]) -> Any:
    """An instance by its constructor, which checks it, and what `fit` adds to an estimator."""
    later = {one.name for one in fields(kind) if not one.init} & set(values)
    if issubclass(kind, LatentFunctions):
        later |= {name for name in values if _is_later(name)}
    made = kind(**{name: value for name, value in values.items() if name not in later})
    for name in later:
        object.__setattr__(made, name, values[name])
    return made
