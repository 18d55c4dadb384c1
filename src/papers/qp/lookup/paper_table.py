"""The QP paper's own lookup table, built: sigma_QP^2 on a grid [Zhang 2020, appendix J].

20001 x 2001 numbers a label (0.32 GB), linear interpolation in mu and log10 sigma, EP's variance outside the
box. A table is made in blocks of rows, one HDF5 file a block, so that a cluster can share the work; ``read``
puts the blocks of all labels together. ``tilted.projections.moments.TableGrid`` returns the same numbers
without the table. There is no reason to use either but to see what they do: see ``tilted.projections.table``.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tilted import likelihoods
from tilted.projections.moments import Projection, TableGrid, wasserstein_sd
from tilted.projections.table import TableError

if TYPE_CHECKING:
    from tilted.likelihoods.contract import Likelihood

FORMAT = 1
CHUNK = 256  # points integrated at once, and the side of the chunks in a file


@dataclass(frozen=True)
class Block:
    """Rows ``first``, ``first + 1``, ... of the table of one label or count.

    ``values`` [rows, columns] is sigma_QP^2; row i is mu = (i - I) step, column j is
    log10 sigma = (j - J) step, with I, J half the number of intervals of the grid.
    """

    likelihood: str
    y: float
    grid: TableGrid
    first: int
    values: np.ndarray


def half_sizes(grid: TableGrid) -> tuple[int, int]:
    """I and J: grid intervals on each side of zero, in mu and in log10 sigma."""
    return round(grid.mu_limit / grid.step), round(grid.log10_sigma_limit / grid.step)


def blocks(grid: TableGrid, rows: int) -> list[tuple[int, int]]:
    """First and last row of each block of at most ``rows`` rows."""
    n = 2 * half_sizes(grid)[0] + 1
    return [(first, min(first + rows, n) - 1) for first in range(0, n, rows)]


def build(likelihood: str, y: float, grid: TableGrid, first: int, last: int) -> Block:
    """Rows ``first`` to ``last`` of a table, by panel quadrature.

    Raises
    ------
    ValueError
        If the grid has no such rows, or y is not in the likelihood's domain.
    """
    I, J = half_sizes(grid)  # noqa: E741
    if not 0 <= first <= last <= 2 * I:
        raise ValueError(f"the grid has rows 0 to {2 * I}, not {first} to {last}")
    model = likelihoods.get(likelihood)
    model.domain([y])
    rows, columns = np.arange(first, last + 1) - I, np.arange(-J, J + 1)
    mu, sigma = (
        a.ravel() for a in np.meshgrid(rows * grid.step, 10.0 ** (columns * grid.step), indexing="ij")
    )
    values = np.empty(len(mu))
    for start in range(0, len(mu), CHUNK):
        chunk = slice(start, start + CHUNK)
        density = model.tilted_density(np.full(len(mu[chunk]), float(y)), mu[chunk], sigma[chunk] ** 2)
        values[chunk] = wasserstein_sd(density) ** 2
    return Block(likelihood, float(y), grid, first, values.reshape(len(rows), len(columns)))


def encode(block: Block) -> bytes:
    """The block as an HDF5 file, float64 in chunks, the same bytes every time."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", track_order=False) as file:
        chunks = tuple(min(CHUNK, n) for n in block.values.shape)
        file.create_dataset("variance", data=block.values.astype("<f8"), chunks=chunks, track_times=False)
        file.attrs["format"], file.attrs["header"] = FORMAT, _header(block)
        file.attrs["content"] = _hash(block)
    return buffer.getvalue()


def decode(path: str | Path) -> Block:
    """The block in a file that :func:`encode` made.

    Raises
    ------
    TableError
        If the file cannot be read, is of another format, or its numbers do not have the recorded hash.
    """
    import h5py

    try:
        with h5py.File(path, "r") as file:
            if file.attrs["format"] != FORMAT:
                raise TableError(
                    f"{path} has format {file.attrs['format']}, not {FORMAT}; delete it and run again"
                )
            header = json.loads(file.attrs["header"])
            block = Block(**{**header, "grid": TableGrid(**header["grid"])}, values=file["variance"][()])
            intact = file.attrs["content"] == _hash(block)
    except (OSError, KeyError, TypeError, RuntimeError) as error:
        raise TableError(
            f"{path} is no block of a table or damaged ({error}); delete it and run again"
        ) from None
    if not intact:
        raise TableError(f"{path} is damaged (content hash differs); delete it and run again")
    return block


@dataclass(frozen=True)
class PaperTable:
    """A table for ``tilted.fit(inference="qp", projection=table)``; ``values`` holds one array a label."""

    likelihood: str
    grid: TableGrid
    values: dict[float, np.ndarray]

    sensitivity = None

    def project(self, likelihood: Likelihood, y: np.ndarray, m: np.ndarray, v: np.ndarray) -> Projection:
        """sigma^2 bilinear in (mu, log10 sigma), moment matching outside the box; y, m, v are arrays [N].

        Raises
        ------
        ValueError
            For another likelihood, or a label or count whose table is not there.
        """
        missing = set(np.unique(y).tolist()) - set(self.values)
        if likelihood.name != self.likelihood or missing:
            raise ValueError(f"no table of '{likelihood.name}' for {sorted(missing) or 'any label'}")
        t, log_sigma = likelihood.tilted(y, m, v), 0.5 * np.log10(v)
        inside = (np.abs(m) <= self.grid.mu_limit) & (np.abs(log_sigma) <= self.grid.log10_sigma_limit)
        variance = t.variance.copy()
        for label, values in self.values.items():
            these = inside & (y == label)
            variance[these] = self._bilinear(values, m[these], log_sigma[these])
        return Projection(t.log_z, t.mean, variance, t.d1, (variance - v) / v**2)

    def _bilinear(self, values: np.ndarray, m: np.ndarray, log_sigma: np.ndarray) -> np.ndarray:
        step, (I, J) = self.grid.step, half_sizes(self.grid)  # noqa: E741
        row = np.minimum(np.floor(m / step), I - 1).astype(int)
        column = np.minimum(np.floor(log_sigma / step), J - 1).astype(int)
        a, b = m / step - row, log_sigma / step - column
        at = values[row + I, column + J], values[row + I, column + J + 1]
        above = values[row + I + 1, column + J], values[row + I + 1, column + J + 1]
        return (1 - a) * ((1 - b) * at[0] + b * at[1]) + a * ((1 - b) * above[0] + b * above[1])


def read(paths: Iterable[str | Path]) -> PaperTable:
    """The table in all its block files, of one label or of several.

    Raises
    ------
    TableError
        If a file is damaged, or the blocks do not make up whole tables of one likelihood on one grid.
    """
    sorted_blocks = sorted((decode(path) for path in paths), key=lambda block: (block.y, block.first))
    if len({(block.likelihood, block.grid) for block in sorted_blocks}) != 1:
        raise TableError("the blocks are of several likelihoods or grids, or there are none")
    likelihood, grid = sorted_blocks[0].likelihood, sorted_blocks[0].grid
    pieces: dict[float, list[np.ndarray]] = {}
    for block in sorted_blocks:
        before = pieces.setdefault(block.y, [])
        if block.first != sum(map(len, before)):
            raise TableError(
                f"rows before {block.first} of the table for y = {block.y:g} are missing or double"
            )
        before.append(block.values)
    values = {y: np.concatenate(arrays) for y, arrays in pieces.items()}
    whole = tuple(2 * half + 1 for half in half_sizes(grid))
    for y, table in values.items():
        if table.shape != whole:
            raise TableError(f"the table for y = {y:g} is {table.shape}, not {whole}: blocks are missing")
    return PaperTable(likelihood, grid, values)


def _header(block: Block) -> str:
    fields = {"likelihood": block.likelihood, "y": block.y, "grid": asdict(block.grid), "first": block.first}
    return json.dumps(fields, sort_keys=True)


def _hash(block: Block) -> str:
    digest = hashlib.sha256(_header(block).encode())
    digest.update(np.ascontiguousarray(block.values, dtype="<f8").tobytes())
    return digest.hexdigest()
