"""Error, size, time and effect of the lookup tables: CSV, Markdown, and what the audit reads."""

from pathlib import Path

from tilted.experiments import lookup_study
from tilted.results import lookup_tables, store, studies

job = snakemake  # noqa: F821
compared = lookup_study.compare(job.params.counts, job.params.points, job.params.rows)
paths = lookup_tables.record(compared, store.read_all(job.input), Path(job.output[0]).parent)
errors, effect = (studies.read(path.parent, path.name) for path in paths)
lookup_tables.write(errors, effect, Path(job.output[2]).parent)
