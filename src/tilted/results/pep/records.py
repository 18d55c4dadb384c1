"""The compact record of the regression experiments: one line a fit, deterministic gzip."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results.store import replacing

if TYPE_CHECKING:
    import pandas as pd

    from tilted.results.stamps import Made

FILE = "regression.csv.gz"
COLUMNS = tuple(
    "dataset split alpha m start n_train n_test nlml smse smll evaluations outcome message seconds".split()
)


def read_records(path: str | Path) -> pd.DataFrame:
    """The record as a frame; ``alpha`` and the texts are str, ``m`` is int, a missing number is NaN."""
    import pandas as pd

    texts = dict.fromkeys(("dataset", "alpha", "start", "outcome", "message"), "str")
    frame = pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={
        name: [""] for name in ("nlml", "smse", "smll")})  # fmt: skip
    return frame[list(COLUMNS)]


def write_records(path: str | Path, frame: pd.DataFrame) -> Path:
    """Write the record; the same frame gives the same bytes."""
    text = frame[list(COLUMNS)].to_csv(index=False, lineterminator="\n")
    with replacing(path) as file, gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
        packed.write(text.encode("utf-8"))
    return Path(path)


def made(folder: str | Path) -> list[Made]:
    """By which source the records were made; not recorded yet."""
    return []
