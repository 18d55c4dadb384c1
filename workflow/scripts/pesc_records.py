"""Lines of all PESC jobs to the studies."""

from tilted.results import store
from tilted.results.pesc import records

job = snakemake  # noqa: F821
written = records.fold(job.input, job.params.folder)
store.write_text(job.log[0], "".join(f"{path}\n" for path in written))
