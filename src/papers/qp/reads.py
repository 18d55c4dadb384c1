"""Rows of the QP paper's records that its claims, figures and tables depend on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core.slices import Slice
from papers.qp import timing
from papers.qp.claims.chapter import VARIANTS
from papers.qp.published import CLASSIFICATION, PUBLISHED_COLUMNS, RELEASED_VB, ROWS
from papers.qp.records import (
    DIFFERENCES,
    FITS,
    LOOKUP_EFFECT,
    NEARER_FITS,
    NEARER_LATENTS,
    TIMING,
    VARIANCES,
)
from papers.qp.truth.records import TRUTH, TRUTH_LATENTS

if TYPE_CHECKING:
    from papers.core.records import Change

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
    "QP10": (Slice(TRUTH), Slice(TRUTH_LATENTS)),
    **dict.fromkeys(
        ("OURS1", "OURS2", "OURS3"),
        (Slice(NEARER_FITS), Slice(NEARER_LATENTS), Slice(TRUTH), Slice(TRUTH_LATENTS)),
    ),
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
        studies = (NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS)
        return tuple(Slice(study, {"dataset": CLASSIFICATION}) for study in studies)
    if name == "vb_column":
        return (*_fits(ALL, VB), Slice(DIFFERENCES, {"method": VB}))
    return _fits(ALL, PRINTED)


def _timed(folder: Path, mirror: str | None) -> dict[str, Change]:
    from papers.core import records

    lines = list(timing.timed(None, ["as-released"], 3, 3, mirror=mirror))
    return records.put(folder, {TIMING: lines}, keep=False)


STUDIES: dict[str, Callable[[Path, str | None], dict[str, Change]]] = {TIMING.file: _timed}
"""Record without a job -> function of a folder of records and a mirror of raw data that measures it."""
