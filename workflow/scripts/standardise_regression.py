"""The raw file of a regression set to one standard HDF5 file."""

import sys

from tilted import data
from tilted.data import regression

job = snakemake  # noqa: F821
try:
    dataset = regression.load(job.wildcards.dataset, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
data.write_standard(dataset, job.output[0])
