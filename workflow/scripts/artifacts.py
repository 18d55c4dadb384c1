"""Records to the tables and figures of one paper, and what it hands to the audit."""

from pathlib import Path

from papers import make
from papers.evidence import parts, store

job = snakemake  # noqa: F821
written = make.write_paper(job.params.paper, *map(Path, job.params.folders))
loud = [*written.loud, *make.fill(job.output.shown)]
store.write_text(job.log[0], "".join(f"{line}\n" for line in loud))
parts.write_chapters(written.audit, job.output.chapter)
