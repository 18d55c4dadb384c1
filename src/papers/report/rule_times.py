"""What the runs behind the committed records cost: processor seconds by the workflow's rule and by method."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Source(NamedTuple):
    """A record with a column ``seconds``: the paper, the rule that made it, the columns that name a method.

    ``run`` names a run where its seconds are counted on from line to line, so that the last one counts.
    """

    paper: str
    rule: str
    file: str
    by: tuple[str, ...]
    run: tuple[str, ...] = ()


SOURCES = (
    *(Source("QP", "fit", f"qp/{name}.csv.gz", ("method",)) for name in ("as-released", "as-described")),
    Source("QP", "fit", "qp/corrected.csv.gz", ("method",)),
    Source("QP", "fit", "qp/differences.csv.gz", ("method",)),
    Source("PEP", "regressions", "pep/regression.csv.gz", ("alpha",)),
    Source("PEP", "classifications", "pep/classification.csv.gz", ("alpha",)),
    Source("PEP", "toy_regressions", "pep/toy.csv", ("hyperparameters",)),
    Source("PEP", "mnist", "pep/mnist.csv", ("alpha", "m"), ("alpha", "m", "seed")),
    Source("REP", "relaxed_choices", "rep/choices.csv.gz", ("method",)),
    Source("REP", "relaxed_fits", "rep/fits.csv.gz", ("method",)),
    Source("REP", "relaxed_points", "rep/points.csv.gz", ("method",)),
    Source("REP", "relaxed_picture", "rep/exact.csv.gz", ("method",)),
)
NAMES = {"alpha": "α = {}", "m": "M = {}", "hyperparameters": "exact, {} hyperparameters"}
"""How the value of a column is said."""

UNTIMED = (
    "No times are recorded of the PESC studies and of the ground truth by sampling; times of lookup tables, "
    "and of one inference at equal hyperparameters, are in tables of their own."
)


class Times(NamedTuple):
    """Processor seconds of a method's fits by a rule."""

    paper: str
    rule: str
    method: str
    fits: int
    median: float
    longest: float
    total: float


def read(folder: str | Path) -> list[Times]:
    """Times of every record there is in the folder of the results, in the order of `SOURCES`."""
    times = []
    for source in SOURCES:
        path = Path(folder, source.file)
        if path.is_file():
            times += _times(source, _seconds(source, path))
    return times


def _seconds(source: Source, path: Path) -> pd.DataFrame:
    import pandas as pd

    columns = [*dict.fromkeys((*source.by, *source.run)), "seconds"]
    table = pd.read_csv(path, usecols=columns, dtype=dict.fromkeys(columns[:-1], str))
    if source.run:
        table = table.groupby(list(source.run), sort=False, as_index=False)["seconds"].max()
    return table.dropna(subset="seconds")


def _times(source: Source, table: pd.DataFrame) -> list[Times]:
    protocol = Path(source.file).name.removesuffix(".csv.gz") if source.rule == "fit" else ""
    times = []
    for name, fits in table.groupby(list(source.by), sort=False):
        said = [NAMES.get(column, "{}").format(value) for column, value in zip(source.by, name, strict=True)]
        seconds = fits["seconds"]
        numbers = len(seconds), seconds.median(), seconds.max(), seconds.sum()
        times.append(Times(source.paper, source.rule, ", ".join([*said, protocol]).strip(", "), *numbers))
    return times
