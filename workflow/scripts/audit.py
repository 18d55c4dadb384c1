"""What the papers hand over to the audit."""

from pathlib import Path

from papers import make
from papers.evidence import parts

job = snakemake  # noqa: F821
make.write_audit(
    [chapter for path in job.input for chapter in parts.read_chapters(path)], Path(job.params.tables)
)
