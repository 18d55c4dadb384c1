"""Records to the effect of each difference, as a table and in the document."""

from papers.qp import differences

job = snakemake  # noqa: F821
differences.write_all(job.params.records, *job.output)
