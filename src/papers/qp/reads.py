"""Rows of the QP paper's records that its claims, figures and tables depend on, and that its jobs produce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from papers.data import registry
from papers.evidence.slices import Slice
from papers.qp import protocols, timing
from papers.qp.claims.chapter import VARIANTS
from papers.qp.published import CLASSIFICATION, PUBLISHED_COLUMNS, RELEASED_VB, ROWS
from papers.qp.records import (
    DIFFERENCES,
    FITS,
    LOOKUP_EFFECT,
    NEARER_FITS,
    NEARER_LATENTS,
    TIMING,
    TRUTH,
    VARIANCES,
    study_of,
)

if TYPE_CHECKING:
    from papers.evidence.jobs import Job
    from papers.evidence.records import Change

EP, QP, TUNED = "ep", "qp", "ep-tune"
VB = (RELEASED_VB, "vb-joint", "vb")
PRINTED = (*PUBLISHED_COLUMNS, *VB)
"""Methods that may stand in the printed table."""


def _fits(datasets: Sequence[str], methods: Sequence[str]) -> tuple[Slice, ...]:
    """Return the fits under every protocol."""
    return tuple(Slice(study, {"dataset": datasets, "method": methods}) for study in FITS.values())


ALL = tuple(ROWS)
CLAIMS: dict[str, tuple[Slice, ...]] = {
    "QP1": _fits(CLASSIFICATION, (EP, TUNED, QP)),
    "QP2": _fits(ALL, (EP, TUNED, QP, *(name for _, *pair in VARIANTS for name in pair))),
    "QP3": _fits(ALL, (EP, TUNED, QP)),
    "QP4": _fits(ALL, (EP, QP, *VB)),
    "QP5": (*_fits(CLASSIFICATION, (EP, TUNED, QP)), Slice(VARIANCES, {"dataset": CLASSIFICATION})),
    "QP6": _fits(("coal",), (EP, TUNED, QP, *VB)),
    "QP7": (),
    "QP8": (Slice(TIMING),),
    "QP9": (Slice(LOOKUP_EFFECT),),
    "QP10": (Slice(TRUTH),),
    **dict.fromkeys(("OURS1", "OURS2", "OURS3"), (Slice(NEARER_FITS), Slice(NEARER_LATENTS), Slice(TRUTH))),
}
"""Claim -> the records that decide it; QP7 uses none."""


def table1(row: str = "") -> tuple[Slice, ...]:
    """Return the records that one row of Table 1, or all of it, depends on."""
    datasets = [name for name, printed in ROWS.items() if row in ("", printed)]
    return _fits(datasets, PRINTED)


def figure(name: str) -> tuple[Slice, ...]:
    """Return the records that a figure (`papers.qp.artifacts`) depends on."""
    datasets = {"figure1a": CLASSIFICATION, "figure1b": ("coal",)}.get(name)
    if datasets:
        return (*_fits(datasets, (EP, TUNED, QP)), Slice(VARIANCES, {"dataset": datasets}))
    if name == "qp_truth":
        return CLAIMS["QP10"]
    if name == "qp_nearer":
        return CLAIMS["OURS1"]
    if name == "qp_calibration":
        return Slice(NEARER_LATENTS, {"dataset": CLASSIFICATION}), Slice(TRUTH, {"dataset": CLASSIFICATION})
    if name == "vb_column":
        return (*_fits(ALL, VB), Slice(DIFFERENCES, {"method": VB}))
    return _fits(ALL, PRINTED)


def made_by(job: Job) -> Slice | None:
    """Return the records that a job produces; None if its file is folded into no record."""
    p = job.parameters
    if job.kind == "qp_fit":
        spec = protocols.method(p["protocol"], registry.task_of(p["dataset"]), p["method"])
        methods = [p["method"], *protocols.further_records(p["method"], spec)]
        seeds = range(p["first"], p["last"] + 1)
        where = {"protocol": [p["protocol"]], "dataset": [p["dataset"]], "method": methods, "seed": seeds}
        return Slice(study_of(p["protocol"]), where)
    dataset = Path(job.path).name.partition(".")[0]
    if job.kind == "qp_truth":
        return Slice(TRUTH, {"dataset": [dataset.partition("-")[0]], "split": [str(p["split"])]})
    if job.kind == "qp_nearer":
        name, _, split = dataset.partition("-")
        seed, fold = (int(split or 0), 0) if name == "coal" else (0, int(split or 0))
        return Slice(NEARER_FITS, {"dataset": [name], "seed": [seed], "fold": [fold]})
    if job.kind == "qp_lookup_effect":
        tuned = cast("Job", job.inputs["records"]).parameters
        seeds = range(tuned["first"], tuned["last"] + 1)
        return Slice(LOOKUP_EFFECT, {"protocol": [p["protocol"]], "dataset": [dataset], "seed": seeds})
    return None


def _timed(folder: Path, mirror: str | None) -> dict[str, Change]:
    from papers.evidence import records

    lines = list(timing.timed(None, ["as-released"], 3, 3, mirror=mirror))
    return records.put(folder, {TIMING: lines}, keep=False)


STUDIES: dict[str, Callable[[Path, str | None], dict[str, Change]]] = {TIMING.file: _timed}
"""Record without a job -> function of a folder of records and a mirror of raw data that measures it."""
