"""The certified lookup table, and in the log how far off quadrature it was found to be."""

from tilted import lookup
from tilted.results import store

job = snakemake  # noqa: F821
table = lookup.build(source=job.params.source)
store.write_text(job.log[0], f"{table.origin}\n")
store.write_bytes(job.output[0], lookup.encode(table))
