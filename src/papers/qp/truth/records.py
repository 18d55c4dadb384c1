"""Ground truth as rows: `TRUTH`, a split a row, and `TRUTH_LATENTS`, a latent a row.

Sampling the exact posterior takes half an hour, inference takes seconds. `repeat` therefore repeats only EP,
QP and VB, at the recorded hyperparameters, and keeps the recorded truth beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from papers.core import records
from papers.core.study import EXACT, Float, Integer, Study, Text, ordered_text, seconds
from papers.qp import fits
from papers.qp.published import ROWS
from papers.qp.repeat import loaded
from papers.qp.truth.experiment import METHODS, PROTOCOL, approximations

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    import pandas as pd

    from papers.core.study import Row, Source

SPLIT = ("dataset", "seed", "fold")
PARTS = ("train", "test")
SIZES = ("n_train", "n_latents", "n_test")
SAMPLED = ("mean", "variance", "se_mean", "se_variance", "effective_size", "log_density", "se_log_density")
"""Columns of the exact posterior; log densities are those of test targets."""
APPROXIMATED = ("mean", "variance", "log_density")


def repeat(rows: pd.DataFrame, source: Source) -> Iterator[tuple[Study, Row]]:
    """Repeat the approximations of recorded splits of one data set, beside the recorded truth."""
    dataset = loaded(rows.iloc[0]["dataset"], PROTOCOL, source.mirror)
    wanted = {tuple(row[name] for name in SPLIT) for row in rows.to_dict("records")}
    for record in read(source.folder):
        if tuple(record[name] for name in SPLIT) in wanted:
            kernel = fits.kernel_at(record["hyperparameters"])
            made = approximations(dataset, kernel, record["seed"], record["fold"])
            yield from rows_of({**record, "methods": made})


_KEYS = {"dataset": ordered_text(list(ROWS)), **dict.fromkeys(("seed", "fold"), Integer())}

TRUTH = Study(
    "qp/truth.csv",
    {
        **_KEYS,
        **dict.fromkeys(SIZES, Integer()),
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

TRUTH_LATENTS = Study(
    "qp/truth_latents.csv.gz",
    {
        **_KEYS,
        "part": ordered_text(PARTS),
        "point": Integer(),
        **dict.fromkeys(SAMPLED, Float(EXACT, compared=False)),
        **{f"{name}_{method}": Float(EXACT, tolerance=1e-3) for method in METHODS for name in APPROXIMATED},
    },
    key=(*SPLIT, "part", "point"),
    order=(*SPLIT, "part", "point"),
    unit=SPLIT,
    checks=lambda frame: ((~(frame["variance"] > 0), "a variance is not positive"),),
)


def rows_of(record: Mapping[str, Any]) -> Iterator[tuple[Study, dict[str, Any]]]:
    """Yield the rows of a record of ground truth (`papers.qp.truth.experiment.run`)."""
    truth, methods = record["truth"], record["methods"]
    shared = {name: record[name] for name in (*SPLIT, "run") if name in record}
    details = {name: value for name, value in truth.items() if name not in (*PARTS, *_EVIDENCE, *_DENSITIES)}
    details |= {part: {name: truth[part][name] for name in _CHAINS} for part in PARTS}
    yield (
        TRUTH,
        {
            **shared,
            **{name: record[name] for name in SIZES},
            **record["hyperparameters"],
            **{name: truth[name] for name in _EVIDENCE},
            **{f"log_evidence_{method}": made["log_evidence"] for method, made in methods.items()},
            "seconds": sum(truth["seconds"].values()),
            "details": json.dumps(details),
        },
    )
    for part in PARTS:
        columns = _columns(truth, part, SAMPLED)
        for method, made in methods.items():
            columns |= {
                f"{name}_{method}": values for name, values in _columns(made, part, APPROXIMATED).items()
            }
        for point, values in enumerate(zip(*columns.values(), strict=True)):
            yield (
                TRUTH_LATENTS,
                {**shared, "part": part, "point": point, **dict(zip(columns, values, strict=True))},
            )


_EVIDENCE, _DENSITIES = ("log_evidence", "se_log_evidence"), ("log_density", "se_log_density")
_CHAINS = ("r_hat_max", "bulk_size_min")


def _columns(said: Mapping[str, Any], part: str, names: Iterable[str]) -> dict[str, list[float | None]]:
    """Return the numbers of a part's latents; targets of training points have no densities."""
    n = len(said[part]["mean"])
    absent: list[float | None] = [None] * n
    return {
        name: (said[name] if part == "test" else absent) if name in _DENSITIES else said[part][name]
        for name in names
    }


def read(folder: str | Path) -> list[dict[str, Any]]:
    """Read the records of ground truth in a folder, in the order of the paper's table.

    Raises
    ------
    RecordError
        A damaged file; it is named.
    """
    latents = dict(iter(records.load(TRUTH_LATENTS, folder).groupby(list(SPLIT), sort=False)))
    rows = records.load(TRUTH, folder).to_dict("records")
    return [_record(row, latents[tuple(row[name] for name in SPLIT)]) for row in rows]


def _record(row: Row, latents: pd.DataFrame) -> dict[str, Any]:
    """Return the record that `rows_of` has made rows of."""
    parts = {part: latents[latents["part"] == part] for part in PARTS}

    def moments(names: Iterable[str], end: str = "") -> dict[str, Any]:
        of_part = {
            part: {name: frame[name + end].tolist() for name in names if name not in _DENSITIES}
            for part, frame in parts.items()
        }
        return of_part | {name: parts["test"][name + end].tolist() for name in names if name in _DENSITIES}

    details = json.loads(row["details"])
    truth = moments(SAMPLED)
    for part in PARTS:
        truth[part] |= details.pop(part)
    return {
        **{name: row[name] for name in (*SPLIT, *SIZES)},
        "protocol": PROTOCOL,
        "hyperparameters": {name: row[name] for name in ("variance", "lengthscale")},
        "methods": {
            method: {"log_evidence": row[f"log_evidence_{method}"], **moments(APPROXIMATED, f"_{method}")}
            for method in METHODS
        },
        "truth": {**{name: row[name] for name in _EVIDENCE}, **truth, **details},
    }


def split_of(record: Mapping[str, Any]) -> int:
    """Return the number of a record's split: the fold of seed 0, or the seed if there are no folds."""
    return int(record["seed"] + record["fold"])
