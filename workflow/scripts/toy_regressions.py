"""One block of made-up sets: exact regressions at true and learned hyperparameters, stamped."""

from tilted.experiments import pep_toy
from tilted.results import stamps, store

job = snakemake  # noqa: F821
splits = range(int(job.wildcards.first), int(job.wildcards.last) + 1)
stamp = stamps.columns(job.params.source)
lines = pep_toy.study(splits, job.params.sizes)
store.write_records(job.output[0], ({**line, **stamp} for line in lines))
