"""Records to every table, figure and the report; where there are none of Table 1, to those of Power EP."""

from pathlib import Path

from papers import make
from papers.evidence import store
from papers.pep import artifacts as pep

job = snakemake  # noqa: F821
folders = [*map(Path, job.params.folders), Path(job.input.published).parent]
loud = make.write_all(*folders) if job.params.table1 else pep.write(*folders).loud
loud += make.fill(job.output)
store.write_text(job.log[0], "".join(f"{line}\n" for line in loud))
