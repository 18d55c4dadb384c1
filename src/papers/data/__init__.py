"""Data sets: registry, download with checksums, readers, standard files, splits."""

from papers.data.fetch import DownloadError, fetch
from papers.data.registry import DataError, RegistryError, file_entry, names, raw_files, table_of_datasets
from papers.data.splits import Split, folds, split
from papers.data.standard import Dataset, load, read_standard, write_standard

__all__ = [
    "DataError",
    "Dataset",
    "DownloadError",
    "RegistryError",
    "Split",
    "fetch",
    "file_entry",
    "folds",
    "load",
    "names",
    "raw_files",
    "read_standard",
    "split",
    "table_of_datasets",
    "write_standard",
]
