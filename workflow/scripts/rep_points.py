"""A block of sets of five points, the first one with the base set, stamped."""

from tilted.experiments import rep_points
from tilted.results import stamps, store

job = snakemake  # noqa: F821
first, last = int(job.wildcards.first), int(job.wildcards.last)
stamp = stamps.columns(job.params.source)
lines = rep_points.study(range(first if first else -1, last + 1))
store.write_records(job.output[0], ({**line, **stamp} for line in lines))
