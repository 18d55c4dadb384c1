"""Compact records of the Power-EP paper's experiments to their tables and figures."""

from pathlib import Path

from tilted.results import artifacts, store
from tilted.results.pep import artifacts as pep_artifacts

job = snakemake  # noqa: F821
loud = pep_artifacts.write(*job.params.folders, Path(job.input.published).parent).loud
artifacts.fill(job.output)
store.write_text(job.log[0], "".join(f"{line}\n" for line in loud))
