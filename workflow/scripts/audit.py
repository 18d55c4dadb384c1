"""Judge the claims of all papers, from what each handed over."""

from pathlib import Path

from papers.evidence import audit, parts

job = snakemake  # noqa: F821
chapters = [chapter for path in job.input for chapter in parts.read_chapters(path)]
audit.write(chapters, Path(job.params.tables))
