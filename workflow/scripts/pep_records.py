"""Fit records of an experiment of the Power-EP paper to compact records."""

from pathlib import Path

from tilted.results import store
from tilted.results.pep import forms, records

job = snakemake  # noqa: F821
folder, form = Path(job.output[0]).parent, forms.FORMS[job.params.form]
change = records.fold_in(job.input, folder, job.params.keep, form)
store.write_text(job.log[0], f"{change}\n")
