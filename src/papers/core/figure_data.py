"""The content of a figure as a table: all points, lines, bars, areas and cells drawn in data coordinates.

The table is read from the figure itself, so it cannot differ from the drawing. Lines across an entire panel
(zero, a margin) and text are excluded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.core.store import write_bytes
from papers.core.study import gzipped

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import ArrayLike

PLAIN, PACKED = "csv", "csv.gz"
LARGE = 400_000
"""Bytes above which the table is compressed."""
DIGITS = "%.6g"
SIGNS = {r"\leftarrow": "<-", r"\rightarrow": "->", r"\leq": "<=", r"\times": "x", r"\pm": "±"}
"""Mathematical type -> plain text."""


class Mark(NamedTuple):
    """A drawn element: its kind, its name in the legend if any, its vertices [n, 2] and values [n]."""

    kind: str
    series: str
    vertices: np.ndarray
    values: np.ndarray | None = None


def write(figure: Figure, path_stem: str | Path) -> Path:
    """Write the table of a figure to a file next to it; remove a file with the other suffix."""
    ending, content = encode(figure)
    for stale in {PLAIN, PACKED} - {ending}:
        Path(f"{path_stem}.{stale}").unlink(missing_ok=True)
    return write_bytes(f"{path_stem}.{ending}", content)


def encode(figure: Figure) -> tuple[str, bytes]:
    """Return the table as a file: its suffix (``csv``, large ones ``csv.gz``) and its bytes.

    Columns are panel, kind, series, item, x, y, value. ``item`` numbers the drawn elements of a panel. (x, y)
    are their vertices in order; a bar has two opposite corners. ``value`` is the value of a cell.
    """
    import pandas as pd

    frames = []
    for k, axes in enumerate(figure.axes, start=1):
        panel = f"{k} {_words(axes)}".strip()
        for item, mark in enumerate(_marks(axes), start=1):
            empty = np.full(len(mark.vertices), np.nan)
            columns = {"panel": panel, "kind": mark.kind, "series": mark.series, "item": item}
            x, y = mark.vertices.T
            values = empty if mark.values is None else mark.values
            frames.append(pd.DataFrame(columns | {"x": x, "y": y, "value": values}))
    header = pd.DataFrame(columns=["panel", "kind", "series", "item", "x", "y", "value"])
    table = pd.concat(frames, ignore_index=True) if frames else header
    content = table.to_csv(index=False, float_format=DIGITS, lineterminator="\n").encode()
    if len(content) <= LARGE:
        return PLAIN, content
    return PACKED, gzipped(content, 9)


def _words(axes: Axes) -> str:
    """Return the title of a panel and the labels of its axes."""
    title = axes.get_title() or axes.get_title(loc="left")
    against = " against ".join(filter(None, (axes.get_ylabel(), axes.get_xlabel())))
    return _plain(": ".join(filter(None, (title, against))))


def _plain(text: str) -> str:
    """Return a label without the commands of mathematical type."""
    for command, sign in SIGNS.items():
        text = text.replace(command, sign)
    return " ".join(re.sub(r"\\math\w+|[${}\\]", "", text).split())


def _marks(axes: Axes) -> Iterator[Mark]:
    names = _names(axes)
    for line in axes.get_lines():
        if line.get_transform() == axes.transData:
            kind = "points" if line.get_linestyle() in ("", " ", "None") else "line"
            yield Mark(kind, names(line), _filled(line.get_xydata()))
    for patch in axes.patches:
        if hasattr(patch, "get_bbox") and patch.get_transform().contains_branch(axes.transData):
            yield Mark("bar", names(patch), patch.get_bbox().get_points())
    for collection in axes.collections:
        yield from _collected(collection, names(collection))
    for image in axes.images:
        yield _cells(image.get_array(), *_centres(image))


def _collected(collection: Collection, name: str) -> Iterator[Mark]:
    from matplotlib.collections import LineCollection, PathCollection, QuadMesh

    if isinstance(collection, QuadMesh):
        corners = _filled(collection.get_coordinates())
        middles = (corners[1:, 1:] + corners[:-1, :-1]) / 2
        yield _cells(collection.get_array(), middles[..., 0], middles[..., 1])
    elif isinstance(collection, PathCollection):
        yield Mark("points", name, _filled(collection.get_offsets()))
    else:
        kind = "line" if isinstance(collection, LineCollection) or hasattr(collection, "levels") else "area"
        for path in collection.get_paths():
            vertices = _filled(path.vertices)
            if len(vertices):
                yield Mark(kind, name, vertices)


def _cells(values: np.ndarray | None, x: np.ndarray, y: np.ndarray) -> Mark:
    assert values is not None  # what pcolormesh and imshow draw has some
    return Mark("cells", "", np.column_stack([x.ravel(), y.ravel()]), _filled(values).ravel())


def _centres(image: AxesImage) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of the cells of an image, rows first."""
    x_min, x_max, bottom, top = image.get_extent()
    rows, columns = image.get_size()
    x = x_min + (np.arange(columns) + 0.5) * (x_max - x_min) / columns
    y = np.arange(rows) + 0.5
    y = bottom + y * (top - bottom) / rows if image.origin == "lower" else top + y * (bottom - top) / rows
    return np.meshgrid(x, y)


def _filled(values: ArrayLike) -> np.ndarray:
    return np.ma.filled(np.ma.asarray(values, dtype=float), np.nan)


def _names(axes: Axes) -> Callable[[Artist], str]:
    """Return a function that names an artist: by its label, its group's, or its colour's in a legend."""
    grouped = {
        id(member): str(group.get_label())
        for group in axes.containers
        for member in [*_flat(group), *group]
        if not str(group.get_label()).startswith("_")
    }
    legends = [*axes.figure.legends, *(legend for a in axes.figure.axes if (legend := a.get_legend()))]
    coloured: dict[str | None, str] = {}
    for legend in legends:
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            coloured.setdefault(_colour(handle), text.get_text())

    def name(artist: Artist) -> str:
        own = str(artist.get_label())
        if not own.startswith("_") and own:
            return _plain(own)
        return _plain(grouped.get(id(artist), coloured.get(_colour(artist), "")))

    return name


def _flat(group: Iterable[object]) -> Iterator[object]:
    for item in group:
        if isinstance(item, tuple):
            yield from _flat(item)
        elif item is not None:
            yield item


def _colour(artist: Artist | None) -> str | None:
    """Return the colour of an artist as text; None where it has none or several."""
    from matplotlib.colors import to_hex

    for getter in ("get_color", "get_facecolor", "get_edgecolor"):
        if hasattr(artist, getter):
            colour = getattr(artist, getter)()
            if isinstance(colour, str):
                return None if colour == "none" else to_hex(colour)
            flat = np.atleast_2d(np.asarray(colour, dtype=float))
            if len(flat) == 1 and flat.shape[1] in (3, 4):
                return to_hex(flat[0][:3])
    return None
