"""Records to the effect of each difference, as CSV and as a page."""

from papers.qp import differences

job = snakemake  # noqa: F821
differences.write_all(job.params.records, *job.output)
