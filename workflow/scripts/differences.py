"""Fit records of derived protocols to one file of compact records."""

from pathlib import Path

from tilted.results import collect, differences

job = snakemake  # noqa: F821
differences.write(collect.collect(job.input), Path(job.output[0]).parent)
