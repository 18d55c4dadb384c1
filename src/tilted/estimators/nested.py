"""Parameters of a kernel by name, as scikit-learn's searches set them: ``kernel__first__lengthscale``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import sklearn.gaussian_process.kernels
from sklearn.base import clone

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


def fields_of(kernel: Kernel | None) -> Iterator[tuple[str, Any]]:
    """Names and values of the fields of a kernel that is a dataclass, and of its parts as ``part__field``."""
    if is_dataclass(kernel) and not isinstance(kernel, type):
        for field in fields(kernel):
            value = getattr(kernel, field.name)
            yield field.name, value
            yield from ((f"{field.name}__{name}", inner) for name, inner in fields_of(value))


def with_field(kernel: Kernel | None, path: Sequence[str], value: object) -> Any:
    """The same kernel with another value of one field, of a part where ``path`` has several names.

    Raises
    ------
    ValueError
        If there is no such field, or the kernel refuses the value.
    """
    if isinstance(kernel, sklearn.gaussian_process.kernels.Kernel):
        return clone(kernel).set_params(**{"__".join(path): value})
    known = dict(fields_of(kernel))
    name, *rest = path
    if name not in known or not is_dataclass(kernel):
        have = f"it has {', '.join(known)}" if known else "it has none"
        have = "give one first, as kernel=SquaredExponential()" if kernel is None else have
        raise ValueError(f"no parameter {'__'.join(path)!r} of kernel {kernel!r}: {have}")
    return replace(kernel, **{name: with_field(known[name], rest, value) if rest else value})
