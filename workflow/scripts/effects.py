"""Compact records to the effect of each difference, as a table and in the document."""

from pathlib import Path

from tilted.results import differences_document

job = snakemake  # noqa: F821
table, document = job.output
differences_document.write_all(Path(job.input[0]).parent, table, document)
