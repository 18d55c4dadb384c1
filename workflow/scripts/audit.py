"""What the papers hand over to the audit."""

import pickle
from pathlib import Path

from papers import make

job = snakemake  # noqa: F821
written = [pickle.loads(Path(path).read_bytes()) for path in job.input]
make.write_audit(written, Path(job.params.tables))
