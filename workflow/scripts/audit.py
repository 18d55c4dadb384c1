"""Judge the claims of all papers, from what each handed over."""

from pathlib import Path

from papers.core import audit, failures

job = snakemake  # noqa: F821
with failures.logged(job.log[0]):
    chapters = [chapter for path in job.input for chapter in audit.read_chapters(path)]
    audit.write(chapters, Path(job.params.tables))
