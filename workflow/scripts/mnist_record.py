"""Measurements of the digits to their record."""

from tilted.results import store
from tilted.results.pep import mnist

job = snakemake  # noqa: F821
change = mnist.fold_in(job.input, job.output[0], job.params.keep)
store.write_text(job.log[0], f"{change}\n")
