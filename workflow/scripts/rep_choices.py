"""Cross-validated scores of all methods on the training part of one split, stamped."""

from tilted import data
from tilted.experiments import rep_choice
from tilted.results import stamps, store

job = snakemake  # noqa: F821
w, stamp = job.wildcards, stamps.columns(job.params.source)
dataset = data.read_standard(job.input.data) if job.input.data else None
lines = rep_choice.lines(w.dataset, float(w.flips), int(w.split), dataset)
store.write_records(job.output[0], ({**line, **stamp} for line in lines))
