"""The committed records of the QP paper (`papers.evidence.study`).

`FITS`, a file a protocol, and `DIFFERENCES`, of the protocols derived from them: one fit a line
(`papers.qp.lines`). `VARIANCES`: a line a test point whose variances a figure draws. `TIMING`: one inference.
`LOOKUP_ERRORS`, `LOOKUP_EFFECT`: errors of a projection at random points; one fit at fixed hyperparameters.
`TRUTH`: a file a split, which are no tables; its lines are the methods beside the exact posterior.
`NEARER_FITS`, `NEARER_LATENTS`: seven approximations on the same splits, and their test latents.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from papers.evidence import records
from papers.evidence.study import EXACT, Study, places
from papers.qp import protocols, rerun, timing
from papers.qp.lines import COLUMNS, FAILED, FOLD, KEY, NUMBERS, OUTCOMES, PAIR, SEED, n_folds
from papers.qp.lookup import effect as lookup_effect
from papers.qp.lookup import errors as lookup
from papers.qp.nearer import experiment as nearer
from papers.qp.published import ROWS, is_counts, is_known, method_order, row_order
from papers.qp.truth import records as truth_records

if TYPE_CHECKING:
    import pandas as pd

TEXT = ("dataset", "method", "outcome", "reason", "lengthscale", "pair")
DIGITS = {
    **{"variance": 12, "log_evidence": 12, "test_error": 10, "ntll": 10, "seconds": 3},
    **dict.fromkeys(("ratio_min", "ratio_median", "ratio_max"), 8),
}
PAIRS = ("", "ep-tune", "ep")
REFERENCES = MAIN, MOVED = ("main", "moved")
"""A variance of EP is of its record at QP's hyperparameters, or as reported where its second tuning moved."""
NO_SET = "no row in the published table and no entry in data/sources.yaml (removed? put it back)"


def _rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    """What a line must not be."""
    failed, paired = frame["outcome"] == FAILED, frame["pair"] != ""
    known = [name for name in frame["dataset"].unique() if is_known(name)]
    last = frame["dataset"].map({name: n_folds(name) - 1 for name in known})
    most = frame["dataset"].map({name: np.inf if is_counts(name) else 1.0 for name in known})
    numbers = frame[["variance", *NUMBERS]]
    pair_numbers = frame[list(PAIR[1:])].astype(float)
    return (
        (~frame["dataset"].isin(known), NO_SET),
        (~frame["outcome"].isin(OUTCOMES), "unknown outcome"),
        ((frame["fold"] < 0) | (frame["fold"] > last), "unexpected fold"),
        ((frame["test_error"] < 0) | (frame["test_error"] > most), "test_error is no share"),
        (np.isfinite(numbers).all(axis=1) == failed, "numbers do not agree with the outcome"),
        (numbers.notna().any(axis=1) & failed, "a failed fit with numbers"),
        ((frame["lengthscale"] == "") != failed, "lengthscale does not agree with the outcome"),
        (~frame["pair"].isin(PAIRS) | (paired & (frame["method"] != "qp")), "unexpected pair"),
        (np.isfinite(pair_numbers).all(axis=1) != paired, "numbers do not agree with the pair"),
        (pair_numbers.notna().any(axis=1) & ~paired, "numbers without a pair"),
    )


def _rows(column: pd.Series) -> pd.Series:
    return places(row_order(column))(column)


def _methods(column: pd.Series) -> pd.Series:
    return places(method_order(list(column)))(column)


def _protocols(column: pd.Series) -> pd.Series:
    return places([*protocols.names(), *protocols.derived()])(column)


RANKS = {"protocol": _protocols, "dataset": _rows, "method": _methods}


def _fits(protocol: str) -> Study:
    return Study(
        f"qp/{protocol}.csv.gz",
        COLUMNS,
        ("protocol", *KEY),
        DIGITS,
        TEXT,
        gaps=("n_above",),
        order=KEY,
        ranks=RANKS,
        unit=SEED,
        group=SEED[:3],
        fixed={"protocol": protocol},
        rules=_rules,
        protocol=rerun.todays,
        again=rerun.again,
    )


FITS = {name: _fits(name) for name in protocols.names()}
"""Protocol -> its study."""

DIFFERENCES = Study(
    "qp/differences.csv.gz",
    ("protocol", *COLUMNS),
    ("protocol", *KEY),
    DIGITS,
    ("protocol", *TEXT),
    gaps=("n_above",),
    order=("protocol", *KEY),
    ranks=RANKS,
    unit=SEED,
    group=SEED[:3],
    rules=lambda frame: (
        (~frame["protocol"].isin(protocols.derived()), "not a derived protocol"),
        *_rules(frame),
    ),
    protocol=rerun.todays,
    again=rerun.again,
)


def _variance_rules(frame: pd.DataFrame) -> Iterable[tuple[pd.Series, str]]:
    values = frame[["v_ep", "v_qp"]]
    return (
        (~(np.isfinite(values) & (values > 0)).all(axis=1), "a variance is not positive"),
        (~frame["reference"].isin(REFERENCES), "unknown reference"),
    )


VARIANCES = Study(
    "qp/variances.csv.gz",
    (*FOLD, "reference", "v_ep", "v_qp"),
    (),
    {"v_ep": 7, "v_qp": 7},
    ("protocol", "dataset", "reference"),
    order=(*FOLD, "reference"),
    ranks=RANKS,
    unit=(*FOLD, "reference"),
    rules=_variance_rules,
)

TIMING = Study(
    "qp/timing.csv",
    timing.COLUMNS,
    (*FOLD, "method"),
    {"seconds": 6},
    ("dataset", "protocol", "method"),
    gaps=("sweeps",),
    unit=("dataset", "protocol"),  # one machine's times stay together
    along="seed",
    group=("protocol", "dataset"),
    again=timing.again,
)
LOOKUP_ERRORS = Study(
    "qp/lookup.csv",
    lookup.COLUMNS,
    ("projection", "likelihood", "y", "region"),
    dict.fromkeys(("error_max", "error_median", "above_gap", "build_seconds", "microseconds"), 6),
    ("projection", "likelihood", "region"),
    group=("likelihood",),
    again=lookup.again,
)
LOOKUP_EFFECT = Study(
    "qp/lookup_effect.csv",
    lookup_effect.COLUMNS,
    (*FOLD, "projection"),
    {"ntll": 12, "outside_box": 12},
    ("dataset", "protocol", "projection"),
    flags=("converged",),
    order=("protocol", "dataset", "seed", "fold"),
    ranks={"dataset": places(list(ROWS))},
    group=("protocol", "dataset"),
    again=lookup_effect.again_from(FITS),
)
TRUTH = Study(
    truth_records.FOLDER,
    ("dataset", "split", "method"),
    ("dataset", "split", "method"),
    text=("dataset", "split", "method"),
    group=("dataset",),
    unnamed={"split": "0"},
    again=truth_records.again,
    reader=truth_records.lines,
)

NEARER_FITS = Study(
    "qp/nearer.csv",
    nearer.FIT_COLUMNS,
    nearer.KEY,
    {"variance": EXACT, "lengthscale": EXACT, "log_evidence": 10, "seconds": 3, "latent_seconds": 3},
    ("dataset", "method"),
    flags=("trusted",),
    order=nearer.KEY,
    ranks={"dataset": _rows, "method": places(nearer.METHODS)},
    unit=nearer.KEY[:3],
    group=("dataset", "method"),
    rules=lambda frame: ((~frame["method"].isin(nearer.METHODS), "unknown method"),),
    again=nearer.again,
)
NEARER_LATENTS = Study(
    "qp/nearer_latents.csv.gz",
    nearer.LATENT_COLUMNS,
    (*nearer.KEY, "point"),
    {"mean": 7, "variance": 7, "log_density": 7},
    ("dataset", "method"),
    flags=("trusted",),
    order=(*nearer.KEY, "point"),
    ranks={"dataset": _rows, "method": places(nearer.METHODS)},
    unit=nearer.KEY[:3],
    rules=lambda frame: ((~(frame["variance"] > 0), "a variance is not positive"),),
)

STUDIES = (
    *FITS.values(),
    DIFFERENCES,
    VARIANCES,
    TIMING,
    LOOKUP_ERRORS,
    LOOKUP_EFFECT,
    TRUTH,
    NEARER_FITS,
    NEARER_LATENTS,
)


def study_of(protocol: str) -> Study:
    """The study of the fits of a protocol, or of one derived from it."""
    return FITS.get(protocol, DIFFERENCES)


def load_fits(folder: str | Path) -> pd.DataFrame:
    """All fits of the protocols in a folder of records, in their order.

    Raises
    ------
    RecordError
        As `papers.evidence.records.load`.
    FileNotFoundError
        The folder has none.
    """
    import pandas as pd

    frames = [frame for study in FITS.values() if (frame := records.find(study, folder)) is not None]
    if not frames:
        raise FileNotFoundError(f"{folder}: no records of the QP paper's fits")
    return pd.concat(frames, ignore_index=True)


def ordered(fits: pd.DataFrame) -> pd.DataFrame:
    """Lines in the order of the protocols, the table's rows, the methods, seeds and folds."""
    return DIFFERENCES.sorted(fits)
