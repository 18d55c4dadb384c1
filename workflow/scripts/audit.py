"""Judge the claims of all papers, from what each handed over."""

from pathlib import Path

from papers import make
from papers.evidence import parts

job = snakemake  # noqa: F821
chapters = [chapter for path in job.input for chapter in parts.read_chapters(path)]
make.write_audit(chapters, Path(job.params.tables))
