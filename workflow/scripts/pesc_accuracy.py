"""A family of random problems: EP against rejection sampling, stamped."""

from tilted.experiments import pesc_accuracy
from tilted.results import stamps, store

job = snakemake  # noqa: F821
family = (int(getattr(job.wildcards, name)) for name in ("dimension", "constraints", "problems"))
stamp = stamps.columns(job.params.source)
store.write_records(job.output[0], ({**line, **stamp} for line in pesc_accuracy.lines(*family)))
