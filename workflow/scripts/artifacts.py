"""Compact records to every table, figure and the report."""

from tilted.results import artifacts, store

job = snakemake  # noqa: F821
outdated = artifacts.write_all(*job.params.folders, job.input.published, job.params.protocols)
store.write_text(job.log[0], "".join(f"not by today's source: {line}\n" for line in outdated))
