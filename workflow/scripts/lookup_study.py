"""Error, size, time and effect of the lookup tables: CSV, Markdown, and what the audit reads."""

from tilted.experiments import lookup_study
from tilted.results import lookup_tables, store

job = snakemake  # noqa: F821
compared = lookup_study.compare(job.params.counts, job.params.points, job.params.rows)
lookup_tables.write(compared, store.read_all(job.input), *job.output)
