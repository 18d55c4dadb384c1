"""Parameters of a kernel by name, as scikit-learn's searches set them: ``kernel__first__lengthscale``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tilted.kernels.converted import of_scikit_learn

if TYPE_CHECKING:
    from tilted.kernels.contract import Kernel


def fields_of(kernel: Kernel | None) -> Iterator[tuple[str, Any]]:
    """Names and values of the fields of a kernel that is a dataclass, and of its parts as ``part__field``."""
    if is_dataclass(kernel) and not isinstance(kernel, type):
        for field in fields(kernel):
            value = getattr(kernel, field.name)
            yield field.name, value
            yield from ((f"{field.name}__{name}", inner) for name, inner in fields_of(value))


def with_fields(kernel: Any, changes: Mapping[tuple[str, ...], object]) -> Any:
    """The same kernel with other values of fields, all at once; of a part's where a path has several names.

    Raises
    ------
    ValueError
        If there is no such field, or the kernel refuses the values.
    """
    if of_scikit_learn(kernel):
        return _changed(kernel, changes)
    known = dict(fields_of(kernel))
    for path in changes:
        if path[0] not in known or not is_dataclass(kernel):
            have = f"it has {', '.join(known)}" if known else "it has none"
            have = "give one first, as kernel=SquaredExponential()" if kernel is None else have
            raise ValueError(f"no parameter {'__'.join(path)!r} of kernel {kernel!r}: {have}")
    values: dict[str, Any] = {}
    for name in {path[0] for path in changes}:
        inner = {path[1:]: value for path, value in changes.items() if path[0] == name and len(path) > 1}
        value = changes.get((name,), known[name])
        values[name] = with_fields(value, inner) if inner else value
    return replace(kernel, **values)


def _changed(kernel: Any, changes: Mapping[tuple[str, ...], object]) -> Any:
    """The same for a kernel of scikit-learn, whose ``set_params`` changes what it is given."""
    kernel = clone(kernel)
    for path in sorted(changes, key=len):  # parts before what is theirs
        name, value = "__".join(path), changes[path]
        try:
            kernel.set_params(**{name: clone(value, safe=False)})
        except AttributeError:  # of what is no kernel
            raise ValueError(f"no parameter {name!r} of kernel {kernel!r}") from None
    return kernel
