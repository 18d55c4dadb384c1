"""The committed records of the PESC paper (`papers.core.study`), defined beside their experiments."""

from __future__ import annotations

from papers.pesc.accuracy import ACCURACY
from papers.pesc.regret import REGRET

__all__ = ["ACCURACY", "REGRET", "ROWS_OF", "STUDIES"]

STUDIES = (ACCURACY, REGRET)

ROWS_OF = {
    "fits/pesc/accuracy": lambda record: [(ACCURACY, record)],
    "fits/pesc/searches": lambda record: [(REGRET, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
