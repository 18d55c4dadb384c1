"""The raw files of a set of the Power-EP or the relaxed-EP paper to one standard HDF5 file."""

import sys
from importlib import import_module

from tilted import data

job = snakemake  # noqa: F821
try:
    dataset = import_module(job.params.module).load(*job.params.names, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
data.write_standard(dataset, job.output[0])
