"""The jobs of the Power-EP paper: their configuration and the work of each job.

A job of regressions or classifications fits a grid of powers and pseudo-points on a block of splits of one
data set; one of exact regressions takes a block of made-up sets; one of digits is one training.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from papers.core.jobs import Job, blocks
from papers.core.slices import Slice
from papers.data import mnist
from papers.data.registry import user_data
from papers.pep import classification, digits, regression, toy
from papers.pep import records as studies
from papers.pep import tables as pages
from papers.pep.regression import DESCRIBED, power

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    import pandas as pd

    from papers.data import Dataset

    Config = Mapping[str, Any]

VB = "tilted.inference.vb"
"""Module found by name at power 0, so that no closure of the experiments contains it."""

SECTIONS = {
    "pep": (studies.REGRESSION, regression),
    "pep_classification": (studies.CLASSIFICATION, classification),
}
"""Section of grids of fits -> the study of its rows, and its experiment."""


def jobs(config: Config) -> Iterator[Job]:
    """Yield every job that a configuration asks for.

    Raises
    ------
    ValueError
        For a data set that does not exist, or more splits or pseudo-points than it has, with the place.
    """
    for section, (_, experiment) in SECTIONS.items():
        for name, grid in config.get(section, {}).items():
            try:
                experiment.check(grid)
            except ValueError as error:
                raise ValueError(f"{section}.{name}: {error}") from None
            for protocol in grid.get("protocols", [DESCRIBED]):
                for dataset, row in grid["rows"].items():
                    for first, last in blocks(row["splits"], row["block"]):
                        yield _fits(section, name, grid, protocol, dataset, first, last)
    yield from _toy(config)
    yield from _digits(config)


def _fits(section: str, name: str, grid: Config, protocol: str, dataset: str, first: int, last: int) -> Job:
    """Return the job of a grid of fits on a block of splits of one data set."""
    study, experiment = SECTIONS[section]
    chosen = {"protocol": protocol} | {key: grid[key] for key in ("alphas", "m", "starts") if key in grid}
    cells, splits = experiment.cells(chosen), range(first, last + 1)
    where: dict[str, Any] = {"dataset": [dataset], "split": splits, "protocol": [protocol]}
    where["alpha"] = sorted({power(cell[0]) for cell in cells})
    where["m"] = sorted({cell[1] for cell in cells})
    if experiment is regression:
        kind, folder, data, title = "pep_regression", f"pep/{name}", "regression", f"PEP {name}"
        if protocol != DESCRIBED:
            folder, title = f"{folder}/{protocol}", f"{title} {protocol}"
        where["start"], choices = sorted({cell[2] for cell in cells}), {}
    else:
        kind, folder, data = section, f"pep-classification/{name}/{protocol}", f"classification/{protocol}"
        title, choices = f"PEP classes {name}", classification.choices(protocol)
    is_drawn = dataset == experiment.datasets()[0]
    return Job(
        f"data/fits/{folder}/{dataset}/{first:02d}-{last:02d}.jsonl.gz",
        kind,
        f"{__name__}:block",
        {"experiment": experiment.__name__, "dataset": dataset, "first": first, "last": last, "grid": chosen},
        (experiment.__name__, VB),
        {} if is_drawn else {"data": f"data/standard/{data}/{dataset}.h5"},
        choices | user_data(dataset),
        (Slice(study, where),),
        part=title,
        fits=len(splits) * len(cells),
    )


def block(
    experiment: str,
    dataset: str,
    first: int,
    last: int,
    grid: Config,
    log: str,
    data: str | None = None,
    kept: Sequence[dict[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Return the rows of a grid on a block of splits of one data set, and write the log.

    Parameters
    ----------
    experiment : str
        Name of the module.
    first, last : int
        Splits.
    log, data : str
        Paths of the log and of the standard file.
    dataset, grid
        See `run_block`.
    kept : sequence of dict
        Earlier rows.
    """
    from papers.data import standard

    module, splits = import_module(experiment), range(first, last + 1)
    standard_set = standard.read_standard(data) if data else None
    return _logged(run_block(module, dataset, splits, grid, standard_set, kept), log)


def _logged(rows: Iterable[dict[str, Any]], path: str) -> Iterator[dict[str, Any]]:
    """Yield the rows and write one line of a log file for each."""
    with open(path, "w", encoding="utf-8", buffering=1) as log:
        for row in rows:
            print(", ".join(f"{name} {value}" for name, value in row.items() if value != ""), file=log)
            yield row


def run_block(
    experiment: ModuleType,
    dataset: str,
    splits: Iterable[int],
    grid: Config,
    standard_set: Dataset | None = None,
    earlier: Iterable[dict[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a grid of fits on some splits.

    Parameters
    ----------
    experiment : module
        `regression` or `classification`.
    dataset : str
        One of ``experiment.datasets()``.
    splits : iterable of int
    grid : dict
        As ``experiment.cells`` takes it, with the ``protocol``.
    standard_set : Dataset, optional
        The data; made-up ones are drawn.
    earlier : iterable of dict
        Rows (`papers.core.checkpoint`), which are not repeated.
    """
    protocol = grid["protocol"]
    rows = {tuple(row[name] for name in experiment.NAMES): row for row in earlier}
    for split in splits:
        split_data = experiment.parts_of(dataset, split, standard_set)
        for cell in experiment.cells(grid):
            row = rows.get((dataset, protocol, split, power(cell[0]), *cell[1:]))
            yield row or experiment.run_cell(split_data, dataset, split, *cell, protocol=protocol)


def _toy(config: Config) -> Iterator[Job]:
    """Yield jobs of exact regressions at true and at learned hyperparameters."""
    if "toy" not in config:
        return
    sizes = config["toy"]["n_train"]
    for first, last in blocks(config["toy"]["splits"], config["toy"]["block"]):
        yield Job(
            f"data/fits/pep-toy/{first:02d}-{last:02d}.jsonl.gz",
            "pep_exact",
            f"{__name__}:exact",
            {"first": first, "last": last, "sizes": sizes},
            (toy.__name__,),
            rows=(Slice(studies.TOY, {"split": range(first, last + 1), "n_train": sizes}),),
            part="PEP toy",
            fits=2 * len(sizes) * (last - first + 1),
        )


def exact(first: int, last: int, sizes: Sequence[int], log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a block of made-up sets, and write the log."""
    return _logged(toy.study(range(first, last + 1), sizes), log)


def _digits(config: Config) -> Iterator[Job]:
    """Yield the trainings; one that two grids ask for comes twice."""
    for grid in config.get("mnist", {}).values():
        raw, steps = tuple(f"data/raw/{file['path']}" for file in mnist.raw_files()), grid["steps"]
        for m, alpha, seed in itertools.product(grid["m"], grid["alphas"], range(grid["seeds"])):
            settings = {"alpha": float(alpha), "m": m, "seed": seed, "steps": steps}
            yield Job(
                f"data/fits/mnist/{steps}/alpha{alpha:g}-m{m}-seed{seed}.jsonl.gz",
                "pep_digits",
                f"{__name__}:training",
                settings,
                (digits.__name__, VB),
                {"raw": raw},
                rows=(Slice(studies.DIGITS, {name: [value] for name, value in settings.items()}),),
                part="digits",
            )


def training(
    alpha: float, m: int, seed: int, steps: int, raw: Sequence[str], log: str
) -> Iterator[dict[str, Any]]:
    """Return the measurements of one training on the digits from the raw files, and write the log."""
    return _logged(digits.run(mnist.load(), alpha, m, seed, steps), log)


def lacking(job: Job, frame: pd.DataFrame) -> Job:
    """Return a job without the powers and numbers of pseudo-points whose rows are all recorded.

    Parameters
    ----------
    job : Job
        A job of another kind is returned unchanged, and so is a grid with all or none of its rows recorded.
    frame : pandas.DataFrame
        The recorded rows of its study.
    """
    if job.kind not in ("pep_regression", "pep_classification"):
        return job
    p, experiment = job.parameters, import_module(job.parameters["experiment"])
    splits = range(p["first"], p["last"] + 1)
    recorded = frame[job.rows[0].mask(frame)]
    counted = recorded.groupby(list(experiment.NAMES[3:]))["split"].nunique()
    missing = [
        cell
        for cell in experiment.cells(p["grid"])
        if counted.get((power(cell[0]), *cell[1:]), 0) < len(splits)
    ]
    powers = {cell[0] for cell in missing}
    # exact regressions are of no number of pseudo-points: one stands for all
    sizes = {cell[1] for cell in missing} - {0} or {p["grid"]["m"][0]}
    if not missing:
        return job
    needed = {"alphas": powers, "m": sizes}
    narrow = {name: [value for value in p["grid"][name] if value in those] for name, those in needed.items()}
    grid = {**p["grid"], **narrow}
    return replace(job, parameters={**p, "grid": grid}, fits=len(splits) * len(experiment.cells(grid)))


def tables(config: Config) -> list[str]:
    """Return names of tables: regressions and classifications under each protocol, and digits."""
    names: list[str] = []
    for section, about in (("pep", pages.REGRESSION), ("pep_classification", pages.CLASSIFICATION)):
        grids = config.get(section, {}).values()
        for protocol in dict.fromkeys(p for grid in grids for p in grid.get("protocols", [DESCRIBED])):
            names += pages.names(about.under(protocol))
    names += [pages.DATA_SETS] if names else []
    return [*names, *(digits.TABLES if config.get("mnist") else [])]


def figures(config: Config) -> list[str]:
    """Return the folder of figures, whose names depend on the data sets."""
    return ["pep"] if any(config.get(name) for name in ("pep", "pep_classification", "mnist")) else []
