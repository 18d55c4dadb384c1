"""Methods beside the exact posterior of a made-up set, or their boundaries on it, stamped."""

from importlib import import_module

from tilted.experiments import rep_choice
from tilted.results import stamps, store

job = snakemake  # noqa: F821
w, stamp = job.wildcards, stamps.columns(job.params.source)
chosen = rep_choice.chosen(store.read_records(job.input[0]))
study = import_module(f"tilted.experiments.rep_{w.kind}").study
lines = study(float(w.flips), int(job.params.effort["split"]), chosen, job.params.effort)
store.write_records(job.output[0], ({**line, **stamp} for line in lines))
