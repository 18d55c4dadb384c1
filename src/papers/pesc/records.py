"""The experiments of the PESC paper and their records (`papers.core.study`), which each module defines."""

from papers.pesc import accuracy, searches
from papers.pesc.accuracy import ACCURACY
from papers.pesc.searches import REGRET

EXPERIMENTS = {
    "accuracy": (accuracy.jobs, ACCURACY),
    "searches": (searches.jobs, REGRET),
}
"""Section of the configuration, and folder of its files -> what lists its jobs, and its study."""

STUDIES = tuple(study for _, study in EXPERIMENTS.values())

ROWS_OF = {
    f"fits/pesc/{name}": lambda record, study=study: [(study, record)]
    for name, (_, study) in EXPERIMENTS.items()
}
"""Folder of files of fits, below ``data`` -> function of a record that yields studies and rows."""
