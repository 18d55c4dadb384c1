"""The jobs of the Power-EP paper: their configuration, the work of each job, and their records.

A job of regressions or classifications fits a grid of powers and pseudo-points on a block of splits of one
data set; one of exact regressions takes a block of made-up sets; one of digits is one training.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from papers.data import mnist
from papers.data.classification import RELEASED
from papers.data.own import described
from papers.evidence import jobs as evidence
from papers.evidence.jobs import Job, Record, blocks

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    Config = Mapping[str, Any]

REGRESSION, CLASSIFICATION, TOY, DIGITS = (
    f"papers.pep.{name}" for name in ("regression", "classification", "toy", "digits.training")
)
"""Modules of the experiments."""

RECORDS = "papers.pep.records"
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
                    "regression_records",
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
                    "classification_records",
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
    record: str,
    part: str,
    choices: Config,
) -> Job:
    splits = parameters["last"] - parameters["first"] + 1
    return Job(
        path,
        kind,
        f"{__name__}:block",
        {"experiment": experiment, **parameters},
        (experiment, VB),
        inputs,
        choices,
        record,
        part,
        splits * len(import_module(experiment).cells(parameters["grid"])),
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
        Earlier records (`papers.evidence.kept`).
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
            record="toy_record",
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
    return Job(
        f"data/fits/mnist/{steps}/alpha{alpha:g}-m{m}-seed{seed}.jsonl.gz",
        "pep_digits",
        f"{__name__}:training",
        {"alpha": alpha, "m": m, "seed": seed, "steps": steps},
        (DIGITS, VB),
        {"raw": tuple(f"data/raw/{file['path']}" for file in mnist.raw_files())},
        record="mnist_record",
        part="digits",
    )


def training(
    alpha: float, m: int, seed: int, steps: int, raw: Sequence[str], log: str
) -> Iterator[dict[str, Any]]:
    """Return the measurements of one training on the digits from the raw files."""
    experiment = import_module(DIGITS)
    return experiment.narrate(experiment.run(mnist.load(), alpha, m, seed, steps), log)


def records(config: Config) -> list[Record]:
    """Return the records into which this paper's fits are folded."""
    return [
        _record("regression_records", "pep", "REGRESSION", "regression.csv.gz", "line_of"),
        _record(
            "classification_records",
            "pep-classification",
            "CLASSIFICATION",
            "classification.csv.gz",
            "line_of",
        ),
        _record("toy_record", "pep-toy", "TOY", "toy.csv"),
        _record("mnist_record", "mnist", "DIGITS", "mnist.csv"),
    ]


def _record(name: str, folder: str, study: str, file: str, line_of: str = "") -> Record:
    lines = f"{RECORDS}:{line_of}" if line_of else ""
    return evidence.of_study(name, folder, f"{RECORDS}:{study}", f"pep/{file}", lines)


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
