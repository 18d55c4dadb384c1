"""One raw file, from the mirror or its source, with its checksum."""

import sys

from papers import data

job = snakemake  # noqa: F821
try:
    data.fetch(data.file_entry(job.wildcards.path, "data"), "data", job.params.mirror)
except (data.DataError, OSError) as error:
    sys.exit(f"tilted: {error}")
