"""One block of rows of the paper's lookup table."""

from tilted.experiments import paper_table
from tilted.projections import TableGrid
from tilted.results import store

job = snakemake  # noqa: F821
w = job.wildcards
block = paper_table.build(w.likelihood, float(w.y), TableGrid(**job.params.grid), int(w.first), int(w.last))
store.write_bytes(job.output[0], paper_table.encode(block))
