"""Compact records to every table, figure and the report."""

from tilted.results import artifacts, store

job = snakemake  # noqa: F821
what = job.input.published, job.params.protocols, *job.params.papers
loud = artifacts.write_all(*job.params.folders, *what)
loud += artifacts.fill(job.output)
store.write_text(job.log[0], "".join(f"{line}\n" for line in loud))
