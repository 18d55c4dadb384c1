"""Rows of exact posteriors (`TRUTH`), of approximations (`NEARER_FITS`), and of their latents.

Sampling the exact posterior takes half an hour, inference takes seconds. Repeating rows of `TRUTH` therefore
repeats only EP, QP and VB, at the recorded hyperparameters, and keeps the recorded truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from papers.core import records
from papers.core.study import EXACT, Flag, Float, Integer, Study, Text, ordered_text, seconds
from papers.qp import fits
from papers.qp.accuracy import approximations
from papers.qp.accuracy.exact_posterior import SUBSETS, columns_of_methods
from papers.qp.published import ROWS, TRUTH_METHODS, TRUTH_PROTOCOL
from papers.qp.refit import loaded

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Row, Source

    Rows = Iterator[tuple[Study, Row]]

SPLIT = ("dataset", "seed", "fold")


def _points(columns: Mapping[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield a row for each latent from its columns."""
    for point, values in enumerate(zip(*columns.values(), strict=True)):
        yield {"point": point, **dict(zip(columns, values, strict=True))}


def rows_of_truth(record: Mapping[str, Any]) -> Rows:
    """Yield the rows of a record of ground truth (`papers.qp.accuracy.exact_posterior.run`)."""
    row = {name: value for name, value in record.items() if name != "latents"}
    yield TRUTH, {**row, "details": json.dumps(record["details"])}
    shared = {name: record[name] for name in (*SPLIT, "run") if name in record}
    for subset, columns in record["latents"].items():
        yield from ((TRUTH_LATENTS, {**shared, "part": subset, **point}) for point in _points(columns))


def _repeat_truth(rows: pd.DataFrame, source: Source) -> Rows:
    """Repeat EP, QP and VB on recorded splits of one data set, beside the recorded truth."""
    dataset = loaded(rows.iloc[0]["dataset"], TRUTH_PROTOCOL, source.mirror)
    latents = records.load(TRUTH_LATENTS, source.folder)
    for row in rows.to_dict("records"):
        result = approximations.approximated(dataset, fits.kernel_at(row), row["seed"], row["fold"])
        evidences, columns = columns_of_methods(result)
        yield TRUTH, row | evidences
        of_split = latents[np.all([latents[name] == row[name] for name in SPLIT], axis=0)]
        for subset in SUBSETS:
            repeated = of_split[of_split["part"] == subset].assign(**columns[subset])
            yield from ((TRUTH_LATENTS, latent) for latent in repeated.to_dict("records"))


_KEYS = {"dataset": ordered_text(list(ROWS)), **dict.fromkeys(("seed", "fold"), Integer())}

TRUTH = Study(
    "qp/truth.csv",
    {
        **_KEYS,
        **dict.fromkeys(("n_train", "n_latents", "n_test"), Integer()),
        **dict.fromkeys(("variance", "lengthscale"), Float(EXACT)),
        **dict.fromkeys(("log_evidence", "se_log_evidence"), Float(EXACT, compared=False)),
        **{f"log_evidence_{method}": Float(EXACT, tolerance=0.01) for method in TRUTH_METHODS},
        "seconds": seconds(),
        "details": Text(compared=False),
    },
    key=SPLIT,
    order=SPLIT,
    group=("dataset",),
    together=SPLIT,
    seconds=10.0,
    repeat=_repeat_truth,
)
"""``details`` has the diagnostics of the sampler as JSON."""

EXACT_COLUMNS = ("mean", "variance", "se_mean", "se_variance", "effective_size")
TRUTH_LATENTS = Study(
    "qp/truth_latents.csv.gz",
    {
        **_KEYS,
        "part": ordered_text(SUBSETS),
        "point": Integer(),
        **dict.fromkeys((*EXACT_COLUMNS, "log_density", "se_log_density"), Float(EXACT, compared=False)),
        **{
            f"{name}_{method}": Float(EXACT, tolerance=1e-3)
            for method in TRUTH_METHODS
            for name in ("mean", "variance", "log_density")
        },
    },
    key=(*SPLIT, "part", "point"),
    order=(*SPLIT, "part", "point"),
    unit=SPLIT,
)
"""Columns without a method's name are of the exact posterior; log densities are those of test targets."""


def rows_of_approximation(record: Mapping[str, Any]) -> Rows:
    """Yield the row of an approximation (`approximations.run`), and those of its latents."""
    yield NEARER_FITS, {name: value for name, value in record.items() if name != "latents"}
    shared = {name: record[name] for name in (*SPLIT, "method", "run") if name in record}
    yield from ((NEARER_LATENTS, {**shared, **point}) for point in _points(record["latents"]))


def _repeat_approximations(rows: pd.DataFrame, source: Source) -> Rows:
    """Repeat approximations of splits of one data set, at the recorded hyperparameters."""
    dataset = loaded(rows.iloc[0]["dataset"], TRUTH_PROTOCOL, source.mirror)
    for (seed, fold), of_split in rows.groupby(["seed", "fold"], sort=False):
        kernel = fits.kernel_at(of_split.iloc[0].to_dict())
        for record in approximations.run(dataset, int(seed), int(fold), kernel):
            yield from rows_of_approximation(record)


_METHOD_KEYS = {**_KEYS, "method": ordered_text(approximations.METHODS)}
NEARER_FITS = Study(
    "qp/nearer.csv",
    {
        **_METHOD_KEYS,
        # where the evidence is flat, hyperparameters may be anything: they are compared through it
        **dict.fromkeys(("variance", "lengthscale"), Float(EXACT, compared=False)),
        "log_evidence": Float(10, tolerance=0.01),
        "trusted": Flag(),
        **dict.fromkeys(("seconds", "latent_seconds"), seconds()),
    },
    key=(*SPLIT, "method"),
    order=(*SPLIT, "method"),
    unit=SPLIT,
    group=("dataset", "method"),
    together=SPLIT,
    repeat=_repeat_approximations,
)
NEARER_LATENTS = Study(
    "qp/nearer_latents.csv.gz",
    {
        **_METHOD_KEYS,
        "point": Integer(),
        **dict.fromkeys(("mean", "variance"), Float(7, compared=False)),  # they follow the hyperparameters
        "log_density": Float(7, tolerance=1e-3),
        "trusted": Flag(),
    },
    key=(*SPLIT, "method", "point"),
    order=(*SPLIT, "method", "point"),
    unit=SPLIT,
)
