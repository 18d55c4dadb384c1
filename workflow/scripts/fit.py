"""One block of seeds of one method on one data set: standard data in, records out."""

from tilted import data, lookup
from tilted.experiments import qp
from tilted.results import store

job = snakemake  # noqa: F821
w = job.wildcards
starts = None
if job.input.start:
    wanted = job.params.choices["method"]["start"]
    records = store.read_all(job.input.start)
    starts = {(r["seed"], r["fold"]): r for r in records if r["method"] == wanted}
table = lookup.read(job.input.table[0]) if job.input.table else None
dataset = data.read_standard(job.input.data)
seeds = range(int(w.first), int(w.last) + 1)
records = qp.run_job(dataset, w.protocol, w.method, seeds, starts, table)
store.write_records(job.output[0], qp.narrate(records, job.log[0]))
