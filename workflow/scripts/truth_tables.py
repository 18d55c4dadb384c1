"""Sampled ground truth to its committed records, tables and figure."""

from pathlib import Path

from tilted.results import store, truth

job = snakemake  # noqa: F821
for sampled, record in zip(job.input, job.output.records, strict=True):
    store.write_bytes(record, Path(sampled).read_bytes())
truth.write(job.output.records, Path(job.output.tables[0]).parent, Path(job.output.figures[0]).parent)
