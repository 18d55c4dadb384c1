"""One HTML file with everything a reader of a run needs, and no request to anywhere.

Templates stand beside this module (`whole` has another on the same page); images are embedded,
styles are inline, there is no script. Nothing but the arguments enters the page, so equal
arguments give equal bytes.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results import standing
from tilted.results.grid import deviation, number
from tilted.results.published import UNITS, method_order
from tilted.results.store import write_text
from tilted.results.troubles import left_out_entries, trouble_entries

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from tilted.results.summary import Summary

TEMPLATE = "report.html.j2"
MEDIA = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class FigureFile:
    """An image on disk and the caption printed under it."""

    path: Path
    caption: str


@dataclass(frozen=True)
class Table:
    """A table of a further paper: heading, header, rows of texts."""

    heading: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Part:
    """A further paper's part of the report."""

    title: str
    paragraphs: Sequence[str]
    tables: Sequence[Table] = ()
    figures: Sequence[FigureFile] = ()


def write_html(
    path: str | Path,
    *,
    title: str,
    introduction: str,
    summary: Summary,
    figures: Sequence[FigureFile] = (),
    others: Sequence[Part] = (),
) -> Path:
    """Write the report of a run as one self-contained HTML file.

    Parameters
    ----------
    path : str or Path
    title : str
    introduction : str
        What this is; plain text, paragraphs separated by an empty line.
    summary : Summary
        As `summary.summarise` returns it.
    figures : sequence of FigureFile
        PNG, SVG or JPEG files, embedded as they are.
    others : sequence of Part
        Further papers.

    Raises
    ------
    ValueError
        A figure of another type.
    FileNotFoundError
        A figure that is not there.
    """
    return render(
        TEMPLATE,
        path,
        title=title,
        paragraphs=[part for part in introduction.split("\n\n") if part.strip()],
        sections=table_sections(summary.table),
        figures=_pictures(figures),
        others=[(part, _pictures(part.figures)) for part in others],
        troubles=trouble_entries(summary.troubled),
        missing=left_out_entries(summary.left_out),
        runtimes=list(summary.runtimes.itertuples(index=False)),
        standing=_standing(summary),
        environments=[list(environment.items()) for environment in summary.environments.values()],
        dates=sorted({entry["date"] for entry in summary.runs if entry["date"]}),
    )


def render(template: str, path: str | Path, **values: object) -> Path:
    """Write a page from a template beside this module; text is escaped, a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return write_text(path, environment.get_template(template).render(duration=_duration, **values))


def _standing(summary: Summary) -> list[tuple[str, bool, list[str]]]:
    """Records of other source, or not reproduced: heading, whether it is loud, lines."""
    found = standing.notes(summary.runs, summary.checks)
    parts = (
        ("Not made by today's source", True, found.outdated),
        ("Not reproduced by today's source", True, found.differing),
        (standing.VERIFIED, False, found.verified),
    )
    return [part for part in parts if part[2]]


def table_sections(table: pd.DataFrame) -> list[dict[str, Any]]:
    """One section a (protocol, metric): heading, methods, and a row of cells a data set."""
    sections = []
    for (protocol, metric), part in table.groupby(["protocol", "metric"], sort=False):
        methods = method_order(list(part["method"]))
        cells = {(line.row, line.method): _cell(line) for line in part.itertuples(index=False)}
        name, unit = UNITS[metric]
        sections.append(
            {
                "name": f"{name} ({metric})",
                "unit": unit.split("^"),
                "protocol": protocol,
                "methods": methods,
                "rows": [
                    (row, [cells.get((row, method)) for method in methods])
                    for row in dict.fromkeys(part["row"])
                ],
            }
        )
    return sections


def _cell(line: Any) -> dict[str, Any]:
    has_published = line.published_mean == line.published_mean
    return {
        "ours": number(line.mean, line.sd, line.n_seeds),
        "published": number(line.published_mean, line.published_sd) if has_published else "",
        "deviation": deviation(line.deviation_sd),
        "far": abs(line.deviation_sd) > 1,  # False for NaN
        "no_spread": bool(line.published_sd == 0),
        "counts": f"{line.n_converged}/{line.n_attempted}",
        "seeds": f"{line.n_seeds} seed{'' if line.n_seeds == 1 else 's'}",
        "partial": line.n_converged < line.n_attempted,
    }


def _pictures(figures: Sequence[FigureFile]) -> list[tuple[str, str]]:
    return [(embedded(Path(f.path)), f.caption) for f in figures]


def embedded(path: Path) -> str:
    """An image file as a data URL.

    Raises
    ------
    ValueError
        It is of a type that pages do not show.
    """
    if path.suffix not in MEDIA:
        raise ValueError(f"{path}: a figure is one of {', '.join(MEDIA)}")
    content = base64.b64encode(path.read_bytes()).decode("ascii")
    return f"data:{MEDIA[path.suffix]};base64,{content}"


def _duration(seconds: float) -> str:
    """Seconds as a person says them: 0.31 s, 12 s, 4.2 min, 3.1 h."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"
