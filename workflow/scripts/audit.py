"""What the papers hand over to the audit."""

from pathlib import Path

from papers.evidence import audit, parts

job = snakemake  # noqa: F821
audit.write([chapter for path in job.input for chapter in parts.read_chapters(path)], Path(job.params.tables))
