"""Jobs of the workflow as plain values, and what a job does.

Each paper lists what a configuration asks for (``jobs`` of `papers.qp.jobs` and its like). A `Job` makes one
file of records by calling one function, and says which rows of which studies these become. Rules, plan,
command line and tests read these lists; nothing here knows of Snakemake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING

from papers.core import checkpoint, runs, store
from papers.core.study import RUN

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, TypeAlias

    from papers.core.slices import Slice

    Input: TypeAlias = "str | tuple[str, ...] | Job"


@dataclass(frozen=True, eq=False)
class Job:
    """A file, and how it is made.

    Parameters
    ----------
    path : str
        The file, below the working folder.
    kind : str
        The workflow's rule: jobs of one kind are alike in what they need.
    function : str
        ``module:name`` of a function that is called with ``parameters``, ``inputs`` (as paths) and ``log``
        (a path) by name. It gives bytes, or records, each of which is stamped (`make`). One that takes
        ``kept`` gets the records that were made before (`papers.core.checkpoint`), to give them again.
    parameters : mapping
        JSON values. A change of them, of ``choices`` or of `source` makes the file again.
    modules : tuple of str
        Of the experiment: the file is made again if their source changes.
    inputs : mapping
        Name -> path, paths, or the job that makes the file.
    choices : mapping
        What the protocol says about these fits (`runs.stamp`).
    rows : tuple of Slice
        The rows that its records become; those of the first count for the plan.
    keep : bool
        Whether the configuration wants these rows; else only other jobs need the file.
    part : str
        Of the plan.
    fits : int
        In the file.
    """

    path: str
    kind: str
    function: str
    parameters: Mapping[str, Any]
    modules: tuple[str, ...]
    inputs: Mapping[str, Input] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Slice, ...] = ()
    keep: bool = True
    part: str = ""
    fits: int = 1

    @property
    def source(self) -> str:
        """Hash of the source of ``modules``: where it changed, the file is out of date."""
        return runs.source_hash(*self.modules)

    @property
    def studies(self) -> list[str]:
        """Files of the studies that its records become rows of."""
        return [rows.study.file for rows in self.rows]

    @property
    def files(self) -> dict[str, str | tuple[str, ...]]:
        """Return the paths of the inputs by name."""
        return {name: value.path if isinstance(value, Job) else value for name, value in self.inputs.items()}

    def chain(self) -> Iterator[Job]:
        """Yield the jobs whose files this one needs, directly or not, and itself at last."""
        for value in self.inputs.values():
            if isinstance(value, Job):
                yield from value.chain()
        yield self


def named(name: str) -> Any:
    """Return the object that ``module:name`` names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def make(
    path: str | Path,
    function: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Any],
    log: str | Path,
    choices: Mapping[str, Any],
    source: str,
) -> None:
    """Make the file of a job (see `Job`).

    Records get a stamp as ``run``: `runs.stamp`, and the job's ``source``.
    """
    call, stamp = named(function), {**runs.stamp(choices), "source": source}
    if "kept" in signature(call).parameters:  # records of a file may be of jobs that asked for less
        records = call(**parameters, **inputs, log=log, kept=checkpoint.before(path, stamp))
        store.write_records(path, checkpoint.saved(path, records, stamp))
        return
    result = call(**parameters, **inputs, log=log)
    if isinstance(result, bytes):
        store.write_bytes(path, result)
    else:
        store.write_records(path, ({**record, RUN: stamp} for record in result))


def blocks(number: int, size: int) -> list[tuple[int, int]]:
    """Return the first and last index of each block of at most ``size`` of a number of indices."""
    return [(first, min(first + size, number) - 1) for first in range(0, number, size)]
