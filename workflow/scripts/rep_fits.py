"""All methods on a block of splits, with the parameters that cross-validation chose, stamped."""

from tilted import data
from tilted.experiments import rep, rep_choice
from tilted.results import stamps, store

job = snakemake  # noqa: F821
w, stamp = job.wildcards, stamps.columns(job.params.source)
dataset = data.read_standard(job.input.data) if job.input.data else None
tried = store.read_records(job.input.choices)
splits = range(int(w.first), int(w.get("last", w.first)) + 1)
records = rep.run_block(w.dataset, float(w.flips), splits, rep_choice.chosen(tried), dataset)
made = {"chosen_on": tried[0]["split"], **stamp}
store.write_records(job.output[0], ({**record, **made} for record in records))
