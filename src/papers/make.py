"""Records to every table, figure and the audit: the one path of `make paper` and `make tables`.

Nothing but the records and the published numbers enters the artifacts, so the same checkout gives the same
bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from papers import PAPERS
from papers.core import audit, style
from papers.pep import artifacts as pep
from papers.pesc import artifacts as pesc
from papers.qp import artifacts as qp
from papers.rep import artifacts as rep

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import ModuleType

    from papers.core.audit import Written

ARTIFACTS: dict[str, ModuleType] = {"QP": qp, "PEP": pep, "REP": rep, "PESC": pesc}
"""Paper -> module that lists its figures and claims with their rows, and writes, draws and judges them."""


def write_all(
    records: str | Path, tables: str | Path, figures: str | Path, published: str | Path
) -> list[str]:
    """Write the tables and figures of all papers that there are records of, and the audit.

    Parameters
    ----------
    records : str or Path
        Folder of all records, those of the QP paper among them.
    tables, figures : str or Path
        Folders to write into.
    published : str or Path
        Folder of the published numbers.

    Returns
    -------
    warnings : list of str
        Warnings about the records (`papers.core.provenance.warnings`).

    Raises
    ------
    RecordError
        Damaged records; the message names the file.
    FileNotFoundError
        The folder has no records of the QP paper.
    """
    folders = tuple(map(Path, (records, tables, figures, published)))
    papers = [write_paper(name, *folders) for name in PAPERS]
    audit.write([chapter for paper in papers for chapter in paper.audit], folders[1])
    return [line for paper in papers for line in paper.warnings]


def write_paper(name: str, records: Path, tables: Path, figures: Path, published: Path) -> Written:
    """Write the tables and figures of one of `PAPERS` (folders and errors as `write_all`)."""
    written: Written = ARTIFACTS[name.upper()].write(records, tables, figures, published)
    return written


def fill(outputs: Iterable[str | Path]) -> list[str]:
    """Make the figures and folders among some outputs that could not be drawn or filled.

    Figures say so, and there is a line for each.
    """
    paths = [Path(path) for path in outputs]
    for path in paths:
        if not path.suffix:
            path.mkdir(parents=True, exist_ok=True)
    pictures = [path for path in paths if path.suffix in (".pdf", ".png")]
    missing = sorted({path.with_suffix("") for path in pictures if not path.is_file()})
    for stem in missing:
        style.nothing(stem)
    return [f"nothing to draw: {stem}" for stem in missing]
