"""The rows that the QP paper's tables, figures and verdicts are made of."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.qp.accuracy import tables as accuracy_tables
from papers.qp.accuracy.records import NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS
from papers.qp.published import ROWS
from papers.qp.records import (
    FITS,
    LOOKUP_EFFECT,
    LOOKUP_ERRORS,
    TIMING,
    ordered,
)
from papers.qp.table1 import rows as table1_rows

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.study import Study
    from papers.qp.table1.rows import Summary

PRINTED = "qp_table1.csv"
"""The published Table 1, among the published numbers."""

WITH_NOTES = (TIMING, LOOKUP_ERRORS, LOOKUP_EFFECT, TRUTH, NEARER_FITS)
"""Studies whose pages and claims have notes on how far their rows were repeated."""


class Evidence:
    """The rows of a folder of records, each study read once, and what follows from them.

    Parameters
    ----------
    folder : str or Path
        Folder of all records.
    published_folder : str or Path
        Folder of `PRINTED`.
    """

    def __init__(self, folder: str | Path, published_folder: str | Path) -> None:
        self.folder, self._published = folder, published_folder
        self._rows: dict[Study, pd.DataFrame] = {}

    def rows(self, study: Study) -> pd.DataFrame:
        """Return the rows of a study; none without a file."""
        if study not in self._rows:
            self._rows[study] = records.load(study, self.folder)
        return self._rows[study]

    @cached_property
    def summary(self) -> Summary:
        """Return Table 1."""
        return table1_rows.load(self.folder, Path(self._published, PRINTED))

    @cached_property
    def fits(self) -> pd.DataFrame:
        """Return the fits of the data sets that the paper's claims are about; none without files."""
        import pandas as pd

        fits = ordered(pd.concat([self.rows(study) for study in FITS.values()], ignore_index=True))
        return fits[fits["dataset"].isin(ROWS)]

    @cached_property
    def notes(self) -> tuple[dict[Study, list[str]], list[str]]:
        """Return the notes on each of `WITH_NOTES`, and warnings about all of them."""
        return provenance.of({study: self.rows(study) for study in WITH_NOTES}, self.folder)

    @cached_property
    def truth(self) -> pd.DataFrame:
        """Return the summary of the ground truth."""
        return accuracy_tables.summarise_truth(self.rows(TRUTH), self.rows(TRUTH_LATENTS))

    @cached_property
    def nearer(self) -> pd.DataFrame:
        """Return the errors of the approximations against the exact posterior."""
        studies = (NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS)
        return accuracy_tables.summarise_approximations(*(self.rows(study) for study in studies))
