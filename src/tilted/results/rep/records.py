"""Compact records of the relaxed-EP paper's studies: folded in, read, checked.

``fits.csv.gz``
    one method on one split: score of the test part, outcome, and ``chosen_on``, the split whose training part
    chose the parameters;
``curves.csv.gz``
    change of the weights sweep by sweep, of fits on the made-up set;
``choices.csv.gz``
    cross-validated scores of every lengthscale and parameter;
``points.csv.gz``
    errors on sets of five points;
``exact.csv.gz``
    methods beside the exact posterior of 400 points;
``boundary.csv.gz``
    predictive probabilities on a grid.

Every line ends with its stamp. Numbers that do not exist are empty.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tilted.experiments import rep_boundary, rep_exact, rep_points
from tilted.experiments.rep import BLOBS, FAILED
from tilted.inference.textbook import OUTCOMES
from tilted.results import compact, stamps, store
from tilted.results.runs import Change
from tilted.results.store import RecordError

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

FIT = ("dataset", "flips", "chosen_on", "split", "method")
TRIED = ("dataset", "flips", "split", "method", "value", "lengthscale")


class Kind(NamedTuple):
    """A record: its file, its columns without the stamp, those that name a line, and significant digits."""

    file: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    digits: dict[str, int]


SCORES = {"value": 6, "lengthscale": 8, "error": 8, "nll": 8, "seconds": 3}
COUNTS = tuple(f"n_{outcome}" for outcome in (*OUTCOMES, FAILED))
KINDS = {
    "fits": Kind(
        "fits.csv.gz",
        (*FIT, "value", "lengthscale", "epsilon", "n_train", "n_test", "outcome", "sweeps", "negative_sites",
         "error", "nll", "seconds", "reason"),
        FIT,
        SCORES,
    ),
    "curves": Kind("curves.csv.gz", (*FIT, "sweep", "change"), (*FIT, "sweep"), {"change": 4}),
    "choices": Kind("choices.csv.gz", (*TRIED, "error", "nll", *COUNTS, "seconds"), TRIED, SCORES),
    "points": Kind(
        "points.csv.gz", rep_points.COLUMNS, ("set", "method", "value"),
        {"mean_error": 6, "covariance_error": 6, "mean_0": 6, "mean_1": 6, "seconds": 3},
    ),
    "exact": Kind(
        "exact.csv.gz", rep_exact.COLUMNS, ("flips", "split", "method"),
        dict.fromkeys(
            ("lengthscale", "mean_error", "variance_error", "wrong_sign", "r_hat_max", "bulk_size_min",
             "monte_carlo_error", "seconds"), 5,
        ),
    ),
    "boundary": Kind(
        "boundary.csv.gz", rep_boundary.COLUMNS, ("flips", "split", "method", "x", "y"), {"lengthscale": 8}
    ),
}  # fmt: skip
"""Records by kind."""

FILES = {kind: of.file for kind, of in KINDS.items()}


def fold_in(paths: Mapping[str, Iterable[str | Path]], folder: str | Path, keep: bool = True) -> list[Change]:
    """Fold files of stamped lines into the records of a folder, which need not exist.

    Parameters
    ----------
    paths : mapping
        Kind -> files of lines. Curves come with the fits.
    folder : path
    keep : bool
        Whether lines of the records that are not made anew are kept.

    Raises
    ------
    RecordError
        A damaged file, or lines that contradict one another; nothing is written then.
    """
    new = {kind: store.read_all(sorted(map(Path, files))) for kind, files in paths.items()}
    had = {kind: read(folder, kind) if keep else None for kind in (*new, "curves")}
    merged = [_merged(kind, _frame(kind, lines), had[kind]) for kind, lines in new.items()]
    if "fits" in new:
        fits = next(table for kind, table, _ in merged if kind == "fits")
        old = None if had["curves"] is None else _of_fits(had["curves"], fits)
        merged.append(_merged("curves", _of_fits(_frame("curves", _curves(new["fits"])), fits), old))
    for kind, table, _ in merged:
        digits = KINDS[kind].digits
        table = table.astype(dict.fromkeys(digits, float))
        store.write_bytes(Path(folder, FILES[kind]), compact.packed(table, digits))
    return [change for *_, change in merged]


def _curves(fits: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for fit in fits:
        if fit["dataset"] == BLOBS:
            same = {name: fit[name] for name in (*FIT, *stamps.COLUMNS)}
            for sweep, change in enumerate(fit["changes"], start=1):
                yield {**same, "sweep": sweep, "change": change}


def _of_fits(curves: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """The lines of sweeps that the fits have: one made anew may have fewer, or be older than the one kept."""
    last = curves[list(FIT)].merge(fits[[*FIT, "sweeps"]], on=list(FIT), how="left")["sweeps"]
    return curves[(curves["sweep"].to_numpy() <= last.to_numpy()).astype(bool)]


def _frame(kind: str, lines: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Lines as a table, keys with the digits of the file."""
    import pandas as pd

    table = pd.DataFrame(list(lines), columns=[*KINDS[kind].columns, *stamps.COLUMNS])
    digits = KINDS[kind].digits
    for name in digits.keys() & set(KINDS[kind].key):
        table[name] = [float(f"{value:.{digits[name]}g}") for value in table[name]]
    return table


def _merged(kind: str, new: pd.DataFrame, had: pd.DataFrame | None) -> tuple[str, pd.DataFrame, Change]:
    """Kind, table and what changed in a record, None if there is none; a later day wins."""
    import pandas as pd

    key = list(KINDS[kind].key)
    check(kind, new, "new lines")
    if had is None:
        return kind, new.sort_values(key, ignore_index=True), Change(kind, len(new), 0, 0, 0)
    both = new.merge(had[[*key, "date"]], on=key, how="left", suffixes=("", "_had"))
    outdated = both["date"] < both["date_had"].fillna("")
    new, replaced = new[~outdated.to_numpy()], int((~both["date_had"].isna() & ~outdated).sum())
    table = pd.concat([had, new]).drop_duplicates(key, keep="last").sort_values(key, ignore_index=True)
    change = Change(kind, len(new) - replaced, replaced, len(had) - replaced, int(outdated.sum()))
    return kind, table, change


def read(folder: str | Path | None, kind: str) -> pd.DataFrame | None:
    """A record, or None if there is none.

    Raises
    ------
    RecordError
        For a damaged file, or lines that contradict one another.
    """
    import pandas as pd

    if folder is None or not Path(folder, FILES[kind]).is_file():
        return None
    path = Path(folder, FILES[kind])
    text = dict.fromkeys((*stamps.COLUMNS, "method", "reason", "outcome"), "str")
    try:
        table = pd.read_csv(path, dtype=text, keep_default_na=True)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise RecordError(f"{path}: {error}") from error
    for name in ("reason", "outcome"):
        if name in table:
            table[name] = table[name].fillna("")
    check(kind, table, path)
    return table


def check(kind: str, table: pd.DataFrame, where: object) -> None:
    """Refuse (RecordError) a table that lacks a column, or whose lines contradict one another."""
    of = KINDS[kind]
    missing = [name for name in (*of.columns, *stamps.COLUMNS) if name not in table]
    if missing:
        raise RecordError(f"{where}: no column {', '.join(missing)}")
    named = ", ".join(f"{name} {{{name}}}" for name in of.key)
    wrongs = [(table.duplicated(list(of.key)), "two lines")]
    if kind == "fits":
        failed = table["outcome"] == FAILED
        wrongs += [
            (~table["outcome"].isin((*OUTCOMES, FAILED)), "unknown outcome"),
            (table["error"].isna() != failed, "scores do not agree with the outcome"),
            (~table["error"].isna() & ~table["error"].astype(float).between(0, 1), "error is no share"),
        ]
    compact.refuse(table, wrongs, named, where)
