"""Jobs and core-hours of the configuration."""

from tilted.results import plan, store
from tilted.results.pep.forms import CLASSIFICATION

job = snakemake  # noqa: F821
p = job.params
jobs = plan.qp_jobs(p.fits, p.folders[0]) + plan.pep_jobs(p.regressions, p.grids[0], p.folders[1])
jobs += plan.pep_jobs(p.classifications, p.grids[1], p.folders[1], CLASSIFICATION)
jobs += plan.toy_jobs(*p.toy, p.folders[1])
jobs += plan.digits_jobs(p.digits, p.folders[1])
store.write_text(job.log[0], "".join(f"{line}\n" for line in plan.lines(jobs)))
