"""Compact records to the tables about where searches start."""

from pathlib import Path

from tilted.results.pep import starts

job = snakemake  # noqa: F821
starts.write(Path(job.input[0]).parent, Path(job.output[0]).parent)
