"""Raw files to one standard HDF5 file."""

import sys
from dataclasses import replace
from importlib import import_module

from papers import data

job = snakemake  # noqa: F821
try:
    dataset = import_module(job.params.module).load(*job.params.names, home="data")
except data.DataError as error:
    sys.exit(f"tilted: {error}")
said = {**dataset.provenance, "source": job.params.source}
data.write_standard(replace(dataset, provenance=said), job.output[0])
