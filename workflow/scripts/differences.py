"""Make the table of what each difference between text and code does."""

from pathlib import Path

from papers.configuration import COMMITTED
from papers.core import failures, records
from papers.qp import differences

job = snakemake  # noqa: F821
with failures.logged(job.log[0]):
    names = [str(Path(path).relative_to(COMMITTED)) for path in job.input.committed]
    records.begin(job.params.folder, names, COMMITTED)
    differences.write_all(job.params.folder, *job.output)
