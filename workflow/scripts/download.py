"""Get one raw file from the mirror or its source, and compare it with its checksum."""

from papers import data
from papers.core import failures

job = snakemake  # noqa: F821
with failures.logged(job.log[0]):
    data.fetch(data.file_entry(job.wildcards.path, "data"), "data", job.params.mirror)
