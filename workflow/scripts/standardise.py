"""Raw files to one standard HDF5 file."""

import sys

from tilted import data

job = snakemake  # noqa: F821
try:
    dataset = data.load(job.wildcards.dataset, job.wildcards.variant, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
data.write_standard(dataset, job.output[0])
