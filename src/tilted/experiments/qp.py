"""The experiments of the quantile-propagation paper: one record for each (seed, fold, method).

``run_cell`` fits and tests one fold under a named protocol; ``run_job`` runs a block of seeds. A failed
fit is a record with its reason in ``status.message``; nothing is dropped.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from tilted import api, likelihoods, metrics, protocols
from tilted.data import Dataset, folds, registry, split
from tilted.gaussian import Sites
from tilted.hyperparameters import Search
from tilted.inference import RULES
from tilted.inference.options import Options
from tilted.inference.result import Status
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.projections import TableGrid

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any

    from tilted.data import Split
    from tilted.inference.rule import Projector
    from tilted.inference.vb_joint import JointFit
    from tilted.likelihoods.contract import Likelihood
    from tilted.lookup import RatioTable

PAPER = "qp"
JOINT = "tilted.inference.vb_joint"
LOOKUP = "tilted.lookup"


def task_of(dataset: str) -> str:
    """Task of a data set, "classification" or "counts"; DataError for an unknown one."""
    return registry.task_of(dataset)


def modules_of(protocol: str, dataset: str, method: str) -> list[str]:
    """Modules whose closures a job of ``method`` depends on (some are imported by name at run time)."""
    block = protocols.block(protocol, task_of(dataset))
    rule = protocols.method(protocol, task_of(dataset), method)["rule"]
    table = [LOOKUP] if uses_table(protocol, dataset, method) else []
    return [__name__, RULES.get(rule, JOINT), likelihoods.module_of(block["likelihood"]), *table]


def uses_table(protocol: str, dataset: str, method: str) -> bool:
    """Whether the protocol gives a method the certified lookup table."""
    return protocols.method(protocol, task_of(dataset), method).get("lookup") == "certified"


def run_job(
    dataset: Dataset,
    protocol: str,
    method: str,
    seeds: Iterable[int],
    starts: dict[tuple[int, int], dict[str, Any]] | None = None,
    table: RatioTable | None = None,
) -> Iterator[dict[str, Any]]:
    """Records of all folds of a block of seeds, one after the other.

    Parameters
    ----------
    dataset : Dataset
        In the variant of the protocol.
    protocol, method : str
        Names; the method is one of the protocol's.
    seeds : iterable of int
        Seed indices; the protocol's split maps them to its generator's seeds.
    starts : dict, optional
        (seed, fold) -> record whose hyperparameters start the search, for methods that ask for one.
    table : lookup.RatioTable, optional
        See :func:`run_cell`.
    """
    scheme = protocols.block(protocol, task_of(dataset.name))["split"]
    for seed in seeds:
        for fold in range(folds(scheme)):
            start = None if starts is None else starts.get((seed, fold))
            yield from run_cell(dataset, protocol, method, seed, fold, start, table=table)


def run_cell(
    dataset: Dataset,
    protocol: str,
    method: str,
    seed: int,
    fold: int,
    start: dict[str, Any] | None = None,
    fixed: SquaredExponential | None = None,
    table: RatioTable | None = None,
) -> list[dict[str, Any]]:
    """Fit and test one fold.

    Parameters
    ----------
    start : dict, optional
        Record whose hyperparameters start the search.
    fixed : SquaredExponential, optional
        Use these hyperparameters and infer only.
    table : lookup.RatioTable, optional
        For methods whose protocol says ``lookup: certified``. Without it they project by quadrature, which
        gives the same sigma to 1e-10 and takes longer.

    Returns
    -------
    list of records
        One, or two for a method that is tuned twice (the first called ``METHOD-tune``).

    Raises
    ------
    ValueError
        For names the protocol does not know, a fold out of range, or a missing start.
    """
    task = task_of(dataset.name)
    block, spec = protocols.block(protocol, task), protocols.method(protocol, task, method)
    part = split(dataset, block["split"], seed, fold, standardise=block["standardise"])
    identity = {
        "paper": PAPER,
        "dataset": dataset.name,
        "protocol": protocol,
        "seed": int(seed),
        "fold": int(fold),
        "n_train": len(part.y_train),
        "n_test": len(part.y_test),
    }
    if fixed is not None and spec["rule"] == "vb-joint":
        raise ValueError("vb-joint optimises its hyperparameters jointly; they cannot be fixed")
    optimise = fixed is None and spec.get("optimise", True)
    tunings = spec.get("tunings", 1) if optimise else 1
    names = [method + protocols.TUNE] * (tunings - 1) + [method]
    kernel = fixed or _starting_kernel(block, spec, part, start)
    records, sites = [], _starting_sites(block, part)
    for name in names:
        if kernel is None:
            failed = Status(False, 0, message=f"failed: no start, '{_source(spec, name)}' failed")
            record = _failed_record(failed, 0.0)
        else:
            record, kernel, sites = _attempt(block, spec, part, kernel, sites, optimise, table)
        records.append({**identity, "method": name, **record})
    return records


def _source(spec: dict[str, Any], name: str) -> str:
    """The record whose hyperparameters a fit would have started from."""
    return spec.get("start", name + protocols.TUNE)


def _starting_kernel(
    block: dict[str, Any], spec: dict[str, Any], part: Split, start: dict[str, Any] | None
) -> SquaredExponential | None:
    """Kernel at which the search starts; None if the fit it starts from failed."""
    if "start" in spec:
        if start is None:
            raise ValueError(f"this method starts from the hyperparameters of '{spec['start']}'")
        if start["hyperparameters"] is None:
            return None
        given = start["hyperparameters"]
        return SquaredExponential(given["variance"], given["lengthscale"])
    ard = spec.get("kernel", block["kernel"]) == "ard"
    first = block.get("start_kernel", {"variance": 1.0, "lengthscale": 1.0})
    scale = first["lengthscale"]
    return SquaredExponential(first["variance"], (scale,) * part.X_train.shape[1] if ard else scale)


def _starting_sites(block: dict[str, Any], part: Split) -> Sites | None:
    """Sites at which the first inference starts; None for flat ones."""
    if block.get("start_sites") != "positive":
        return None
    return Sites(np.ones(len(part.y_train)), np.sqrt(part.y_train + 0.5))


def _attempt(
    block: dict[str, Any],
    spec: dict[str, Any],
    part: Split,
    kernel: SquaredExponential,
    sites: Sites | None,
    optimise: bool,
    table: RatioTable | None,
) -> tuple[dict[str, Any], SquaredExponential | None, Sites | None]:
    """Record of one fit (without its identity), and kernel and sites to go on from (None if it failed)."""
    began = time.process_time()
    try:
        fitted = _fit(block, spec, part, kernel, sites, optimise, table)
        likelihood = _likelihood(block)
        mean, variance = fitted.predict_latent(part.X_test)
        density = likelihood.log_predictive(part.y_test, mean, variance)
        if not (np.isfinite(fitted.log_evidence) and np.all(np.isfinite(density))):
            raise ArithmeticError(f"no finite evidence or test density ({fitted.status.message})")
        errors = likelihood.errors(part.y_test, mean, variance)
    except (ArithmeticError, ValueError) as error:  # an improper posterior, one class only, ...
        failed = Status(converged=False, sweeps=0, message=f"failed: {error}")
        return _failed_record(failed, time.process_time() - began), None, None
    found = fitted.kernel
    assert isinstance(found, SquaredExponential), "a search keeps the kind of its kernel"
    lengthscale = found.lengthscale
    record = {
        "hyperparameters": {
            "variance": found.variance,
            "lengthscale": list(lengthscale) if isinstance(lengthscale, tuple) else lengthscale,
        },
        "log_evidence": float(fitted.log_evidence),
        "status": fitted.status.as_dict(),
        "test_error": metrics.mean_error(errors),
        "ntll": metrics.negative_log_likelihood(density),
        "test_log_density": density.tolist(),
        "latent_mean": mean.tolist(),
        "latent_variance": variance.tolist(),
        "seconds": time.process_time() - began,
    }
    return record, found, fitted.inference.sites if isinstance(fitted, api.Fit) else None


def _failed_record(status: Status, seconds: float) -> dict[str, Any]:
    empty = dict.fromkeys(
        (
            "hyperparameters",
            "log_evidence",
            "test_error",
            "ntll",
            "test_log_density",
            "latent_mean",
            "latent_variance",
        )
    )
    return {**empty, "status": status.as_dict(), "seconds": seconds}


def _likelihood(block: dict[str, Any]) -> Likelihood:
    options = {"predictive": block["predictive"]} if "predictive" in block else {}
    return likelihoods.get(block["likelihood"], **options)


def _fit(
    block: dict[str, Any],
    spec: dict[str, Any],
    part: Split,
    kernel: SquaredExponential,
    sites: Sites | None,
    optimise: bool,
    table: RatioTable | None,
) -> api.Fit | JointFit:
    """The fit that a method's spec asks for."""
    likelihood = _likelihood(block)
    if spec["rule"] == "vb-joint":
        return _fit_joint(block, spec, part, kernel, likelihood)
    options = Options(**block["sites"], min_precision=spec.get("min_precision", -np.inf))
    search = Search(**block["search"], gradient=spec.get("gradient", "exact"))
    return api.fit(
        part.X_train,
        part.y_train,
        likelihood,
        spec["rule"],
        kernel,
        mean=spec.get("mean", block["mean"]),
        optimise=optimise,
        search=search,
        options=options,
        start=sites,
        projection=_projection(spec, table),
    )


def _projection(spec: dict[str, Any], table: RatioTable | None) -> Projector | None:
    """How QP projects: None is quadrature."""
    ways: dict[str, Projector | None] = {"quadrature": None, "certified": table, "as-described": TableGrid()}
    return ways[spec.get("lookup", "quadrature")]


def _fit_joint(
    block: dict[str, Any],
    spec: dict[str, Any],
    part: Split,
    kernel: SquaredExponential,
    likelihood: Likelihood,
) -> JointFit:
    """The joint variational search, with its input checked like every other fit's."""
    mean = spec.get("mean", block["mean"])
    if mean != 0.0:
        raise ValueError("vb-joint has a zero prior mean only")
    X, y = api.check_inputs(part.X_train), likelihood.check(part.y_train)
    joint = import_module(JOINT)
    return joint.fit(
        X,
        y,
        likelihood.name,
        kernel,
        released=spec["released"],
        max_evaluations=block["search"]["max_iterations"],
        relative_tolerance=block["search"]["relative_tolerance"],
        gradient_tolerance=block["search"]["gradient_tolerance"],
        alpha=spec.get("alpha", 0.0),
        released_link=spec.get("released_link"),
    )


def narrate(
    records: Iterable[dict[str, Any]], log_path: str | Path | None = None
) -> Iterator[dict[str, Any]]:
    """Pass records through and print a line for each finished seed, to stderr and to a log file."""
    with open(log_path or os.devnull, "w", encoding="utf-8") as log:
        for _, group in itertools.groupby(records, key=lambda r: r["seed"]):
            held = []
            for record in group:
                held.append(record)
                yield record
            line = _seed_line(held)
            print(line, file=sys.stderr, flush=True)
            print(line, file=log, flush=True)
            for record in held:
                if not record["status"]["converged"]:
                    name = f"{record['method']} fold {record['fold']}"
                    print(f"  {name}: {record['status']['message']}", file=log, flush=True)


def _seed_line(records: list[dict[str, Any]]) -> str:
    first = records[0]
    converged = sum(record["status"]["converged"] for record in records)
    seconds = sum(record["seconds"] for record in records)
    return (
        f"  {first['dataset']} {first['protocol']} {records[-1]['method']} seed {first['seed']}: "
        f"{converged}/{len(records)} fits converged, {seconds:.1f} s"
    )
