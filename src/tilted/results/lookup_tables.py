"""The study of lookup tables (`experiments.lookup_study`) as CSV and Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.experiments.lookup_study import COLUMNS, EFFECT_COLUMNS
from tilted.results.published import ROWS
from tilted.results.store import write_text

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Lookup tables of the Wasserstein projection"
LEGEND = """\
Errors of sigma are relative, against quadrature, at random points: mu uniform, sigma log-uniform, in the
paper's box (|mu| <= 10, 0.1 <= sigma <= 10) and in the plane (|mu| <= 1e3, 1e-3 <= sigma <= 1e3). "Above the
gap": share of the points where sigma^2 is off by more than EP's sigma^2 is. The paper's table: 20001 x 2001
float64 a label or count, linear, EP's variance outside the box; its build time is projected from a few rows,
its evaluation is timed on a coarse table inside the box. Times are processor seconds of one core."""
EFFECT_LEGEND = """\
QP at the hyperparameters it starts from, by quadrature and with each table. Moved: largest change of a fold's
NTLL against quadrature, nats. Outside: mean and largest share of sites whose cavity is outside the box."""


def write(lines: Iterable[dict], effects: Iterable[dict], csv: Path, markdown: Path, effect: Path) -> None:
    """The three files; an empty cell is a number that does not exist."""
    import pandas as pd

    compared = pd.DataFrame(lines, columns=COLUMNS)
    moved = pd.DataFrame(effects, columns=EFFECT_COLUMNS)
    moved["dataset"] = pd.Categorical(moved["dataset"], list(ROWS))
    moved = moved.sort_values(["protocol", "dataset", "seed", "fold"], kind="stable")
    moved["dataset"] = moved["dataset"].astype(str)
    write_text(csv, compared.to_csv(index=False, lineterminator="\n", float_format="%.4g"))
    write_text(effect, moved.to_csv(index=False, lineterminator="\n", float_format="%.12g"))
    sections = [
        f"# {TITLE}",
        LEGEND,
        _compared(compared),
        "## Effect on the fits",
        EFFECT_LEGEND,
        _moved(moved),
    ]
    write_text(markdown, "\n\n".join(sections) + "\n")


def _compared(table: pd.DataFrame) -> str:
    header = "Projection", "Likelihood", "y", "Region", "Max error", "Median", "Above the gap"
    cells = [
        (
            *(r.projection, r.likelihood, str(r.y), r.region, f"{r.error_max:.1e}", f"{r.error_median:.1e}"),
            *(f"{r.above_gap:.1%}", _size(r.bytes), f"{r.build_seconds:.0f}", f"{r.microseconds:.1f}"),
        )
        for r in table.itertuples()
    ]
    return _grid((*header, "Size", "Build, s", "us a point"), cells)


def _moved(effects: pd.DataFrame) -> str:
    header = "Protocol", "Data", "Projection", "Converged", "Moved", "Outside, mean", "Outside, max"
    keys = ["protocol", "dataset", "seed", "fold"]
    exact = effects[effects["projection"] == "quadrature"].set_index(keys)["ntll"]
    cells = []
    for (protocol, dataset, name), part in effects.groupby(["protocol", "dataset", "projection"], sort=False):
        both = part["converged"]
        change = (part.set_index(keys)["ntll"].astype(float) - exact.astype(float)).dropna().abs()
        largest = f"{change.max():.1e}" if len(change) else "none"
        outside = part["outside_box"].dropna().astype(float)
        shares = (f"{outside.mean():.1%}", f"{outside.max():.1%}") if len(outside) else ("none", "none")
        cells.append((protocol, ROWS[dataset], name, f"{both.sum()} of {len(both)}", largest, *shares))
    return _grid(header, cells)


def _size(n_bytes: int) -> str:
    if n_bytes == 0:
        return "none"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes > 1e6 else f"{n_bytes / 1e3:.0f} kB"


def _grid(header, cells) -> str:
    """A Markdown table that is legible as plain text."""
    widths = [max(len(row[i]) for row in (header, *cells)) for i in range(len(header))]
    lines = [header, tuple("-" * width for width in widths), *cells]
    return "\n".join(
        "| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |" for row in lines
    )
