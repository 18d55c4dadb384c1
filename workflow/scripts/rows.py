"""Join the files of fits to one table of rows a study, beside the committed rows where these are kept."""

from papers.core import failures, records, store

job = snakemake  # noqa: F821
p = job.params
with failures.logged(job.log[0]):
    records.begin(p.folder, p.files, p.committed)
    changes = records.collect(job.input.get("fits", []), p.folder)
    store.write_text(job.log[0], "".join(f"{file}: {change}\n" for file, change in changes.items()))
