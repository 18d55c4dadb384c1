"""Files of jobs to a record."""

from papers.evidence import jobs, store

job = snakemake  # noqa: F821
p, fits = job.params, list(job.input.fits)
changes = jobs.fold_in(p.function, p.parameters, fits, p.folder, p.files, keep=p.found is not None)
said = "".join(f"{change}\n" for change in changes)
if p.found is not None:
    jobs.write_state(p.state, p.found, p.folder, p.files)
    store.write_text(job.output[0], said)
store.write_text(job.log[0], said)
