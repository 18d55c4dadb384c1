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

from papers.evidence.parts import FigureFile, Part
from papers.evidence.store import write_text

if TYPE_CHECKING:
    from typing import Any

TEMPLATE = "report.html.j2"
MEDIA = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class Front:
    """What the report shows of the paper whose Table 1 it begins with.

    Attributes
    ----------
    title, introduction : str
        Plain text, paragraphs separated by an empty line.
    sections : sequence of dict
        The table (``papers.qp.tables.sections``).
    figures : sequence of FigureFile
    missing : sequence of str
        Seeds left out of the means.
    troubles : sequence of (str, str)
        Fits that failed or did not converge: what they are, which.
    runtimes : sequence
        Lines with method, protocol, n_fits, median, longest, total (seconds).
    environments, days : sequence of str
        Versions and processors of the runs; their days.
    standing, loud : str, sequence of str
        What of the fits was made again (`papers.evidence.standing`).
    """

    title: str
    introduction: str
    sections: Sequence[dict[str, Any]]
    figures: Sequence[FigureFile]
    missing: Sequence[str]
    troubles: Sequence[tuple[str, str]]
    runtimes: Sequence[Any]
    environments: Sequence[str]
    days: Sequence[str]
    standing: str
    loud: Sequence[str]


def write_html(path: str | Path, front: Front, others: Sequence[Part] = ()) -> Path:
    """Write the report of a run, with the parts of further papers, as one self-contained HTML file.

    Raises
    ------
    ValueError
        A figure that is no PNG, SVG or JPEG.
    FileNotFoundError
        A figure that is not there.
    """
    return render(
        TEMPLATE,
        path,
        title=front.title,
        front=front,
        paragraphs=[text for text in front.introduction.split("\n\n") if text.strip()],
        figures=_pictures(front.figures),
        others=[(part, _pictures(part.figures)) for part in others],
    )


def render(template: str, path: str | Path, **values: object) -> Path:
    """Write a page from a template beside this module; text is escaped, a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([Path(__file__).parent, Path(__file__).parents[1] / "report"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return write_text(path, environment.get_template(template).render(duration=_duration, **values))


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
