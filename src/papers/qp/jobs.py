"""The QP paper's jobs of a configuration: fits, differences, exact posteriors, approximations, lookup tables.

A job fits one method on all folds of one data set for a block of seeds. A method that starts from another's
hyperparameters needs the other method's job of the same seeds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.jobs import Job, blocks
from papers.core.slices import Slice
from papers.data.registry import task_of, user_data
from papers.qp import differences, fits, protocols
from papers.qp.accuracy import approximations, exact_posterior
from papers.qp.accuracy.records import NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS
from papers.qp.lookup import effect, errors
from papers.qp.published import FOLDS, TRUTH_METHODS, TRUTH_PROTOCOL, is_counts, truth_file
from papers.qp.records import FITS, LOOKUP_EFFECT, LOOKUP_ERRORS, VARIANCES, study_of
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from typing import Any

    Config = Mapping[str, Any]

CERTIFIED_TABLE = Job(
    "data/lookup/probit.table",
    "qp_lookup_table",
    f"{errors.__name__}:write_table",
    {},
    (lookup.__name__,),
    part="lookup table",
)


def jobs(config: Config) -> Iterator[Job]:
    """Yield every job that a configuration asks for; the jobs that these need are among their inputs.

    Raises
    ------
    ValueError
        A data set, method or difference does not exist; the message names its place in the configuration.
    """
    for protocol, section in config.get("qp", {}).items():
        try:
            for grid in _grids(section):
                yield from _fits(protocol, grid)
        except ValueError as error:
            raise ValueError(f"qp.{protocol}: {error}") from None
    if "differences" in config:
        try:
            yield from (_fit(*job) for job in differences.jobs(**config["differences"]))
        except ValueError as error:
            raise ValueError(f"differences.names: {error}") from None
        _require_bases(config)
    yield from _exact_posteriors(config)
    if "lookup" in config:
        yield from _lookup_studies(**config["lookup"])


def _grids(section: Config) -> Iterator[Config]:
    """Yield a grid of rows and methods, and the grids inside it."""
    yield section
    for further in section.get("also", []):
        yield from _grids(further)


def _fits(protocol: str, grid: Config) -> Iterator[Job]:
    for dataset, row in grid["rows"].items():
        for method in grid["methods"]:
            for first, last in blocks(row["seeds"], row["block"]):
                yield _fit(protocol, dataset, method, first, last)


def _fit(protocol: str, dataset: str, method: str, first: int, last: int, keep: bool = True) -> Job:
    task = task_of(dataset)
    choices = protocols.choices(protocol, task, method)
    spec = choices["method"]
    inputs: dict[str, Any] = {"data": _standard(choices["variant"], dataset)}
    modules = [
        fits.__name__,
        _module("inference", spec["rule"]),
        _module("likelihoods", choices["likelihood"]),
    ]
    if "start" in spec:
        start_method = protocols.job_of(protocols.block(protocol, task)["methods"], spec["start"])
        assert start_method is not None, "methods start from others of their protocol"
        inputs["start"] = _fit(protocol, dataset, start_method, first, last, keep=False)
    if spec.get("lookup") == "certified":
        inputs["table"] = CERTIFIED_TABLE
        modules.append(lookup.__name__)
    shared = {"protocol": [protocol], "dataset": [dataset], "seed": range(first, last + 1)}
    records = [method, *protocols.further_records(method, spec)]
    rows = [Slice(study_of(protocol), {**shared, "method": records})]
    rows += [Slice(VARIANCES, shared)] * (method == "qp" and protocol in FITS)
    return Job(
        path=f"data/fits/qp/{protocol}/{dataset}/{method}-{first:03d}-{last:03d}.jsonl.gz",
        kind="qp_fit",
        function=f"{fits.__name__}:fit_block",
        parameters={
            "protocol": protocol,
            "dataset": dataset,
            "method": method,
            "first": first,
            "last": last,
        },
        modules=tuple(modules),
        inputs=inputs,
        choices=choices | user_data(dataset),
        rows=tuple(rows),
        keep=keep,
        part=f"QP {protocol}",
        fits=(last - first + 1) * (1 if task == "counts" else FOLDS),
    )


def _module(room: str, name: str) -> str:
    """Return the module of a rule or a likelihood, which has the same name."""
    return f"tilted.{room}.{name.removesuffix('-square').replace('-', '_')}"


def _standard(variant: str, dataset: str) -> str:
    return f"data/standard/{variant}/{dataset}.h5"


def _exact_posteriors(config: Config) -> Iterator[Job]:
    """Yield the jobs that sample exact posteriors, and those that approximate them."""
    rules = tuple(_module("inference", method) for method in TRUTH_METHODS)
    for dataset, effort in config.get("truth", {}).items():
        choices = protocols.block(TRUTH_PROTOCOL, task_of(dataset))
        each = {name: value for name, value in effort.items() if name != "splits"}
        for split in range(effort.get("splits", 1)):
            seed, fold = (split, 0) if is_counts(dataset) else (0, split)
            where = {"dataset": [dataset], "seed": [seed], "fold": [fold]}
            exact = Job(
                path=f"data/truth/{truth_file(dataset, split)}",
                kind="qp_truth",
                function=f"{exact_posterior.__name__}:sample_split",
                parameters={"split": split, "effort": each},
                modules=(exact_posterior.__name__, *rules, _module("likelihoods", choices["likelihood"])),
                inputs={"data": _standard(TRUTH_PROTOCOL, dataset)},
                choices=user_data(dataset),
                rows=(Slice(TRUTH, where), Slice(TRUTH_LATENTS, where)),
                part="ground truth",
            )
            yield exact
            yield Job(
                path=f"data/nearer/{truth_file(dataset, split)}",
                kind="qp_nearer",
                function=f"{approximations.__name__}:approximate_split",
                parameters={},
                modules=(approximations.__name__, *exact.modules),
                inputs={"data": exact.inputs["data"], "truth": exact},
                choices=exact.choices,
                rows=(Slice(NEARER_FITS, where), Slice(NEARER_LATENTS, where)),
                part="nearer than EP",
            )


def _lookup_studies(table: Config, study: Config) -> Iterator[Job]:
    yield Job(
        path=f"data/lookup/errors/{study['points']}.jsonl.gz",
        kind="qp_lookup_errors",
        function=f"{errors.__name__}:compare",
        parameters={"counts": table["counts"], "points": study["points"], "rows": study["timed_rows"]},
        modules=(errors.__name__, lookup.__name__),
        rows=(Slice(LOOKUP_ERRORS),),
        part="lookup errors",
    )
    for protocol, datasets in study["protocols"].items():
        for dataset in datasets:
            ep, qp = (
                _fit(protocol, dataset, name, 0, study["seeds"] - 1, keep=False) for name in ("ep", "qp")
            )
            where = {"protocol": [protocol], "dataset": [dataset], "seed": range(study["seeds"])}
            yield Job(
                path=f"data/lookup/effect/{protocol}/{dataset}.jsonl.gz",
                kind="qp_lookup_effect",
                function=f"{effect.__name__}:measure",
                parameters={"protocol": protocol},
                modules=(effect.__name__, *ep.modules, *qp.modules),
                inputs={"data": ep.inputs["data"], "records": ep, "table": CERTIFIED_TABLE},
                choices=qp.choices,
                rows=(Slice(LOOKUP_EFFECT, where),),
                part="lookup effects",
            )


def _require_bases(config: Config) -> None:
    """Raise ValueError if a protocol that the differences change is neither asked for nor recorded."""
    folder = "results" if config.get("keep_records") else config["results"]
    for name in differences.bases(config["differences"].get("names", ())):
        path = Path(folder, f"qp/{name}.csv.gz")
        if name not in config.get("qp", {}) and not path.is_file():
            raise ValueError(
                f"differences: there is no {path} to compare with; run '{name}' first, or set names"
            )


TABLES = (
    "qp_table1.csv",
    "qp_table1.md",
    "qp_table1.tex",
    "qp_fidelity.csv",
    "qp_fidelity.md",
)
VARIANCE_FIGURES = {"figure1a": "classification", "figure1b": "counts"}
"""Figure -> task of the data sets it shows."""


def tables(config: Config) -> list[str]:
    """Return the tables and pages of a configuration with fits of this paper."""
    if "qp" not in config:
        return []
    sampled = [f"qp_{name}.{kind}" for name in ("truth", "nearer") for kind in ("csv", "md")]
    listed = [*TABLES, *(sampled if "truth" in config else [])]
    return listed + (["vb_column.csv", "vb_column.md"] if _replays_vb(config) else [])


def _replays_vb(config: Config) -> bool:
    """Test if the configuration runs the released code's VB."""
    section = config["qp"].get("as-released", {"methods": []})
    return any("vb-joint" in grid["methods"] for grid in _grids(section))


def figures(config: Config) -> list[str]:
    """Return the figures that the rows and methods of a configuration allow."""
    if "qp" not in config:
        return []
    drawn = [f"{protocol}/{name}" for protocol, section in config["qp"].items() for name in _figures(section)]
    drawn += ["qp_truth", "qp_nearer"] if "truth" in config else []
    drawn += ["qp_calibration"] if any(task_of(name) != "counts" for name in config.get("truth", {})) else []
    drawn += ["as-released/vb_column"] if _replays_vb(config) else []
    return [f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")]


def _figures(section: Config) -> Iterator[str]:
    methods, rows = set(section["methods"]), section["rows"]
    tasks = {task_of(name) for name in rows}
    if {"ep", "qp"} <= methods:
        yield from (name for name, task in VARIANCE_FIGURES.items() if task in tasks)
    if methods & {"ep", "qp", "vb-joint"}:
        yield "published"
    several = any(row["seeds"] > 1 for row in rows.values())
    if several and "ep" in methods and methods & {"qp", "vb", "vb-joint"}:
        yield "paired"
