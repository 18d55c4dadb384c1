"""The exact posterior of one data set beside EP, QP and VB: standard data in, one record out."""

from tilted import data
from tilted.experiments import truth
from tilted.results import store

job = snakemake  # noqa: F821
dataset = data.read_standard(job.input.data)
record = truth.run(dataset, truth.Effort(**job.params.effort))
store.write_records(job.output[0], [record])
found = record["truth"]
store.write_text(job.log[0], f"{found['sampler']} {found['annealing']} {found['seconds']}\n")
