"""The experiments of the quantile-propagation paper: one record for each (seed, fold, method).

``fit_block`` makes a file of records for a block of seeds; ``run_fold`` fits and tests one fold under a named
protocol. A fit is scored stably, corrected, or as the released code does. A failed fit is a record with its
reason in ``status.message``; nothing is dropped.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core import metrics, store
from papers.data import Dataset, folds, split, standard
from papers.data.registry import task_of
from papers.qp import ep_released, pairs, protocols, vb_released
from tilted import api, likelihoods
from tilted.corrections import learning as corrected_evidence
from tilted.gaussian import Sites
from tilted.inference import vb_joint
from tilted.inference.options import Options
from tilted.inference.result import Status
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.learning.search import Search
from tilted.likelihoods.contract import Labels
from tilted.projections import table as lookup
from tilted.projections.moments import TableGrid

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from papers.data import Split
    from tilted.inference.rule import Projector
    from tilted.inference.vb_joint import JointFit
    from tilted.likelihoods.contract import Likelihood
    from tilted.projections.table import RatioTable

CORRECTED = "corrected-evidence"
"""Objective of a search, if a protocol names it: EP's evidence to second order."""

UNTRUSTED = "evidence not corrected"

AS_RELEASED = "as-released"
"""Search of EP, if a protocol names it: that of the released code (`papers.qp.ep_released`)."""


def fit_block(
    protocol: str,
    dataset: str,
    method: str,
    first: int,
    last: int,
    data: str,
    log: str,
    start: str | None = None,
    table: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the records of all folds of a block of seeds by one method on one data set.

    A line for each fit goes to the log. QP's records are compared with EP's, at which it starts.

    Parameters
    ----------
    protocol, dataset, method : str
    first, last : int
        Seeds.
    data, log, start, table : str
        Paths: standard file, log, records of the method that this one starts from, certified table.
    """
    before = store.read_records(start) if start is not None else []
    certified = None if table is None else lookup.read(table)
    points, seeds = standard.read_standard(data), range(first, last + 1)
    records = run_job(points, protocol, method, seeds, before, certified)
    with open(log, "w", encoding="utf-8") as lines:
        for record in records:
            yield record
            place = "{dataset} {protocol} {method} seed {seed} fold {fold}".format(**record)
            print(
                f"{place}: {record['seconds']:.1f} s, {record['status']['message']}", file=lines, flush=True
            )


def run_job(
    dataset: Dataset,
    protocol: str,
    method: str,
    seeds: Iterable[int],
    before: Iterable[dict[str, Any]] = (),
    table: RatioTable | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the records of all folds of some seeds, one after the other.

    Parameters
    ----------
    dataset : Dataset
        Data set in the variant of the protocol.
    protocol, method : str
    seeds : iterable of int
        Seed indices; the protocol's split maps them to its generator's seeds.
    before : iterable of dict
        Records of the same folds by the method that this one starts from. QP's are compared with them.
    table : RatioTable, optional
        See :func:`run_fold`.
    """
    task = task_of(dataset.name)
    by_fold = {fold: list(records) for fold, records in itertools.groupby(before, key=_fold)}
    start_method = protocols.method(protocol, task, method).get("start")
    for seed in seeds:
        for fold in range(folds(protocols.block(protocol, task)["split"])):
            earlier = by_fold.get((seed, fold), [])
            start = next((record for record in earlier if record["method"] == start_method), None)
            for record in run_fold(dataset, protocol, method, seed, fold, start, table=table):
                yield pairs.with_pairs(record, earlier) if method == "qp" else record


def _fold(record: Mapping[str, Any]) -> tuple[int, int]:
    return record["seed"], record["fold"]


def run_fold(
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
    table : RatioTable, optional
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
            scores = {name: failed(f"no start, '{source}' failed", 0.0)}
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
        fitted, sites = _fit(cell, kernel, sites, optimise, table)
        grade, arguments = cell.spec.get("correction"), (cell.likelihood, cell.points, fitted)
        if grade is not None:
            record = corrected(*arguments, grade)
        elif cell.spec.get("optimise") == CORRECTED:
            record = of_corrected_evidence(*arguments)
        else:
            record = stable(*arguments)
    except FAILURES as error:
        return failed(str(error), time.process_time() - began), None, None
    assert isinstance(fitted.kernel, SquaredExponential), "a search keeps the kind of its kernel"
    record["seconds"] = time.process_time() - began
    return record, fitted.kernel, sites


def _attempt_joint(cell: Cell, kernel: SquaredExponential, name: str) -> dict[str, dict[str, Any]]:
    """Run one joint search and return its records by name.

    The first record is scored stably. If the released code is replayed, the second is scored as that code
    does; its seconds are those of its own prediction and scores, without the search.
    """
    scorings: dict[str, Callable[[Likelihood, Split, JointFit], dict[str, Any]]] = {name: stable}
    if cell.spec["released"]:
        scorings[name + protocols.RELEASED] = released
    fitted, records = None, {}
    for called, score in scorings.items():
        began = time.process_time()
        try:
            fitted = fitted or _fit_joint(cell, kernel)
            records[called] = {
                **score(cell.likelihood, cell.points, fitted),
                "seconds": time.process_time() - began,
            }
        except FAILURES as error:
            records[called] = failed(str(error), time.process_time() - began)
    return records


def _fit(
    cell: Cell, kernel: SquaredExponential, sites: Sites | None, optimise: bool, table: RatioTable | None
) -> tuple[api.Fit, Sites]:
    """Return the fit of a method other than the joint search, and the sites that the next starts from."""
    spec = cell.spec
    gradient = spec.get("gradient", "exact")
    search = Search(**cell.block["search"], gradient=gradient) if optimise else None
    objective = spec.get("optimise") if search else None
    if search and objective == AS_RELEASED:
        X, y = api.check_inputs(cell.points.X_train), cell.likelihood.check(cell.points.y_train)
        end = ep_released.search(X, y, cell.likelihood, kernel, sites, search, spec["min_precision"])
        fit = approximate(cell, end.kernel, end.sites)  # EP's fixed point at the end of that search
        return replace(fit, status=end.status(fit.status)), end.sites
    if search and objective == CORRECTED:
        fit = approximate(cell, kernel, sites)
        tuned, _ = corrected_evidence.maximise(fit.problem, fit.kernel, search, fit.inference.sites)
        fit = replace(fit, kernel=tuned.kernel, inference=tuned.inference, status=tuned.status)
    else:
        projections = {"quadrature": None, "certified": table, "as-described": TableGrid()}
        fit = approximate(cell, kernel, sites, projections[spec.get("lookup", "quadrature")], search)
    return fit, fit.inference.sites


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
    likelihood, search = cell.likelihood, cell.block["search"]
    X, y = api.check_inputs(cell.points.X_train), likelihood.check(cell.points.y_train)
    return vb_joint.fit(
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


# Scores


def stable(likelihood: Likelihood, points: Split, fitted: api.Fit | JointFit) -> dict[str, Any]:
    """Return the record of a fit, predicted without an inverse of K; ArithmeticError if not finite."""
    mean, variance = fitted.predict_latent(points.X_test)
    density = likelihood.log_predictive(points.y_test, mean, variance)
    if not (np.isfinite(fitted.log_evidence) and np.all(np.isfinite(density))):
        raise ArithmeticError(f"no finite evidence or test density ({fitted.status.message})")
    errors = likelihood.errors(points.y_test, mean, variance)
    return _record(fitted, fitted.status, mean, variance, density, errors)


def corrected(likelihood: Likelihood, points: Split, fitted: api.Fit, grade: str) -> dict[str, Any]:
    """Return the record of EP's fit with its posterior and evidence corrected (`tilted.corrections`).

    A label is wrong if its predictive probability is below one half. Counts are predicted from the corrected
    moments. If a correction is not trusted, of the evidence or of a latent (which is then EP's), the fit is
    not converged, and the reason says so.
    """
    evidence, correction = fitted.corrected_evidence(grade), fitted.corrected(points.X_test, grade)
    density = correction.log_predictive(likelihood.domain(points.y_test))
    if not (np.isfinite(evidence.value) and np.all(np.isfinite(density))):
        raise ArithmeticError(f"no finite evidence or test density ({correction.message})")
    if isinstance(likelihood, Labels):
        errors = (density < np.log(0.5)).astype(float)
    else:
        errors = likelihood.errors(points.y_test, correction.mean, correction.variance)
    status = fitted.status
    if status.converged and not np.all(correction.trusted):
        status = replace(status, converged=False, message=f"not corrected: {correction.message}")
    elif status.converged and not evidence.trusted:
        status = _with_evidence_of_ep(status, evidence.message)
    record = _record(fitted, status, correction.mean, correction.variance, density, errors)
    return {**record, "log_evidence": float(evidence.value)}


def of_corrected_evidence(likelihood: Likelihood, points: Split, fitted: api.Fit) -> dict[str, Any]:
    """Return the record of EP's fit with EP's predictions and the second-order evidence in place of EP's.

    If that evidence is not trusted, nothing was searched, the evidence is EP's, and the fit is not converged.
    """
    record, evidence = stable(likelihood, points, fitted), fitted.corrected_evidence()
    if not evidence.trusted:
        record["status"] = _with_evidence_of_ep(fitted.status, evidence.message).as_dict()
    return {**record, "log_evidence": float(evidence.value)}


def _with_evidence_of_ep(status: Status, why: str) -> Status:
    """Return the status of a fit whose evidence could not be corrected."""
    message = f"{UNTRUSTED}: {why.removeprefix('not corrected: ')}"
    return replace(status, converged=False, message=message)


def released(likelihood: Likelihood, points: Split, fitted: JointFit) -> dict[str, Any]:
    """Return the record of a fit, predicted and scored as the released code does (`vb_released`).

    ``clipped`` counts predictive variances, ``retries`` amounts of jitter.
    """
    predicted = vb_released.predict(fitted, points.X_test)
    density, errors = vb_released.scores(likelihood, points.y_test, predicted)
    status = replace(
        fitted.status, clipped=predicted.clipped, retries=predicted.tries, jitter=predicted.jitter
    )
    return _record(fitted, status, predicted.mean, predicted.variance, density, errors)


def _record(
    fitted: api.Fit | JointFit,
    status: Status,
    mean: np.ndarray,
    variance: np.ndarray,
    density: np.ndarray,
    errors: np.ndarray,
) -> dict[str, Any]:
    """Return the record, without seconds, of a fit that gave numbers; arrays [N*]."""
    kernel = fitted.kernel
    assert isinstance(kernel, SquaredExponential), "a search keeps the kind of its kernel"
    lengthscale = kernel.lengthscale
    return {
        "hyperparameters": {
            "variance": kernel.variance,
            "lengthscale": list(lengthscale) if isinstance(lengthscale, tuple) else lengthscale,
        },
        "log_evidence": float(fitted.log_evidence),
        "status": status.as_dict(),
        "test_error": metrics.mean_error(errors),
        "ntll": metrics.negative_log_likelihood(density),
        "test_log_density": density.tolist(),
        "latent_mean": mean.tolist(),
        "latent_variance": variance.tolist(),
    }


FAILURES = (ArithmeticError, ValueError)
"""An improper posterior, one class only, a matrix that cannot be factorised, ..."""

EMPTY = "hyperparameters log_evidence test_error ntll test_log_density latent_mean latent_variance".split()
"""Fields that a failed fit has no numbers for."""


def failed(why: str, seconds: float) -> dict[str, Any]:
    """Return the record of a fit that gave no numbers."""
    status = Status(converged=False, sweeps=0, message=f"failed: {why}")
    return {**dict.fromkeys(EMPTY), "status": status.as_dict(), "seconds": seconds}
