"""One raw file, from the mirror or its source, with its checksum."""

import sys
from pathlib import Path

from tilted import data
from tilted.results import store

job = snakemake  # noqa: F821
try:
    with store.writing_in(Path(job.output[0]).parent):
        data.fetch(data.file_entry(job.wildcards.path, "data"), "data", job.params.mirror)
except data.DataError as error:
    sys.exit(f"tilted: {error}")
