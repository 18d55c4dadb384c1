"""Fit records of derived protocols to one file of compact records."""

from tilted.results import collect, differences

job = snakemake  # noqa: F821
differences.write(collect.collect(job.input).frame, job.output[0])
