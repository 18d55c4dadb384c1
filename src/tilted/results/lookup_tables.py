"""The study of lookup tables (`experiments.lookup_study`): its records, and these as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.experiments.lookup_study import COLUMNS, EFFECT_COLUMNS
from tilted.results import stamps, studies
from tilted.results.grid import grid
from tilted.results.published import ROWS
from tilted.results.store import write_text
from tilted.results.studies import EFFECT, ERRORS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

ROUNDING = 1e-11
TITLE = "Lookup tables of the Wasserstein projection"
LEGEND = """\
Errors of sigma are relative, against quadrature, at random points: mu uniform, sigma log-uniform, in the
paper's box (|mu| <= 10, 0.1 <= sigma <= 10) and in the plane (|mu| <= 1e3, 1e-3 <= sigma <= 1e3). "Above the
gap": share of the points where sigma^2 is off by more than EP's sigma^2 is. The paper's table: 20001 x 2001
float64 a label or count, linear, EP's variance outside the box; its build time is projected from a few rows,
its evaluation is timed on a coarse table inside the box. Times are processor seconds of one core."""
EFFECT_LEGEND = """\
QP at the hyperparameters it starts from, by quadrature and with each table. Compared: folds on which both
converged, of all. Moved: largest change of a compared fold's NTLL against quadrature, nats. Outside: mean and
largest share of sites whose cavity is outside the box."""


def record(
    lines: Iterable[dict[str, Any]], effects: Iterable[dict[str, Any]], folder: str | Path
) -> list[Path]:
    """Write both records; lines of ``effects`` carry their stamps, ``lines`` get today's.

    An empty cell is a number that does not exist.
    """
    import pandas as pd

    sources = {name: studies.todays(ERRORS, name) for name in ("probit", "poisson-square")}
    stamped = [{**line, **stamps.columns(sources[line["likelihood"]])} for line in lines]
    compared = pd.DataFrame(stamped, columns=[*COLUMNS, *stamps.COLUMNS])
    moved = pd.DataFrame(effects, columns=[*EFFECT_COLUMNS, *stamps.COLUMNS])
    place = {name: k for k, name in enumerate(ROWS)}
    moved = moved.sort_values(
        ["protocol", "dataset", "seed", "fold"],
        kind="stable",
        key=lambda column: column.map(place) if column.name == "dataset" else column,
    )
    return [
        write_text(Path(folder, name), table.to_csv(index=False, lineterminator="\n", float_format=form))
        for name, table, form in ((ERRORS, compared, "%.6g"), (EFFECT, moved, "%.12g"))
    ]


def write(errors: pd.DataFrame, effect: pd.DataFrame, folder: str | Path) -> list[Path]:
    """``lookup.csv`` and ``lookup.md`` from the records (`studies.read`)."""
    sections = [
        f"# {TITLE}",
        LEGEND,
        _made(ERRORS, errors),
        _compared(errors),
        "## Effect on the fits",
        EFFECT_LEGEND,
        _made(EFFECT, effect),
        _moved(effect),
    ]
    csv = errors[list(COLUMNS)].to_csv(index=False, lineterminator="\n", float_format="%.4g")
    return [
        write_text(Path(folder, "lookup.csv"), csv),
        write_text(Path(folder, "lookup.md"), "\n\n".join(sections) + "\n"),
    ]


def _made(name: str, table: pd.DataFrame) -> str:
    return "\n".join(stamps.note(studies.made(name, table)))


def _compared(table: pd.DataFrame) -> str:
    header = "Projection", "Likelihood", "y", "Region", "Max error", "Median", "Above the gap"
    cells = [
        (
            *(r.projection, r.likelihood, str(r.y), r.region, f"{r.error_max:.1e}", f"{r.error_median:.1e}"),
            *(f"{r.above_gap:.1%}", _size(r.bytes), f"{r.build_seconds:.0f}", f"{r.microseconds:.1f}"),
        )
        for r in table.itertuples()
    ]
    return "\n".join(grid((*header, "Size", "Build, s", "us a point"), "llrlrrrrrr", cells))


def _moved(effects: pd.DataFrame) -> str:
    """A line a (protocol, data set, projection); only folds on which both converged are compared."""
    header = "Protocol", "Data", "Projection", "Converged", "Compared", "Moved", "Outside, mean"
    keys = ["protocol", "dataset", "seed", "fold"]
    exact = effects.loc[effects["projection"] == "quadrature", [*keys, "converged", "ntll"]]
    cells = []
    for (protocol, dataset, name), part in effects.groupby(["protocol", "dataset", "projection"], sort=False):
        both = part.merge(exact, on=keys, suffixes=("", "_exact"))
        both = both[both["converged"] & both["converged_exact"]]
        change = (both["ntll"].astype(float) - both["ntll_exact"].astype(float)).abs()
        counts = (f"{part['converged'].sum()} of {len(part)}", f"{len(both)} of {len(part)}")
        largest = _change(change.max()) if len(change) else "none"
        cells.append((protocol, ROWS[dataset], name, *counts, largest, *_shares(part)))
    return "\n".join(grid((*header, "Outside, max"), "lllrrrrr", cells))


def _change(value: float) -> str:
    """A change of NTLL; the record has 12 digits."""
    return f"{value:.1e}" if value > ROUNDING else "0" if value == 0 else f"< {ROUNDING:g}"


def _shares(part: pd.DataFrame) -> Sequence[str]:
    outside = part["outside_box"].dropna().astype(float)
    return (f"{outside.mean():.1%}", f"{outside.max():.1%}") if len(outside) else ("none", "none")


def _size(n_bytes: int) -> str:
    if n_bytes == 0:
        return "none"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes > 1e6 else f"{n_bytes / 1e3:.0f} kB"
