"""What making something again takes: recorded lines, jobs that are missing or to be repeated, their cost.

Jobs are those of the committed configurations, all in one. Nothing is missing where the records have what the
claim's rule asks for: a paper's whole grid is more than that.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers import configuration, plan
from papers.captions import READS
from papers.evidence import claims, files, records, resources, slices
from papers.evidence.runs import CHECKOUT
from papers.reproduce.names import Target

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.evidence.jobs import Job
    from papers.evidence.slices import Slice
    from papers.plan import Cost

    Frames = Mapping[Study, pd.DataFrame]

CONFIGURATIONS = ("paper", "pep-middle", "pep-converged", "differences", "lookup")
"""Whose jobs made the committed records."""

UNITS = ("units", "seeds")
"""Names that coverage has for seeds, splits, sets, problems."""


@dataclass(frozen=True)
class Needs:
    """What some targets take.

    Attributes
    ----------
    frames : mapping
        Study -> lines of it that the targets are made of.
    jobs : tuple of Job
        To run.
    studies : tuple of str
        Records to make anew that no job makes.
    costs : tuple of Cost
        Of the jobs and of those that these need.
    data : tuple of str
        Data sets.
    """

    frames: Frames
    jobs: tuple[Job, ...]
    studies: tuple[str, ...]
    costs: tuple[Cost, ...]
    data: tuple[str, ...]

    def lines(self) -> list[str]:
        """What is needed, in a few lines."""
        there = sum(map(len, self.frames.values()))
        shown = [f"Data sets: {', '.join(self.data) or 'none'}", f"Fits and measurements recorded: {there:,}"]
        if self.studies:
            shown.append(f"To be made anew in this process: {', '.join(self.studies)}")
        if not self.jobs:
            return [*shown, "To run: nothing but a sample of these"]
        return [*shown, f"To run: {self.run()}"]

    def run(self) -> str:
        """Jobs, minutes and memory in words."""
        known = [cost.seconds for cost in self.costs if cost.seconds is not None]
        memory = [cost.memory for cost in self.costs if cost.memory is not None]
        minutes = f"{sum(known) / 60:.1f}{'+?' if len(known) < len(self.costs) else ''} core-minutes"
        peak = f"{max(memory):.0f} MB" if memory else "memory never measured"
        return f"{len(self.costs)} jobs, {minutes}, {peak} a job"

    def as_dict(self) -> dict[str, Any]:
        """As the receipt has it; None is what was never measured."""
        known = [cost.seconds for cost in self.costs if cost.seconds is not None]
        memory = [cost.memory for cost in self.costs if cost.memory is not None]
        return {
            "data": list(self.data),
            "recorded": int(sum(map(len, self.frames.values()))),
            "jobs": len(self.costs),
            "core_minutes": sum(known) / 60 if len(known) == len(self.costs) else None,
            "memory_mb": max(memory, default=None),
        }


@lru_cache(maxsize=1)
def config() -> dict[str, Any]:
    """All committed configurations in one; where two say something of one name, the paper's counts."""
    merged: dict[str, Any] = {"keep_records": True}
    for name in CONFIGURATIONS:
        for section, content in files.read_yaml(CHECKOUT / "config" / f"{name}.yaml").items():
            both = isinstance(content, dict) and section in merged
            merged[section] = {**content, **merged[section]} if both else merged.get(section, content)
    return merged


@lru_cache(maxsize=1)
def _jobs() -> tuple[tuple[Job, Slice], ...]:
    """Jobs that make lines of records, with these lines."""
    return tuple(configuration.made(configuration.asked(config()).jobs.values(), config()))


def of(
    targets: Sequence[Target],
    folder: str | Path,
    lacking: Mapping[str, Collection[str]] | None = None,
    fresh: bool = False,
    share: float = 1.0,
    seed: int = 0,
) -> Needs:
    """What some targets take.

    Parameters
    ----------
    targets : sequence of Target
    folder : path
        Of the committed records.
    lacking : mapping, optional
        Claim -> protocols under which the records are too few for a verdict, and are to be completed.
    fresh : bool
        Whether to repeat what is recorded; a ``share`` of it, drawn by a ``seed``.

    Raises
    ------
    RecordError
        A damaged record.
    """
    wanted = tuple(one for target in targets for one in target.slices)
    loaded = {one.study: records.load(one.study, folder) for one in wanted}
    frames = {study: frame[slices.mask(wanted, study, frame)] for study, frame in loaded.items()}
    makers = {file for module in READS.values() for file in getattr(module, "STUDIES", {})}
    studies = tuple(study.file for study in frames if study.file in makers)
    if fresh:
        jobs = _drawn(_covering(wanted, frames), share, seed)
    else:
        jobs = _demanded(targets, lacking or {}, loaded)
        jobs += _absent(wanted, frames)
        studies = tuple(study.file for study in frames if study.file in studies and frames[study].empty)
    chained = {job.path: job for chosen in jobs for job in chosen.chain()}
    seen = resources.read(CHECKOUT / "benchmarks" / "resources.csv")
    costs = tuple(plan.costs(chained.values(), [folder], seen)) if jobs else ()
    return Needs(frames, tuple(jobs), studies, costs, _data(frames, jobs))


def _data(frames: Frames, jobs: Iterable[Job]) -> tuple[str, ...]:
    names = {str(job.parameters["dataset"]) for job in jobs if "dataset" in job.parameters}
    for frame in frames.values():
        names |= set(frame["dataset"]) if "dataset" in frame else set()
    return tuple(sorted(names))


def _absent(wanted: Iterable[Slice], frames: Frames) -> list[Job]:
    """Jobs of studies of which there is no line at all."""
    gone = [one for one in wanted if frames[one.study].empty]
    return [job for job, made in _jobs() if any(made.meets(one) for one in gone)] if gone else []


def _demanded(targets: Iterable[Target], lacking: Mapping[str, Collection[str]], frames: Frames) -> list[Job]:
    """Jobs of which lines are missing, among those of the first units, as many as the claims ask for."""
    jobs: dict[str, Job] = {}
    for target in targets:
        for protocol in lacking.get(target.name, ()):
            asked = claims.load()[target.name].needs(protocol)
            most = max((asked[name] for name in UNITS if name in asked), default=0)
            for job, made in _jobs():
                ours = any(made.meets(one) for one in target.slices) and _is_under(made, protocol)
                first = job.parameters.get("first", job.parameters.get("split", 0))
                if not ours or first >= most:
                    continue
                asked_for, share = made.up_to(most)
                if asked_for.mask(frames[made.study]).sum() < share * job.fits:
                    jobs[job.path] = job
    return list(jobs.values())


def _is_under(made: Slice, protocol: str) -> bool:
    return protocol in made.where.get("protocol", (protocol,))


def _covering(wanted: Iterable[Slice], frames: Frames) -> list[Job]:
    """Jobs that make every recorded line, those first that make least beside."""
    candidates = []
    for job, made in _jobs():
        if any(made.meets(one) for one in wanted):
            mask = made.mask(frames[made.study])
            if mask.any():
                candidates.append((job.fits - int(mask.sum()), job.path, job, made.study, mask))
    left = {study: np.ones(len(frame), dtype=bool) for study, frame in frames.items()}
    chosen = []
    for _, _, job, study, mask in sorted(candidates, key=lambda found: found[:2]):
        if (mask & left[study]).any():
            left[study] &= ~mask
            chosen.append(job)
    return chosen


def _drawn(jobs: Sequence[Job], share: float, seed: int) -> list[Job]:
    """A share of jobs, at least one: methods on the same seeds or splits are drawn together."""
    if not 0 < share <= 1:
        raise ValueError(f"a share lies above 0 and is at most 1, got {share:g}")
    together: dict[str, list[Job]] = {}
    for job in jobs:
        rest = {name: value for name, value in job.parameters.items() if name != "method"}
        together.setdefault(json.dumps([job.kind, rest], sort_keys=True), []).append(job)
    groups = [together[name] for name in sorted(together)]
    if not groups:
        return []
    number = max(1, round(share * len(groups)))
    order = np.random.default_rng(seed).permutation(len(groups))[:number]
    return [job for k in sorted(order) for job in groups[k]]
