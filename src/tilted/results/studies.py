"""The small studies beside the records: read, and by which source they were made.

``timing.csv`` (`tilted.experiments.timing`): one inference a line. ``lookup.csv`` and ``lookup_effect.csv``
(`tilted.experiments.lookup_study`): errors of a projection at random points a line; one fit at fixed
hyperparameters a line, ``projection`` being ``quadrature``, ``certified`` or ``as-described``, and
``outside_box`` the share of the sites whose cavity lies outside the table. ``limits.csv``
(`tilted.experiments.pep_limits`, beside the Power-EP records): one comparison with a dense formula a line.
``dense.csv`` (`tilted.experiments.pep_dense`, there too): one quantity of sparse and dense EP at one pair of
hyperparameters. ``banana.csv`` and ``banana_map.csv`` (`tilted.experiments.pep_banana`): one fit; one point
of a map. ``toy.csv`` (`tilted.experiments.pep_toy`): one exact regression. ``mnist.csv``
(`tilted.experiments.mnist`): one measurement of a training. ``accuracy.csv`` and ``regret.csv`` (PESC's,
`tilted.experiments.pesc_accuracy` and ``pesc_regret``): one random problem; one look at one search. A line
ends with its stamp (`stamps.COLUMNS`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilted.experiments import (
    lookup_study,
    mnist,
    pep_banana,
    pep_dense,
    pep_limits,
    pep_toy,
    pesc_accuracy,
    pesc_regret,
    timing,
)
from tilted.provenance import closure_hash
from tilted.results import stamps
from tilted.results.store import write_text

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from tilted.results.stamps import Made

TIMING, ERRORS, EFFECT = "timing.csv", "lookup.csv", "lookup_effect.csv"
LIMITS, TOY, DIGITS = "limits.csv", "toy.csv", "mnist.csv"
DENSE, BANANA, MAP = "dense.csv", "banana.csv", "banana_map.csv"
ACCURACY, REGRET = "accuracy.csv", "regret.csv"
FOLD = ("dataset", "protocol", "seed", "fold")


class Study(NamedTuple):
    """A file: its columns without the stamp, those that name a line, those that decide its source (a group
    of parts, if any, and a part), and the modules that make a part."""

    columns: tuple[str, ...]
    key: tuple[str, ...]
    group: str | None
    part: str
    modules: Callable[..., list[str]]


STUDIES = {
    TIMING: Study(timing.COLUMNS, (*FOLD, "method"), "protocol", "dataset", timing.modules_of),
    ERRORS: Study(
        lookup_study.COLUMNS,
        ("projection", "likelihood", "y", "region"),
        None,
        "likelihood",
        lookup_study.modules_of_comparison,
    ),
    EFFECT: Study(
        lookup_study.EFFECT_COLUMNS,
        (*FOLD, "projection"),
        "protocol",
        "dataset",
        lookup_study.modules_of,
    ),
    LIMITS: Study(
        pep_limits.COLUMNS,
        ("problem", "alpha", "limit", "quantity"),
        None,
        "problem",
        pep_limits.modules_of,
    ),
    DENSE: Study(
        pep_dense.COLUMNS, ("data", "lengthscale", "variance", "quantity"), None, "data", pep_dense.modules_of
    ),
    BANANA: Study(pep_banana.COLUMNS, ("alpha", "seed"), None, "alpha", pep_banana.modules_of),
    MAP: Study(
        pep_banana.MAP_COLUMNS,
        ("alpha", "kind", "line", "x", "y"),
        None,
        "alpha",
        pep_banana.modules_of,
    ),
    TOY: Study(
        pep_toy.COLUMNS,
        ("dataset", "split", "n_train", "hyperparameters"),
        None,
        "dataset",
        pep_toy.modules_of,
    ),
    ACCURACY: Study(
        tuple(pesc_accuracy.COLUMNS), ("family", "problem"), None, "family", pesc_accuracy.modules_of
    ),
    REGRET: Study(
        pesc_regret.COLUMNS,
        ("problem", "repeat", "rule", "evaluations"),
        None,
        "problem",
        pesc_regret.modules_of,
    ),
    DIGITS: Study(mnist.COLUMNS, (*mnist.RUN, "step"), None, "dataset", mnist.modules_of),
}


def read(folder: str | Path | None, name: str) -> pd.DataFrame | None:
    """One of the studies, or None if it was not made.

    Raises
    ------
    ValueError
        The file lacks a column, has two lines of one fit, or a fit that may or may not have converged.
    """
    import pandas as pd

    if folder is None or not Path(folder, name).is_file():
        return None
    path, study = Path(folder, name), STUDIES[name]
    table = pd.read_csv(path, dtype=dict.fromkeys(stamps.COLUMNS, "str"))  # a hash can look like a number
    missing = [column for column in study.columns if column not in table]
    if missing:
        raise ValueError(f"{path}: no column {', '.join(missing)}")
    if table.duplicated(list(study.key)).any():
        raise ValueError(f"{path}: two lines of one fit")
    if name == EFFECT and table["converged"].dtype != bool:
        raise ValueError(f"{path}: 'converged' is True or False on every line")
    return table


def record(path: str | Path, name: str, lines: Iterable[dict[str, Any]]) -> Path:
    """Write a study whose parts are all of one source, every line with its stamp."""
    import pandas as pd

    study = STUDIES[name]
    table = pd.DataFrame(list(lines), columns=list(study.columns))
    stamp = stamps.columns(todays(name, str(table[study.part].iloc[0])))
    table = table.assign(**stamp)
    return write_text(path, table.to_csv(index=False, lineterminator="\n", float_format="%.6g"))


def made(name: str, table: pd.DataFrame | None) -> list[Made]:
    """By which source the parts of a study were made; nothing of one that was not made."""
    if table is None:
        return []
    study = STUDIES[name]
    parts = [part if isinstance(part, str) else f"{study.part} {part:g}" for part in table[study.part]]
    return stamps.of_table(
        table.assign(**{study.part: parts}), study.group, study.part, lambda *part: todays(name, *part)
    )


def todays(name: str, *part: str) -> str:
    """Hash of the source that would make a part of a study today."""
    return closure_hash(*STUDIES[name].modules(*part))
