"""QP with and without tables at the hyperparameters of EP's records."""

from tilted import data, lookup
from tilted.experiments import lookup_study
from tilted.results import stamps, store

job = snakemake  # noqa: F821
dataset, records = data.read_standard(job.input.data), store.read_records(job.input.records)
effects = lookup_study.effects(dataset, job.wildcards.protocol, records, lookup.read(job.input.table))
stamp = stamps.columns(job.params.source)
store.write_records(job.output[0], ({**line, **stamp} for line in effects))
