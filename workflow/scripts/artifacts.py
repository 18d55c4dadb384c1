"""Compact records to every table, figure and the report."""

from tilted.results import artifacts, store

job = snakemake  # noqa: F821
what = job.params.protocols, job.params.pep, job.params.rep, job.params.pesc
loud = artifacts.write_all(*job.params.folders, job.input.published, *what)
store.write_text(job.log[0], "".join(f"{line}\n" for line in loud))
