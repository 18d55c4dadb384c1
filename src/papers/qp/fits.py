"""The experiments of the quantile-propagation paper: one record for each (seed, fold, method).

``run_cell`` fits and tests one fold under a named protocol; ``run_job`` runs a block of seeds. A failed
fit is a record with its reason in ``status.message``; nothing is dropped.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.data import Dataset, folds, registry, split
from papers.qp import ep_released, protocols, scored
from tilted import api, likelihoods
from tilted.corrections import learning as corrected_evidence
from tilted.gaussian import Sites
from tilted.inference.options import Options
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.search import Search
from tilted.projections.moments import TableGrid

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from papers.data import Split
    from tilted.inference.rule import Projector
    from tilted.inference.vb_joint import JointFit
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.table import RatioTable

PAPER = "qp"
JOINT = "tilted.inference.vb_joint"
CORRECTED = "corrected-evidence"
"""Objective of a search, if a protocol names it: EP's evidence to second order."""

AS_RELEASED = "as-released"
"""Search of EP, if a protocol names it: that of the released code (`papers.qp.ep_released`)."""


def task_of(dataset: str) -> str:
    """Return the task of a data set, "classification" or "counts"; DataError for an unknown one."""
    return registry.task_of(dataset)


def uses_table(protocol: str, dataset: str, method: str) -> bool:
    """Test if the protocol gives a method the certified lookup table."""
    return protocols.method(protocol, task_of(dataset), method).get("lookup") == "certified"


def run_job(
    dataset: Dataset,
    protocol: str,
    method: str,
    seeds: Iterable[int],
    starts: dict[tuple[int, int], dict[str, Any]] | None = None,
    table: RatioTable | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield records of all folds of a block of seeds, one after the other.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol.
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
        One, or two for a method that is tuned twice (the first called ``METHOD-tune``), or whose fit is also
        scored as the released code does (the second called ``METHOD-released``).

    Raises
    ------
    ValueError
        For names the protocol does not know, a fold out of range, or a missing start.
    """
    cell = cell_of(dataset, protocol, method, seed, fold)
    identity = {
        "paper": PAPER,
        "dataset": dataset.name,
        "protocol": protocol,
        "seed": int(seed),
        "fold": int(fold),
        "n_train": len(cell.points.y_train),
        "n_test": len(cell.points.y_test),
    }
    if fixed is not None and cell.spec["rule"] == "vb-joint":
        raise ValueError("vb-joint optimises its hyperparameters jointly; they cannot be fixed")
    optimise = fixed is None and cell.spec.get("optimise", True)
    tunings = cell.spec.get("tunings", 1) if optimise else 1
    names = [method + protocols.TUNE] * (tunings - 1) + [method]
    kernel = fixed or _starting_kernel(cell, start)
    records, sites = [], cell.starting_sites
    for name in names:
        if kernel is None:
            source = cell.spec.get("start", name + protocols.TUNE)
            scores = {name: scored.failed(f"no start, '{source}' failed", 0.0)}
        elif cell.spec["rule"] == "vb-joint":
            scores = _attempt_joint(cell, kernel, name)
        else:
            record, kernel, sites = _attempt(cell, kernel, sites, optimise, table)
            scores = {name: record}
        records += [{**identity, "method": called, **record} for called, record in scores.items()]
    return records


class Cell(NamedTuple):
    """A protocol's choices for a task and a method, and the points of a fold."""

    block: dict[str, Any]
    spec: dict[str, Any]
    points: Split

    @property
    def likelihood(self) -> Likelihood:
        """Return the likelihood that the block names."""
        options = {"predictive": self.block["predictive"]} if "predictive" in self.block else {}
        return likelihoods.get(self.block["likelihood"], **options)

    @property
    def starting_sites(self) -> Sites | None:
        """Return the sites at which the first inference starts; None for flat ones."""
        if self.block.get("start_sites") != "positive":
            return None
        return Sites(np.ones(len(self.points.y_train)), np.sqrt(self.points.y_train + 0.5))


def cell_of(dataset: Dataset, protocol: str, method: str, seed: int, fold: int) -> Cell:
    """Return the cell of one fold; ValueError for unknown names, or a fold out of range."""
    task = task_of(dataset.name)
    block, spec = protocols.block(protocol, task), protocols.method(protocol, task, method)
    points = split(dataset, block["split"], seed, fold, standardise=block["standardise"])
    return Cell(block, spec, points)


def _starting_kernel(cell: Cell, start: dict[str, Any] | None) -> SquaredExponential | None:
    """Return the kernel at which the search starts; None if the fit it starts from failed."""
    if "start" in cell.spec:
        if start is None:
            raise ValueError(f"this method starts from the hyperparameters of '{cell.spec['start']}'")
        return kernel_at(start["hyperparameters"]) if start["hyperparameters"] else None
    ard = cell.spec.get("kernel", cell.block["kernel"]) == "ard"
    first = cell.block.get("start_kernel", {"variance": 1.0, "lengthscale": 1.0})
    scale = first["lengthscale"]
    return SquaredExponential(first["variance"], (scale,) * cell.points.X_train.shape[1] if ard else scale)


def kernel_at(hyperparameters: Mapping[str, Any]) -> SquaredExponential:
    """Return the kernel at the hyperparameters of a record, whose lengthscales may be a list."""
    scale = hyperparameters["lengthscale"]
    return SquaredExponential(hyperparameters["variance"], tuple(scale) if isinstance(scale, list) else scale)


def _attempt(
    cell: Cell, kernel: SquaredExponential, sites: Sites | None, optimise: bool, table: RatioTable | None
) -> tuple[dict[str, Any], SquaredExponential | None, Sites | None]:
    """Return the record of one fit without its identity, and kernel and sites to go on from.

    Kernel and sites are None if the fit failed.
    """
    began = time.process_time()
    try:
        if replayed := optimise and cell.spec.get("optimise") == AS_RELEASED:
            fitted, sites = _fit_as_released(cell, kernel, sites)
        else:
            fitted = _fit(cell, kernel, sites, optimise, table)
        grade, arguments = cell.spec.get("correction"), (cell.likelihood, cell.points, fitted)
        if grade is not None:
            record = scored.corrected(*arguments, grade)
        elif cell.spec.get("optimise") == CORRECTED:
            record = scored.of_corrected_evidence(*arguments)
        else:
            record = scored.stable(*arguments)
    except scored.FAILURES as error:
        return scored.failure(error, began), None, None
    assert isinstance(fitted.kernel, SquaredExponential), "a search keeps the kind of its kernel"
    record["seconds"] = time.process_time() - began
    return record, fitted.kernel, sites if replayed else fitted.inference.sites


def _attempt_joint(cell: Cell, kernel: SquaredExponential, name: str) -> dict[str, dict[str, Any]]:
    """Run one joint search and return its records by name.

    The first record is scored stably. If the released code is replayed, the second is scored as that code
    does; its seconds are those of its own prediction and scores, without the search.
    """
    scorings: dict[str, Callable[[Likelihood, Split, JointFit], dict[str, Any]]] = {name: scored.stable}
    if cell.spec["released"]:
        scorings[name + protocols.RELEASED] = scored.released
    fitted, records = None, {}
    for called, score in scorings.items():
        began = time.process_time()
        try:
            fitted = fitted or _fit_joint(cell, kernel)
            records[called] = {
                **score(cell.likelihood, cell.points, fitted),
                "seconds": time.process_time() - began,
            }
        except scored.FAILURES as error:
            records[called] = scored.failure(error, began)
    return records


def _fit(
    cell: Cell, kernel: SquaredExponential, sites: Sites | None, optimise: bool, table: RatioTable | None
) -> api.Fit:
    """Return the fit that the spec of a method other than the joint search asks for."""
    projections = {"quadrature": None, "certified": table, "as-described": TableGrid()}
    projection = projections[cell.spec.get("lookup", "quadrature")]
    gradient = cell.spec.get("gradient", "exact")
    search = Search(**cell.block["search"], gradient=gradient) if optimise else None
    if search is not None and cell.spec.get("optimise") == CORRECTED:
        return _by_corrected_evidence(approximate(cell, kernel, sites), search)
    return approximate(cell, kernel, sites, projection, search)


def _fit_as_released(cell: Cell, kernel: SquaredExponential, sites: Sites | None) -> tuple[api.Fit, Sites]:
    """Return EP's fixed point at the end of the released code's search, and the sites of that search."""
    X, y = api.check_inputs(cell.points.X_train), cell.likelihood.check(cell.points.y_train)
    how = Search(**cell.block["search"])
    end = ep_released.search(X, y, cell.likelihood, kernel, sites, how, cell.spec["min_precision"])
    ep = approximate(cell, end.kernel, end.sites)
    return replace(ep, status=end.status(ep.status)), end.sites


def _by_corrected_evidence(ep: api.Fit, search: Search) -> api.Fit:
    """Maximise the corrected evidence from EP's fit; return EP's fit if the correction is not trusted."""
    tuned, _ = corrected_evidence.maximise(ep.problem, ep.kernel, search, ep.inference.sites)
    return replace(ep, kernel=tuned.kernel, inference=tuned.inference, status=tuned.status)


def approximate(
    cell: Cell,
    kernel: SquaredExponential,
    sites: Sites | None = None,
    projection: Projector | None = None,
    search: Search | None = None,
) -> api.Fit:
    """Fit EP, QP or VB to the training points of a cell.

    Parameters
    ----------
    cell : Cell
    kernel : SquaredExponential
        Kernel at which inference, or the search, starts.
    sites : Sites, optional
        Flat ones by default.
    projection : Projector, optional
        How QP projects; by quadrature by default.
    search : Search, optional
        Inference at the kernel alone without one.

    Raises
    ------
    ArithmeticError
        An improper posterior.
    """
    block, spec = cell.block, cell.spec
    return api.fit(
        cell.points.X_train,
        cell.points.y_train,
        cell.likelihood,
        spec["rule"],
        kernel,
        mean=spec.get("mean", block["mean"]),
        optimise=search is not None,
        search=search,
        options=Options(**block["sites"], min_precision=spec.get("min_precision", -np.inf)),
        start=sites,
        projection=projection,
    )


def _fit_joint(cell: Cell, kernel: SquaredExponential) -> JointFit:
    """Run the joint variational search, with its input validated as for every other fit."""
    if cell.spec.get("mean", cell.block["mean"]) != 0.0:
        raise ValueError("vb-joint has a zero prior mean only")
    likelihood, search = cell.likelihood, cell.block["search"]
    X, y = api.check_inputs(cell.points.X_train), likelihood.check(cell.points.y_train)
    return import_module(JOINT).fit(
        X,
        y,
        likelihood.name,
        kernel,
        released=cell.spec["released"],
        max_evaluations=search["max_iterations"],
        relative_tolerance=search["relative_tolerance"],
        gradient_tolerance=search["gradient_tolerance"],
        alpha=cell.spec.get("alpha", 0.0),
        released_link=cell.spec.get("released_link"),
    )
