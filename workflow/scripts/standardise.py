"""Read the raw files of a data set into one standard HDF5 file."""

from dataclasses import replace
from importlib import import_module

from papers import data
from papers.core import failures

job = snakemake  # noqa: F821
p = job.params
with failures.logged(job.log[0]):
    dataset = import_module(p.module).load(*p.names, home="data")
    provenance = {**dataset.provenance, "source": p.source}
    data.write_standard(replace(dataset, provenance=provenance), job.output[0])
