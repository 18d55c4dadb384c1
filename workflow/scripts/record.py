"""Files of jobs to a record."""

from papers.evidence import jobs, store

job = snakemake  # noqa: F821
p = job.params
changes = jobs.fold_in(p.function, p.parameters, job.input, p.folder, p.files, keep=p.found is not None)
if p.found is not None:
    jobs.write_note(job.output[0], p.found, p.folder, p.files)
store.write_text(job.log[0], "".join(f"{change}\n" for change in changes))
