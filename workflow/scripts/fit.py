"""One block of seeds of one method on one data set: standard data in, stamped records out."""

from tilted import data, lookup, provenance
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
stamp = provenance.stamp(job.params.source, job.params.choices)
records = qp.narrate(qp.run_job(dataset, w.protocol, w.method, seeds, starts, table), job.log[0])
store.write_records(job.output[0], ({**record, "run": stamp} for record in records))
