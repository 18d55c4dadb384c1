"""All rows of a folder of results that the QP paper's tables, figures and verdicts are made of."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import provenance, records
from papers.qp import published
from papers.qp.accuracy import tables as accuracy_tables
from papers.qp.accuracy.records import NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS
from papers.qp.records import (
    DIFFERENCES,
    FITS,
    LOOKUP_EFFECT,
    LOOKUP_ERRORS,
    TIMING,
    ordered,
)
from papers.qp.table1 import rows as table1

if TYPE_CHECKING:
    import pandas as pd

    from papers.core.provenance import Group
    from papers.core.runs import Run
    from papers.core.study import Study
    from papers.qp.published import Printed

REPEATED = (TIMING, LOOKUP_ERRORS, LOOKUP_EFFECT, TRUTH, NEARER_FITS)
"""Studies, besides the fits, whose pages or claims say how many of their rows were repeated."""


class Results:
    """The rows of a folder of results, each study read once, and the summaries of them.

    Parameters
    ----------
    folder : str or Path
        Folder of all records.
    published_folder : str or Path
        Folder of the printed Table 1, ``qp_table1.csv``.
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
    def fits(self) -> pd.DataFrame:
        """Return the fits of all protocols, in their order."""
        import pandas as pd

        return ordered(pd.concat([self.rows(study) for study in FITS.values()], ignore_index=True))

    @property
    def fits_with_derived(self) -> pd.DataFrame:
        """Return the fits of all protocols, derived ones included."""
        import pandas as pd

        return pd.concat([self.fits, self.rows(DIFFERENCES)], ignore_index=True)

    @cached_property
    def printed(self) -> Printed:
        """Return the printed Table 1."""
        return published.read(Path(self._published, "qp_table1.csv"))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return Table 1: our means with the printed ones (`published.compare`)."""
        return published.compare(table1.means(self.fits), self.printed)

    @cached_property
    def gaps(self) -> pd.DataFrame:
        """Return the comparison of QP's NTLL with EP's (`ntll_gaps`)."""
        return table1.ntll_gaps(self.fits)

    @cached_property
    def truth(self) -> pd.DataFrame:
        """Return the summary of the exact posterior."""
        return accuracy_tables.summarise_truth(self.rows(TRUTH), self.rows(TRUTH_LATENTS))

    @cached_property
    def nearer(self) -> pd.DataFrame:
        """Return the errors of the approximations against the exact posterior."""
        studies = (NEARER_FITS, NEARER_LATENTS, TRUTH, TRUTH_LATENTS)
        return accuracy_tables.summarise_approximations(*(self.rows(study) for study in studies))

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """Return the runs that made the rows, by name."""
        return records.read_runs(self.folder)

    @cached_property
    def groups(self) -> dict[Study, list[Group]]:
        """Return the groups of rows of the fits and of `REPEATED`, with the results of repeating some."""
        studies = (*FITS.values(), *REPEATED)
        return {study: provenance.groups(study, self.folder, self.rows(study)) for study in studies}

    def note(self, *studies: Study) -> list[str]:
        """Return lines of text on how many rows of some studies were repeated."""
        return provenance.note([group for study in studies for group in self.groups[study]])
