"""Raw files to one standard HDF5 file."""

import sys
from pathlib import Path

from tilted import data
from tilted.results import store

job = snakemake  # noqa: F821
try:
    dataset = data.load(job.wildcards.dataset, job.wildcards.variant, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
with store.writing_in(Path(job.output[0]).parent):
    data.write_standard(dataset, job.output[0])
