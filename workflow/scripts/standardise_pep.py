"""The raw files of a set of the Power-EP or the relaxed-EP paper to one standard HDF5 file."""

import sys
from importlib import import_module
from pathlib import Path

from tilted import data
from tilted.results import store

job = snakemake  # noqa: F821
try:
    dataset = import_module(job.params.module).load(*job.params.names, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
with store.writing_in(Path(job.output[0]).parent):
    data.write_standard(dataset, job.output[0])
