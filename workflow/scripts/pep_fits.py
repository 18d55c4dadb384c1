"""One block of splits of one data set: a grid of fits of an experiment of the Power-EP paper, stamped."""

from importlib import import_module

from tilted import data, provenance
from tilted.experiments import pep
from tilted.results import store

job = snakemake  # noqa: F821
w, run_block = job.wildcards, import_module(job.params.experiment).run_block
dataset = data.read_standard(job.input.data) if job.input.data else None
splits = range(int(w.first), int(w.last) + 1)
stamp = provenance.stamp(job.params.source, {})
records = pep.narrate(run_block(w.dataset, splits, job.params.grid, dataset), job.log[0])
store.write_records(job.output[0], ({**record, "run": stamp} for record in records))
