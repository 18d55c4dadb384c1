"""The committed records of the PESC paper (`papers.core.study`), defined beside their experiments."""

from papers.pesc.accuracy import ACCURACY
from papers.pesc.regret import REGRET

STUDIES = (ACCURACY, REGRET)

ROWS_OF = {
    "fits/pesc/accuracy": lambda record: [(ACCURACY, record)],
    "fits/pesc/searches": lambda record: [(REGRET, record)],
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
