"""Fit records to compact records."""

from pathlib import Path

from tilted.results import merge, store

job = snakemake  # noqa: F821
change = merge.fold_in(job.input, Path(job.output[0]).parent, job.params.keep)
store.write_text(job.log[0], f"{change}\n")
