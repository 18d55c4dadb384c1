"""One block of splits of one data set: a grid of regressions, stamped."""

from tilted import data, provenance
from tilted.experiments import pep
from tilted.results import store

job = snakemake  # noqa: F821
w = job.wildcards
dataset = data.read_standard(job.input.data) if job.input.data else None
splits = range(int(w.first), int(w.last) + 1)
stamp = provenance.stamp(job.params.source, {})
records = pep.narrate(pep.run_block(w.dataset, splits, job.params.grid, dataset), job.log[0])
store.write_records(job.output[0], ({**record, "run": stamp} for record in records))
