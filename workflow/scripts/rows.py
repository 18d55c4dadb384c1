"""Join the files of fits to one table of rows a study, beside the committed rows where these are kept."""

from papers.evidence import failures, jobs, records, store

job = snakemake  # noqa: F821
p = job.params
with failures.logged(job.log[0]):
    records.begin(p.folder, p.files, p.committed)
    changes = {}
    for name, (function, parameters) in p.records.items():
        changes |= jobs.named(function)(list(job.input.get(name, [])), p.folder, **parameters)
    store.write_text(job.log[0], "".join(f"{file}: {change}\n" for file, change in changes.items()))
