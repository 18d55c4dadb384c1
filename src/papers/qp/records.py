"""The committed records of the QP paper (`papers.core.study`).

`FITS`, `DIFFERENCES`
    one fit a row (`papers.qp.fit_rows`): a file for each protocol, and one for all derived protocols;
`VARIANCES`
    one row for each test point whose variances a figure draws;
`TIMING`
    one inference a row;
`LOOKUP_ERRORS`, `LOOKUP_EFFECT`
    errors of a projection at random points; one fit at fixed hyperparameters;
`TRUTH`, `TRUTH_LATENTS`, `NEARER_FITS`, `NEARER_LATENTS`
    exact posteriors and approximations of splits, and their latents (`papers.qp.accuracy.records`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import records
from papers.core.study import (
    Flag,
    Float,
    Integer,
    Study,
    Text,
    one_test_point,
    ordered_text,
    places,
    seconds,
)
from papers.qp import protocols, refit, timing
from papers.qp.accuracy.records import (
    NEARER_FITS,
    NEARER_LATENTS,
    TRUTH,
    TRUTH_LATENTS,
    rows_of_approximation,
    rows_of_truth,
)
from papers.qp.fit_rows import FOLD, KEY, OUTCOMES, SEED, STATUS, line_of
from papers.qp.lookup import effect as lookup_effect
from papers.qp.lookup import errors as lookup
from papers.qp.published import ROWS, is_counts, method_order, row_order

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Kind, Row, Source

    Rows = Iterator[tuple[Study, Row]]

FIGURE_SEEDS = 5
"""Seeds whose predictive variances are kept point by point (counts: every seed)."""


def _checks(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    counts = frame["dataset"].isin([name for name in frame["dataset"].unique() if is_counts(name)])
    share = frame["test_error"].between(0, 1) | frame["test_error"].isna()
    return (
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        ((frame["test_error"] < 0) | ~(share | counts), "test_error is no share"),
    )


def _rows(column: pd.Series) -> pd.Series:
    return places(row_order(column))(column)


def _methods(column: pd.Series) -> pd.Series:
    return places(method_order(list(column)))(column)


def _protocols(column: pd.Series) -> pd.Series:
    return places([*protocols.names(), *protocols.derived()])(column)


PROTOCOL, DATASET = Text(rank=_protocols), Text(rank=_rows)
COLUMNS = {
    "dataset": DATASET,
    "method": Text(rank=_methods),
    **dict.fromkeys(("seed", "fold", "n_train", "n_test"), Integer()),
    **dict.fromkeys(("outcome", "reason"), Text(compared=False)),
    **dict.fromkeys(STATUS, Integer(compared=False)),
    # where the evidence is flat, hyperparameters may be anything: they are compared through it
    "variance": Float(12, compared=False),
    "lengthscale": Text(compared=False),
    "log_evidence": Float(12, tolerance=0.01),  # far below what tells two models apart
    "test_error": Float(10, tolerance=one_test_point),
    "ntll": Float(10, tolerance=1e-3),  # the table prints thousandths of a nat
    "seconds": seconds(),
    "pair": Text(compared=False),
    "n_above": Integer(nullable=True, compared=False),
    **dict.fromkeys(("ratio_min", "ratio_median", "ratio_max"), Float(8, compared=False)),
}
SEARCHED_JOINTLY = "vb-joint"
"""Methods whose search follows a path that rounding decides begin with this name."""


def _kind(row: Row) -> Kind:
    return "chaotic" if row["method"].startswith((SEARCHED_JOINTLY, "exact")) else "optimum"


def _repeat_fits(rows: pd.DataFrame, source: Source) -> Rows:
    """Repeat fits of one protocol and data set from scratch."""
    recorded = _recorded(*rows.iloc[0][["protocol", "dataset"]], source.folder)
    for record in refit.repeat(rows, recorded, source.mirror):
        yield from rows_of_fit(record)


@functools.lru_cache(maxsize=2)
def _recorded(protocol: str, dataset: str, folder: str | Path) -> pd.DataFrame:
    """Return the recorded fits of a protocol and data set; a process keeps the last ones."""
    frame = records.load(study_of(protocol), folder)
    return frame[(frame["protocol"] == protocol) & (frame["dataset"] == dataset)]


def rows_of_fit(record: Mapping[str, Any]) -> Rows:
    """Yield the row of a fit, and of QP those of the variances that figures draw."""
    protocol, dataset, seed = (record[name] for name in ("protocol", "dataset", "seed"))
    run = {"run": record["run"]} if "run" in record else {}
    yield study_of(protocol), {**line_of(record), **record.get("pair", {}), **run}
    if protocol in FITS and (is_counts(dataset) or seed < FIGURE_SEEDS):
        for reference, both in record.get("variances", {}).items():
            shared = {"protocol": protocol, "dataset": dataset, "seed": seed, "fold": record["fold"]}
            for v_ep, v_qp in zip(*both, strict=True):
                yield VARIANCES, {**shared, **run, "reference": reference, "v_ep": v_ep, "v_qp": v_qp}


def _fits(file: str, protocol: str = "") -> Study:
    """Return the study of the fits of a protocol, or of all derived ones."""
    key = ("protocol", *KEY)
    return Study(
        file,
        COLUMNS if protocol else {"protocol": PROTOCOL, **COLUMNS},
        key=key,
        order=key[1:] if protocol else key,
        unit=SEED,
        group=SEED[:3],
        constants={"protocol": protocol} if protocol else {},
        checks=_checks,
        kind=_kind,
        objective="log_evidence",
        protocol=refit.todays,
        together=("protocol", "dataset", "seed"),
        repeat=_repeat_fits,
    )


FITS = {name: _fits(f"qp/{name}.csv.gz", name) for name in protocols.names()}
"""Protocol -> its study."""

DIFFERENCES = _fits("qp/differences.csv.gz")


VARIANCES = Study(
    "qp/variances.csv.gz",
    {
        "protocol": PROTOCOL,
        "dataset": DATASET,
        **dict.fromkeys(("seed", "fold"), Integer()),
        "reference": Text(),
        **dict.fromkeys(("v_ep", "v_qp"), Float(7)),
    },
    key=(),
    order=(*FOLD, "reference"),
    unit=FOLD,
)

TIMING: Study = Study(
    "qp/timing.csv",
    {
        **dict.fromkeys(("dataset", "protocol"), Text()),
        **dict.fromkeys(("seed", "fold"), Integer()),
        "method": Text(),
        "sweeps": Integer(nullable=True),
        "seconds": seconds(6),
        "N": Integer(),
    },
    key=(*FOLD, "method"),
    unit=("dataset", "protocol"),  # one machine's times stay together
    progress="seed",
    group=("protocol", "dataset"),
    together=FOLD,
    seconds=0.5,
    repeat=lambda rows, source: ((TIMING, row) for row in timing.repeat(rows, source.mirror)),
)
LOOKUP_ERRORS: Study = Study(
    "qp/lookup.csv",
    {
        **dict.fromkeys(("projection", "likelihood"), Text()),
        "y": Integer(signed=True),
        "region": Text(),
        "points": Integer(),
        **{name: Float(6, tolerance=lookup.allowed(name)) for name in ("error_max", "error_median")},
        "above_gap": Float(6, tolerance=lookup.POINTS),
        "bytes": Integer(compared=False),
        **dict.fromkeys(("build_seconds", "microseconds"), seconds(6)),
    },
    key=("projection", "likelihood", "y", "region"),
    group=("likelihood",),
    seconds=2.0,
    repeat=lambda rows, source: ((LOOKUP_ERRORS, row) for row in lookup.repeat(rows)),
)


def _repeat_effects(rows: pd.DataFrame, source: Source) -> Rows:
    """Repeat rows of one protocol and data set at the hyperparameters that its QP starts from."""
    recorded = _recorded(*rows.iloc[0][["protocol", "dataset"]], source.folder)
    yield from ((LOOKUP_EFFECT, row) for row in lookup_effect.repeat(rows, recorded, source.mirror))


LOOKUP_EFFECT = Study(
    "qp/lookup_effect.csv",
    {
        "dataset": ordered_text(list(ROWS)),
        "protocol": Text(),
        **dict.fromkeys(("seed", "fold"), Integer()),
        "projection": Text(),
        "converged": Flag(),
        **dict.fromkeys(("ntll", "outside_box"), Float(12)),
    },
    key=(*FOLD, "projection"),
    order=("protocol", "dataset", "seed", "fold"),
    group=("protocol", "dataset"),
    together=FOLD,
    seconds=0.5,
    repeat=_repeat_effects,
)


STUDIES = (
    *FITS.values(),
    DIFFERENCES,
    VARIANCES,
    TIMING,
    LOOKUP_ERRORS,
    LOOKUP_EFFECT,
    TRUTH,
    TRUTH_LATENTS,
    NEARER_FITS,
    NEARER_LATENTS,
)

ROWS_OF = {
    "fits/qp": rows_of_fit,
    "truth": rows_of_truth,
    "nearer": rows_of_approximation,
    "lookup/effect": lambda record: [(LOOKUP_EFFECT, record)],
    "lookup/errors": lambda record: [(LOOKUP_ERRORS, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""


def study_of(protocol: str) -> Study:
    """Return the study of the fits of a protocol, or of a derived one."""
    return FITS.get(protocol, DIFFERENCES)


def load_fits(folder: str | Path) -> pd.DataFrame:
    """Load all fits of the protocols from a folder of records, in their order.

    Raises
    ------
    RecordError
        As `papers.core.records.load`.
    FileNotFoundError
        The folder has none.
    """
    import pandas as pd

    frames = [frame for study in FITS.values() if (frame := records.find(study, folder)) is not None]
    if not frames:
        raise FileNotFoundError(f"{folder}: no records of the QP paper's fits")
    return pd.concat(frames, ignore_index=True)


def ordered(fits: pd.DataFrame) -> pd.DataFrame:
    """Sort rows by protocol, row of the table, method, seed and fold."""
    return DIFFERENCES.sorted(fits)
