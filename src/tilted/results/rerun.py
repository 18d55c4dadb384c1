"""One recorded fit made again by today's code, and compared with its record.

*fixed*: inference at the recorded hyperparameters must give the recorded numbers to `TOLERANCE`.
*scratch*: the whole search, from the start that the protocol gives it (QP: the hyperparameters recorded for
the method it starts from), must reach an evidence no lower than the recorded one minus `TOLERANCE`; where
NTLL goes is shown. A failed fit has no hyperparameters: its search must fail again for the same reason.
Either way a fit that was recorded as converged must converge.

Inference at fixed hyperparameters starts from the protocol's first sites, a search's inference from those of
the evaluation before. Where there are several fixed points (counts), or the stopping rule leaves slack
(``as-described``), the two can differ; a record that the search reproduces, converged and to `TOLERANCE`,
is then verified *by search*.

``vb-joint`` optimises posterior and hyperparameters together, so only its search can be repeated. That search
is chaotic: rounding, hence the machine, decides at which of several points it ends, and another end is
reported, not counted as a failure.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tilted import protocols
from tilted.experiments import qp
from tilted.kernels.squared_exponential import SquaredExponential
from tilted.results import collect, compact, pairs, runs
from tilted.results.compact import FAILED, OK
from tilted.results.troubles import reason_class
from tilted.results.verified import BY_SEARCH, DIFFERS, FIXED, PASSED, REPORTED, SCRATCH, Check, record_hash

if TYPE_CHECKING:
    from typing import Any

    from tilted.data import Dataset
    from tilted.lookup import RatioTable

    Rerun = Callable[[dict[str, Any]], dict[str, Any]]

TOLERANCE = 1e-6
CHAOTIC = "vb-joint"
NUMBERS = ("log_evidence", "ntll", "test_error")


class MissingRecord(ValueError):
    """A record that a rerun needs is not among the compact records, or its method not in today's protocol."""


@dataclass(frozen=True)
class Bench:
    """What reruns of one data set under one protocol share.

    Attributes
    ----------
    protocol : str
    dataset : Dataset
        In the protocol's variant.
    lines : dict
        (method, seed, fold) -> compact record, as a dictionary.
    table : RatioTable, optional
        For methods that the protocol gives it.
    searches : dict
        Searches done: one job can make two records.
    """

    protocol: str
    dataset: Dataset
    lines: dict[tuple[str, int, int], dict[str, Any]]
    table: RatioTable | None = None
    searches: dict[tuple[str, int, int], list[dict[str, Any]]] = field(default_factory=dict)

    def spec(self, method: str) -> dict[str, Any]:
        """What the protocol says about a method."""
        return protocols.method(self.protocol, qp.task_of(self.dataset.name), method)

    def job(self, method: str) -> str:
        """The method whose job writes records of this name."""
        block = protocols.block(self.protocol, qp.task_of(self.dataset.name))
        job = protocols.job_of(block["methods"], method)
        if job is None:
            raise MissingRecord(f"'{method}' is not in today's protocol")
        return job

    def line(self, method: str, seed: int, fold: int) -> dict[str, Any]:
        """A compact record; `MissingRecord` if there is none."""
        if (method, seed, fold) not in self.lines:
            raise MissingRecord(f"no record of '{method}', seed {seed}, fold {fold}")
        return self.lines[method, seed, fold]

    def run(self, method: str, seed: int, fold: int, **how: Any) -> list[dict[str, Any]]:
        """Fit records of the job of a method."""
        job = self.job(method)
        table = self.table if qp.uses_table(self.protocol, self.dataset.name, method) else None
        return qp.run_cell(self.dataset, self.protocol, job, seed, fold, table=table, **how)

    def infer(self, line: dict[str, Any]) -> dict[str, Any]:
        """Fit record at the hyperparameters of a compact record."""
        return self.run(line["method"], line["seed"], line["fold"], fixed=kernel_of(line))[-1]

    def search(self, line: dict[str, Any]) -> dict[str, Any]:
        """Fit record by the whole search that a compact record comes from."""
        method, where = line["method"], (line["seed"], line["fold"])
        name = (self.job(method), *where)
        if name not in self.searches:
            start = self.spec(method).get("start")
            record = start and start_record(self.line(start, *where))
            self.searches[name] = self.run(method, *where, start=record)
        return next(record for record in self.searches[name] if record["method"] == method)


def kernel_of(line: dict[str, Any]) -> SquaredExponential:
    """The kernel at the hyperparameters of a compact record."""
    scales = compact.lengthscales(line["lengthscale"])
    return SquaredExponential(line["variance"], scales[0] if len(scales) == 1 else tuple(scales))


def start_record(line: dict[str, Any]) -> dict[str, Any]:
    """What a search takes from the record it starts from: hyperparameters, None if that fit failed."""
    if line["outcome"] == FAILED:
        return {"hyperparameters": None}
    kernel = kernel_of(line)
    return {"hyperparameters": {"variance": kernel.variance, "lengthscale": kernel.lengthscale}}


def ways(bench: Bench, line: dict[str, Any], scratch: bool) -> list[str]:
    """How a record can be rerun; none for a record that only a search can repeat, without ``scratch``."""
    if bench.spec(line["method"])["rule"] == CHAOTIC:
        return [SCRATCH] if scratch else []
    if line["outcome"] == FAILED:
        return [SCRATCH]
    return [FIXED, SCRATCH] if scratch else [FIXED]


def checks(bench: Bench, line: dict[str, Any], scratch: bool) -> list[Check]:
    """Rerun a compact record in all its `ways`; where the fixed one differs, by search in any case.

    Raises
    ------
    MissingRecord
        As `check`.
    """
    found = {how: check(bench, line, how) for how in ways(bench, line, scratch)}
    if FIXED in found and found[FIXED].passed == DIFFERS:
        search = found.setdefault(SCRATCH, check(bench, line, SCRATCH))
        if search.passed == PASSED and search.largest_difference <= TOLERANCE:
            found[FIXED] = found[FIXED]._replace(passed=BY_SEARCH)
    return list(found.values())


def check(bench: Bench, line: dict[str, Any], how: str) -> Check:
    """Rerun a compact record in one of `ways`, and compare.

    Raises
    ------
    MissingRecord
        The record it starts from, or is paired with, is not there.
    """
    differences, passed, note = _compared(bench, line, how)
    protocol, dataset, method, seed, fold = (line[part] for part in ("protocol", *compact.KEY))
    largest = max((abs(value) for value in differences.values()), default=math.nan)
    evidence, ntll = (differences.get(number, math.nan) for number in ("log_evidence", "ntll"))
    today = runs.todays(protocol, dataset, method)
    assert today is not None  # it has just been run
    found = how, largest, evidence, ntll, passed, note
    return Check(protocol, dataset, method, seed, fold, *found, record_hash(line), *today)


def _compared(bench: Bench, line: dict[str, Any], how: str) -> tuple[dict[str, Any], str, str]:
    """One of `ways` today: differences, verdict, note."""
    rerun = {FIXED: bench.infer, SCRATCH: bench.search}[how]
    record = rerun(line)
    today = collect.line_of(record)
    contradiction = _contradiction(line, today)
    if contradiction:
        return {}, DIFFERS, contradiction
    if line["outcome"] == FAILED:
        return {}, PASSED, f"fails again: {line['reason']}"
    differences = _differences(line, today) | _pair_differences(line, record, bench, rerun)
    if how == SCRATCH:
        recorded = start_record(line)["hyperparameters"]
        differences["hyperparameters"] = pairs.relative_difference(record["hyperparameters"], recorded)
    chaotic = bench.spec(line["method"])["rule"] == CHAOTIC
    notes = _departures(differences, how, chaotic)
    if line["outcome"] == OK and today["outcome"] != OK:
        notes.append(f"not converged today: {today['reason']}")
    verdict = PASSED if not notes else REPORTED if chaotic else DIFFERS
    return differences, verdict, "; ".join(notes)


def _departures(differences: dict[str, float], how: str, chaotic: bool) -> list[str]:
    """Which differences a rerun must not have, in words: a search, of chaotic ones apart, may find more."""
    if how == SCRATCH and not chaotic:
        return [] if differences["log_evidence"] >= -TOLERANCE else ["the evidence is lower"]
    beyond = [name for name, value in differences.items() if not abs(value) <= TOLERANCE]
    if chaotic:
        return ["another end of a chaotic search"] if beyond else []
    return [f"{', '.join(beyond)} beyond {TOLERANCE:g}"] if beyond else []


def _contradiction(line: dict[str, Any], today: dict[str, Any]) -> str:
    """Why numbers cannot be compared; empty if they can, or if the fit fails as it did."""
    sizes = [f"{which['n_train']} training, {which['n_test']} test points" for which in (line, today)]
    if sizes[0] != sizes[1]:
        return f"{sizes[1]} today, {sizes[0]} recorded"
    failed, fails = line["outcome"] == FAILED, today["outcome"] == FAILED
    if fails and not failed:
        return f"fails today: {today['reason']}"
    if failed and not fails:
        return f"does not fail today; recorded: {line['reason']}"
    if failed and reason_class(line["reason"]) != reason_class(today["reason"]):
        return f"fails for another reason: {today['reason']}; recorded: {line['reason']}"
    return ""


def _differences(line: dict[str, Any], today: dict[str, Any]) -> dict[str, float]:
    """Today's minus recorded."""
    return {name: today[name] - line[name] for name in NUMBERS}


def _pair_differences(
    line: dict[str, Any],
    record: dict[str, Any],
    bench: Bench,
    rerun: Callable[[dict[str, Any]], dict[str, Any]],
) -> dict[str, float]:
    """Today's minus recorded summaries of v_qp / v_ep, of a line that has a pair.

    Points at which the variances are equal up to rounding may change sides: the difference of ``n_above`` is
    how far the recorded count is outside the counts at thresholds 1 -+ `TOLERANCE`.
    """
    if not line["pair"]:
        return {}
    ep = rerun(bench.line(line["pair"], line["seed"], line["fold"]))
    if ep["latent_variance"] is None:
        return {"pair": math.inf}
    v_ep, v_qp = np.array(ep["latent_variance"]), np.array(record["latent_variance"])
    today = pairs.comparison(v_ep, v_qp)
    least, most = (int(np.sum(v_qp > v_ep * (1.0 + sign * TOLERANCE))) for sign in (1, -1))
    outside = min(max(line["n_above"], least), most) - line["n_above"]
    ratios = {name: today[name] - line[name] for name in today if name != "n_above"}
    return {**ratios, "n_above": float(outside)}
