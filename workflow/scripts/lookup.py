"""The certified lookup table, and in the log how far off quadrature it was found to be."""

from pathlib import Path

from tilted import lookup
from tilted.results import store

job = snakemake  # noqa: F821
table = lookup.build(source=job.params.source)
Path(job.log[0]).write_text(f"{table.origin}\n", encoding="utf-8")
store.write_bytes(job.output[0], lookup.encode(table))
