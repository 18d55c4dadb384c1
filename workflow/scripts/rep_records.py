"""Lines of the relaxed-EP paper's studies to their records."""

from pathlib import Path

from tilted.results import store
from tilted.results.rep import records

job = snakemake  # noqa: F821
lines = {kind: paths for kind, paths in job.input.items() if paths}
changes = records.fold_in(lines, Path(job.output[0]).parent, job.params.keep)
store.write_text(job.log[0], "".join(f"{change}\n" for change in changes))
