"""Recorded fits repeated by the present code, and compared with their records.

*fixed*: inference at the recorded hyperparameters must give the recorded numbers to `TOLERANCE`.

*scratch*: the whole search must reach an evidence no lower than the recorded one minus `TOLERANCE`. It starts
where the protocol says (QP: at the recorded hyperparameters of the method it starts from). A failed fit has
no hyperparameters: its search must fail again for the same reason.

In both ways a fit that was recorded as converged must converge.

Inference at fixed hyperparameters starts from the protocol's first sites. Inference in a search starts from
the sites of the evaluation before. The two can differ if there are several fixed points (counts), or if the
stopping rule is loose (``as-described``). A record that the search reproduces, converged and to `TOLERANCE`,
is then verified *by search*.

``vb-joint`` optimises posterior and hyperparameters together, so only its search can be repeated. That search
is chaotic, as is EP's when searched as the released code does: rounding, hence the machine, decides at which
of several points it ends. Another end is reported and is not a failure.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from papers import data
from papers.data.own import described
from papers.evidence.runs import content_hash
from papers.evidence.verification.outcome import (
    BY_SEARCH,
    DIFFERS,
    FIXED,
    PASSED,
    REPORTED,
    SCRATCH,
    Outcome,
    reported,
)
from papers.qp import fits, pairs, protocols
from papers.qp.lines import FAILED, NUMBERS, OK, PAIR, kernel_of, line_of, reason_class
from tilted.projections import table as lookup

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.data import Dataset
    from papers.evidence.verification.outcome import Context
    from tilted.projections.table import RatioTable

    Made = Iterator[tuple[dict[str, Any], Sequence[Outcome] | str]]
    Rerun = Callable[[dict[str, Any]], dict[str, Any]]

TOLERANCE = 1e-6
JOINT = "vb-joint"
OPEN = "left open by the text's stop, the sites' absolute change"
TABLE_POINTS = 2
"""Points at which a lookup table built here measures its own error; the tests measure it in full."""


class MissingRecord(ValueError):
    """A record that a rerun needs is not among the rows, or its method is not in today's protocol."""


def todays(line: Mapping[str, Any]) -> str | None:
    """Return the hash of today's protocol for a fit; None if there is no such fit."""
    try:
        task = fits.task_of(line["dataset"])
        chosen = protocols.choices(line["protocol"], task, line["method"])
        return content_hash(chosen | described(line["dataset"]))
    except ValueError:
        return None


@functools.lru_cache(maxsize=4)
def loaded(dataset: str, protocol: str, mirror: str | None) -> Dataset:
    """Load a data set in the variant of a protocol; a process keeps the last ones.

    Raises
    ------
    DataError
        Raw data are not to be had.
    """
    variant = protocols.block(protocol, fits.task_of(dataset))["variant"]
    return data.load(dataset, variant, mirror=mirror)


@functools.lru_cache(maxsize=1)
def certified_table() -> RatioTable:
    """Return the certified lookup table, built once a process."""
    return lookup.build(points=TABLE_POINTS)


def again(lines: pd.DataFrame, context: Context) -> Made:
    """Repeat rows of one protocol and data set (`papers.evidence.verification.outcome.Again`)."""
    first = lines.iloc[0].to_dict()
    if todays(first) is None:
        reason = f"'{first['method']}' is not in today's protocol"
        yield from ((line, reason) for line in lines.to_dict("records"))
        return
    every = context.every[context.every["seed"].isin(lines["seed"])]
    every = every[(every["protocol"] == first["protocol"]) & (every["dataset"] == first["dataset"])]
    records = {(line["method"], line["seed"], line["fold"]): line for line in every.to_dict("records")}
    bench = Bench(first["protocol"], loaded(first["dataset"], first["protocol"], context.mirror), records)
    for line in lines.to_dict("records"):
        try:
            yield line, outcomes(bench, line, line["scratch"])
        except MissingRecord as error:
            yield line, str(error)


@dataclass(frozen=True)
class Bench:
    """Shared inputs of the reruns of one data set under one protocol.

    Attributes
    ----------
    protocol : str
    dataset : Dataset
        Data set in the protocol's variant.
    lines : dict
        (method, seed, fold) -> recorded row.
    searches : dict
        Searches done: one job can make two records.
    """

    protocol: str
    dataset: Dataset
    lines: dict[tuple[str, int, int], dict[str, Any]]
    searches: dict[tuple[str, int, int], list[dict[str, Any]]] = field(default_factory=dict)

    def spec(self, method: str) -> dict[str, Any]:
        """Return the protocol's spec of a method."""
        return protocols.method(self.protocol, fits.task_of(self.dataset.name), method)

    @property
    def stops_by_sites(self) -> bool:
        """Test if sweeps end by the sites' absolute change, as in the QP paper's text."""
        block = protocols.block(self.protocol, fits.task_of(self.dataset.name))
        return bool(block["sites"].get("stop") == "site-rms")

    def job(self, method: str) -> str:
        """Return the method whose job writes records of this name."""
        block = protocols.block(self.protocol, fits.task_of(self.dataset.name))
        job = protocols.job_of(block["methods"], method)
        if job is None:
            raise MissingRecord(f"'{method}' is not in today's protocol")
        return job

    def line(self, method: str, seed: int, fold: int) -> dict[str, Any]:
        """Return a recorded row; `MissingRecord` if there is none."""
        if (method, seed, fold) not in self.lines:
            raise MissingRecord(f"no record of '{method}', seed {seed}, fold {fold}")
        return self.lines[method, seed, fold]

    def run(self, method: str, seed: int, fold: int, **how: Any) -> list[dict[str, Any]]:
        """Return the fit records of the job of a method."""
        job = self.job(method)
        table = certified_table() if fits.uses_table(self.protocol, self.dataset.name, method) else None
        return fits.run_cell(self.dataset, self.protocol, job, seed, fold, table=table, **how)

    def infer(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return the fit record at the hyperparameters of a row."""
        return self.run(line["method"], line["seed"], line["fold"], fixed=kernel_of(line))[-1]

    def search(self, line: dict[str, Any]) -> dict[str, Any]:
        """Return the fit record of the whole search that a row comes from."""
        method, where = line["method"], (line["seed"], line["fold"])
        name = (self.job(method), *where)
        if name not in self.searches:
            start = self.spec(method).get("start")
            record = start and start_record(self.line(start, *where))
            self.searches[name] = self.run(method, *where, start=record)
        return next(record for record in self.searches[name] if record["method"] == method)


def start_record(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hyperparameters of the record that a search starts from, None if that fit failed."""
    if line["outcome"] == FAILED:
        return {"hyperparameters": None}
    kernel = kernel_of(line)
    return {"hyperparameters": {"variance": kernel.variance, "lengthscale": kernel.lengthscale}}


def ways(bench: Bench, line: Mapping[str, Any], scratch: bool) -> list[str]:
    """Return the ways to repeat a record; some can only be searched."""
    if bench.spec(line["method"])["rule"] == JOINT or line["outcome"] == FAILED:
        return [SCRATCH]
    return [FIXED, SCRATCH] if scratch else [FIXED]


def outcomes(bench: Bench, line: dict[str, Any], scratch: bool) -> list[Outcome]:
    """Repeat a record in all its `ways`; if the fixed one differs, also by search.

    Raises
    ------
    MissingRecord
        The record it starts from, or is paired with, is not there.
    """
    done = {how: outcome(bench, line, how) for how in ways(bench, line, scratch)}
    if FIXED in done and done[FIXED].passed == DIFFERS:
        search = done[SCRATCH] = done.get(SCRATCH) or outcome(bench, line, SCRATCH)
        if search.passed == PASSED and search.difference <= TOLERANCE:
            done[FIXED] = done[FIXED]._replace(passed=BY_SEARCH)
    return list(done.values())


def outcome(bench: Bench, line: dict[str, Any], how: str) -> Outcome:
    """Repeat a record in one of `ways`, and compare (errors as `outcomes`)."""
    rerun = {FIXED: bench.infer, SCRATCH: bench.search}[how]
    record = rerun(line)
    today = line_of(record)
    contradiction = _contradiction(line, today)
    if contradiction:
        return Outcome(how, DIFFERS, math.nan, note=contradiction)
    if line["outcome"] == FAILED:
        return Outcome(how, PASSED, math.nan, note=f"fails again: {line['reason']}")
    differences = {name: today[name] - line[name] for name in NUMBERS}
    differences |= _pair_differences(line, record, bench, rerun)
    if how == SCRATCH:
        recorded = start_record(line)["hyperparameters"]
        differences["hyperparameters"] = pairs.relative_difference(record["hyperparameters"], recorded)
    spec = bench.spec(line["method"])
    chaotic = spec["rule"] == JOINT or (how == SCRATCH and spec.get("optimise") == fits.AS_RELEASED)
    notes = _departures(differences, how, chaotic)
    if line["outcome"] == OK and today["outcome"] != OK:
        notes.append(f"not converged today: {today['reason']}")
    verdict = PASSED if not notes else REPORTED if chaotic else DIFFERS
    largest = max(abs(value) for value in differences.values())
    result = Outcome(how, verdict, largest, differences["log_evidence"], "; ".join(notes))
    if bench.stops_by_sites and _is_open(differences, how):
        return reported(result, OPEN)
    pair_numbers = {name: line[name] + differences[name] for name in PAIR[1:] if name in differences}
    return result._replace(made={**today, **({"pair": line["pair"], **pair_numbers} if pair_numbers else {})})


def _is_open(differences: Mapping[str, float], how: str) -> bool:
    """Test if a stop by the sites' absolute change can explain the differences.

    This stop bounds no variance. Ratios of variances at the same hyperparameters therefore depend on the
    sites that sweeps start from. The end of a search by its gradients depends on the last bits of a
    processor.
    """
    return how == SCRATCH or all(abs(differences[name]) <= TOLERANCE for name in NUMBERS)


def _departures(differences: Mapping[str, float], how: str, chaotic: bool) -> list[str]:
    """Return, in words, the differences that a rerun must not have.

    A search may reach a higher evidence, unless it is chaotic.
    """
    if how == SCRATCH and not chaotic:
        if differences["log_evidence"] >= -TOLERANCE:
            return []
        return [f"the evidence is lower (NTLL {differences['ntll']:+.2g})"]
    beyond = [name for name, value in differences.items() if not abs(value) <= TOLERANCE]
    if chaotic:
        return ["another end of a chaotic search"] if beyond else []
    return [f"{', '.join(beyond)} beyond {TOLERANCE:g}"] if beyond else []


def _contradiction(line: Mapping[str, Any], today: Mapping[str, Any]) -> str:
    """Return the reason why numbers cannot be compared.

    It is empty if they can be compared, or if the fit fails for the recorded reason.
    """
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


def _pair_differences(
    line: Mapping[str, Any], record: Mapping[str, Any], bench: Bench, rerun: Rerun
) -> dict[str, float]:
    """Return today's minus recorded summaries of v_qp / v_ep, of a row that has a pair.

    Points at which the variances are equal up to rounding may change sides. The difference of ``n_above`` is
    therefore the distance of the recorded count from the counts at thresholds 1 -+ `TOLERANCE`.
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
