"""Fit records of regressions to compact records."""

from pathlib import Path

from tilted.results import store
from tilted.results.pep import records

job = snakemake  # noqa: F821
change = records.fold_in(job.input, Path(job.output[0]).parent, job.params.keep)
store.write_text(job.log[0], f"{change}\n")
