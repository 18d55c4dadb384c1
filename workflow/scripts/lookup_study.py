"""Error, size, time and effect of the lookup tables, for the tables and the audit to read."""

from pathlib import Path

from tilted.experiments import lookup_study
from tilted.results import lookup_tables, store

job = snakemake  # noqa: F821
compared = lookup_study.compare(job.params.counts, job.params.points, job.params.rows)
lookup_tables.record(compared, store.read_all(job.input), Path(job.output[0]).parent)
