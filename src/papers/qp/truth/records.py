"""Ground truth as rows: `TRUTH`, a split a row, and `TRUTH_LATENTS`, a latent a row.

Sampling the exact posterior takes half an hour, inference takes seconds. `repeat` therefore repeats only EP,
QP and VB, at the recorded hyperparameters, and keeps the recorded truth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from papers.core import records
from papers.core.study import EXACT, Float, Integer, Study, Text, ordered_text, seconds
from papers.qp import fits
from papers.qp.published import ROWS
from papers.qp.repeat import loaded
from papers.qp.truth.experiment import METHODS, PROTOCOL, SUBSETS, approximations

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Row, Source

SPLIT = ("dataset", "seed", "fold")


def repeat(rows: pd.DataFrame, source: Source) -> Iterator[tuple[Study, Row]]:
    """Repeat the approximations of recorded splits of one data set, beside the recorded truth."""
    dataset = loaded(rows.iloc[0]["dataset"], PROTOCOL, source.mirror)
    latents = records.load(TRUTH_LATENTS, source.folder)
    for row in rows.to_dict("records"):
        kernel = fits.kernel_at(row)
        evidences, columns = approximations(dataset, kernel, row["seed"], row["fold"])
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
        **{f"log_evidence_{method}": Float(EXACT, tolerance=0.01) for method in METHODS},
        "seconds": seconds(),
        "details": Text(compared=False),
    },
    key=SPLIT,
    order=SPLIT,
    group=("dataset",),
    together=SPLIT,
    seconds=10.0,
    repeat=repeat,
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
            for method in METHODS
            for name in ("mean", "variance", "log_density")
        },
    },
    key=(*SPLIT, "part", "point"),
    order=(*SPLIT, "part", "point"),
    unit=SPLIT,
    checks=lambda frame: ((~(frame["variance"] > 0), "a variance is not positive"),),
)
"""Columns without a method's name are of the exact posterior; log densities are those of test targets."""


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[Study, dict[str, Any]]]:
    """Yield the rows of a record of ground truth (`papers.qp.truth.experiment.run`)."""
    row = {name: value for name, value in record.items() if name != "latents"}
    yield TRUTH, {**row, "details": json.dumps(record["details"])}
    shared = {name: record[name] for name in (*SPLIT, "run") if name in record}
    for subset, columns in record["latents"].items():
        for point, values in enumerate(zip(*columns.values(), strict=True)):
            latent = dict(zip(columns, values, strict=True))
            yield TRUTH_LATENTS, {**shared, "part": subset, "point": point, **latent}
