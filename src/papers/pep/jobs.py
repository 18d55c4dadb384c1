"""The jobs of the Power-EP paper: their configuration and the work of each job.

A job of regressions or classifications fits a grid of powers and pseudo-points on a block of splits of one
data set; one of exact regressions takes a block of made-up sets; one of digits is one training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from papers.core.jobs import Job, blocks
from papers.core.slices import Slice
from papers.data import mnist
from papers.data.classification import RELEASED
from papers.data.own import described
from papers.pep import records as studies

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    import pandas as pd

    from papers.core.study import Study

    Config = Mapping[str, Any]

REGRESSION, CLASSIFICATION, TOY, DIGITS = (
    f"papers.pep.{name}" for name in ("regression", "classification", "toy", "digits.training")
)
"""Modules of the experiments."""

VB = "tilted.inference.vb"
"""Module found by name at power 0, so that no closure of the experiments contains it."""


def jobs(config: Config) -> Iterator[Job]:
    """Yield every job that a configuration asks for.

    Raises
    ------
    ValueError
        For a data set that does not exist, or more splits or pseudo-points than it has, with the place.
    """
    for section_jobs in (_regressions, _classifications, _toy, _digits):
        yield from section_jobs(config)


def _regressions(config: Config) -> Iterator[Job]:
    experiment = import_module(REGRESSION)
    for name, grid in _checked(config, "pep", experiment):
        for protocol in grid.get("protocols", [experiment.DESCRIBED]):
            chosen = {"protocol": protocol}
            chosen |= {key: grid[key] for key in ("alphas", "m", "starts") if key in grid}
            under = "" if protocol == experiment.DESCRIBED else f"{protocol}/"
            for dataset, first, last in _blocks(grid):
                drawn = dataset == experiment.SYNTHETIC
                yield _grid_job(
                    f"data/fits/pep/{name}/{under}{dataset}/{first:02d}-{last:02d}.jsonl.gz",
                    "pep_regression",
                    REGRESSION,
                    {"dataset": dataset, "first": first, "last": last, "grid": chosen},
                    {} if drawn else {"data": f"data/standard/regression/{dataset}.h5"},
                    studies.REGRESSION,
                    " ".join(["PEP", name, *([protocol] if under else [])]),
                    described(dataset),
                )


def _classifications(config: Config) -> Iterator[Job]:
    experiment = import_module(CLASSIFICATION)
    for name, grid in _checked(config, "pep_classification", experiment):
        for protocol in grid["protocols"]:
            chosen = {"protocol": protocol, "alphas": grid["alphas"], "m": grid["m"]}
            for dataset, first, last in _blocks(grid):
                drawn = dataset == experiment.MADE_UP
                path = f"{name}/{protocol}/{dataset}/{first:02d}-{last:02d}.jsonl.gz"
                yield _grid_job(
                    f"data/fits/pep-classification/{path}",
                    "pep_classification",
                    CLASSIFICATION,
                    {"dataset": dataset, "first": first, "last": last, "grid": chosen},
                    {} if drawn else {"data": f"data/standard/classification/{protocol}/{dataset}.h5"},
                    studies.CLASSIFICATION,
                    f"PEP classes {name}",
                    experiment.choices(protocol) | described(dataset),
                )


def _checked(config: Config, section: str, experiment: ModuleType) -> Iterator[tuple[str, Config]]:
    """Yield the grids of a section by name; refuse one that exceeds its data sets."""
    for name, grid in config.get(section, {}).items():
        try:
            experiment.check(grid)
        except ValueError as error:
            raise ValueError(f"{section}.{name}: {error}") from None
        yield name, grid


def _blocks(grid: Config) -> Iterator[tuple[str, int, int]]:
    """Yield the data set, first and last split of all blocks of a grid."""
    for dataset, row in grid["rows"].items():
        for first, last in blocks(row["splits"], row["block"]):
            yield dataset, first, last


def _grid_job(
    path: str,
    kind: str,
    experiment: str,
    parameters: dict[str, Any],
    inputs: dict[str, str],
    study: Study,
    part: str,
    choices: Config,
) -> Job:
    splits = range(parameters["first"], parameters["last"] + 1)
    grid, cells = parameters["grid"], import_module(experiment).cells(parameters["grid"])
    powers, sizes, *starts = zip(*cells, strict=True)
    where = {"dataset": [parameters["dataset"]], "split": splits, "protocol": [grid["protocol"]]}
    where |= {"alpha": sorted(set(map(studies.power, powers))), "m": sorted(set(sizes))}
    where |= {"start": sorted(set(starts[0]))} if starts else {}
    return Job(
        path,
        kind,
        f"{__name__}:block",
        {"experiment": experiment, **parameters},
        (experiment, VB),
        inputs,
        choices,
        (Slice(study, where),),
        part=part,
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
    """Return the records of a grid on a block of splits of one data set; the made-up ones are drawn.

    Parameters
    ----------
    experiment : str
        Module with ``run_block``.
    dataset : str
    first, last : int
        Splits.
    grid : dict
        As ``cells`` of the experiment takes it.
    log, data : str
        Paths of the log and of the standard file.
    kept : sequence of dict
        Earlier records (`papers.core.checkpoint`).
    """
    from papers.data import standard

    standard_set = standard.read_standard(data) if data else None
    fitted = import_module(experiment).run_block(dataset, range(first, last + 1), grid, standard_set, kept)
    return import_module(REGRESSION).narrate(fitted, log)


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
            (TOY,),
            keys=(Slice(studies.TOY, {"split": range(first, last + 1), "n_train": sizes}),),
            part="PEP toy",
            fits=2 * len(sizes) * (last - first + 1),
        )


def exact(first: int, last: int, sizes: Sequence[int], log: str) -> Iterator[dict[str, Any]]:
    """Return the rows of a block of made-up sets."""
    return import_module(TOY).study(range(first, last + 1), sizes)


def _digits(config: Config) -> Iterator[Job]:
    """Yield the trainings; one that two grids ask for comes twice."""
    for grid in config.get("mnist", {}).values():
        for m in grid["m"]:
            for alpha in grid["alphas"]:
                for seed in range(grid["seeds"]):
                    yield _training(float(alpha), m, seed, grid["steps"])


def _training(alpha: float, m: int, seed: int, steps: int) -> Job:
    settings = {"alpha": alpha, "m": m, "seed": seed, "steps": steps}
    return Job(
        f"data/fits/mnist/{steps}/alpha{alpha:g}-m{m}-seed{seed}.jsonl.gz",
        "pep_digits",
        f"{__name__}:training",
        settings,
        (DIGITS, VB),
        {"raw": tuple(f"data/raw/{file['path']}" for file in mnist.raw_files())},
        keys=(Slice(studies.DIGITS, {name: [value] for name, value in settings.items()}),),
        part="digits",
    )


def training(
    alpha: float, m: int, seed: int, steps: int, raw: Sequence[str], log: str
) -> Iterator[dict[str, Any]]:
    """Return the measurements of one training on the digits from the raw files."""
    experiment = import_module(DIGITS)
    return experiment.narrate(experiment.run(mnist.load(), alpha, m, seed, steps), log)


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
    there = frame[job.keys[0].mask(frame)]
    names = ["alpha", "m", *(["start"] if job.kind == "pep_regression" else [])]
    counted = there.groupby(names)["split"].nunique()
    missing = [
        cell
        for cell in experiment.cells(p["grid"])
        if counted.get((studies.power(cell[0]), *cell[1:]), 0) < len(splits)
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


DATA_SETS = "pep_datasets.md"
TRAININGS = ("pep_mnist.csv", "pep_mnist.md")


def tables(config: Config) -> list[str]:
    """Return names of tables: regressions and classifications under each protocol, and digits."""
    experiment, stems = import_module(REGRESSION), []
    for section, plain in (("pep", experiment.DESCRIBED), ("pep_classification", RELEASED)):
        protocols = [p for grid in config.get(section, {}).values() for p in grid.get("protocols", [plain])]
        stems += [section + ("" if p == plain else f"_{p}") for p in dict.fromkeys(protocols)]
    listed = [f"{stem}{name}" for stem in stems for name in (".md", "_wins.csv", "_ranks.csv", "_means.csv")]
    return [*listed, *([DATA_SETS] if stems else []), *(TRAININGS if config.get("mnist") else [])]


def figures(config: Config) -> list[str]:
    """Return the folder of figures, whose names depend on the data sets."""
    return ["pep"] if any(config.get(name) for name in ("pep", "pep_classification", "mnist")) else []
