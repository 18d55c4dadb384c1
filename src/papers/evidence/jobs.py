"""Jobs and records of the workflow as plain values, and what a job does.

Each paper lists what a configuration asks for (``jobs`` of `papers.qp.jobs` and its like). A `Job` makes one
file by calling one function; a `Record` is the file of the committed records that the files of some jobs are
folded into. Rules, plan, command line and tests read these lists; nothing here knows of Snakemake.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.study import RUN
from papers.evidence import kept, records, runs, store
from papers.evidence.provenance import closure_hash

if TYPE_CHECKING:
    from typing import Any, TypeAlias

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
        ``kept`` gets the records that were made before (`papers.evidence.kept`), to give them again.
    parameters : mapping
        JSON values. A change of them, of ``choices`` or of `key` makes the file again.
    modules : tuple of str
        Whose closures are the code that runs, beside the function's own.
    inputs : mapping
        Name -> path, paths, or the job that makes the file.
    choices : mapping
        What the protocol says about these fits (`runs.stamp`).
    record : str
        `Record.name` of what it is folded into; none if empty.
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
    record: str = ""
    part: str = ""
    fits: int = 1

    @property
    def code(self) -> tuple[str, ...]:
        """The code that runs, as `closure_hash` takes it."""
        return self.function, *self.modules

    @property
    def key(self) -> str:
        """Hash of the code that runs: where it changed, the file is out of date."""
        return closure_hash(*self.code, fits=True)

    @property
    def files(self) -> dict[str, str | tuple[str, ...]]:
        """Paths of the inputs by name."""
        return {name: given.path if isinstance(given, Job) else given for name, given in self.inputs.items()}

    def chain(self) -> Iterator[Job]:
        """The jobs whose files this one needs, directly or not, and itself at last."""
        for given in self.inputs.values():
            if isinstance(given, Job):
                yield from given.chain()
        yield self


@dataclass(frozen=True, eq=False)
class Record:
    """Committed files, and how the files of jobs are folded into them.

    Parameters
    ----------
    name : str
        The workflow's rule, and `Job.record` of the jobs.
    folders : tuple of str
        Of all files that ``tilted records`` adds to the committed rows, relative to ``data/fits``.
    files : callable
        Paths of the jobs' files -> those it makes, below the folder of records.
    function : str
        ``module:name`` of a function of the paths of the jobs' files, the folder of records, and by name
        ``parameters``. It keeps all other lines, and gives what changed, by file.
    modules : tuple of str
        As of a `Job`.
    parameters : mapping
        JSON values.
    """

    name: str
    folders: tuple[str, ...]
    files: Callable[[Sequence[str]], list[str]]
    function: str
    modules: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def of_study(name: str, folder: str, study: str, file: str, line_of: str = "") -> Record:
    """A record whose lines are those of the jobs' files, or what a function makes of each.

    Parameters
    ----------
    name, folder : str
        See `Record`.
    study, line_of : str
        ``module:name`` of the study and of the function.
    file : str
        `Study.file`.
    """
    modules = tuple(dict.fromkeys(name.partition(":")[0] for name in (study, line_of) if name))
    parameters = {"study": study, "line_of": line_of}
    return Record(name, (folder,), lambda paths: [file], f"{__name__}:fold", (__name__, *modules), parameters)


def fold(
    paths: Iterable[str | Path], folder: str | Path, study: str, line_of: str = ""
) -> dict[str, records.Change]:
    """`records.fold_in`, with the study and the function named as in `of_study`; what changed, by file."""
    into, made = named(study), named(line_of) if line_of else dict
    return {into.file: records.fold_in(into, paths, folder, lambda record: [made(record)])}


def named(name: str) -> Any:
    """What ``module:name`` stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def make(
    path: str | Path,
    function: str,
    parameters: Mapping[str, Any],
    inputs: Mapping[str, Any],
    log: str | Path,
    choices: Mapping[str, Any],
    key: str,
) -> None:
    """Make the file of a job (see `Job`).

    Records get a stamp as ``run``: `runs.stamp`, and as ``source`` the job's key.
    """
    call, stamp = named(function), {**runs.stamp(choices), "source": key, **store.COUNTED}
    if "kept" in signature(call).parameters:  # records of a file may be of jobs that asked for less
        made = call(**parameters, **inputs, log=log, kept=kept.before(path, stamp))
        store.write_records(path, kept.noted(path, made, stamp))
        return
    made = call(**parameters, **inputs, log=log)
    if isinstance(made, bytes):
        store.write_bytes(path, made)
    else:
        store.write_records(path, ({**record, RUN: stamp} for record in made))


def blocks(number: int, size: int) -> list[tuple[int, int]]:
    """First and last index of each block of at most ``size``, of so many indices."""
    return [(first, min(first + size, number) - 1) for first in range(0, number, size)]
