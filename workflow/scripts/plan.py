"""Jobs, core-hours, memory and disk of the configuration."""

from tilted.results import plan, resources, store
from tilted.results.pep.forms import CLASSIFICATION

job = snakemake  # noqa: F821
p = job.params
seen = resources.read("benchmarks/resources.csv")
jobs = plan.qp_jobs(p.fits, p.folders[0]) + plan.pep_jobs(p.regressions, p.grids[0], p.folders[1])
jobs += plan.pep_jobs(p.classifications, p.grids[1], p.folders[1], CLASSIFICATION)
jobs += plan.toy_jobs(*p.toy, p.folders[1])
jobs += plan.digits_jobs(p.digits, p.folders[1])
jobs += plan.relaxed_jobs(p.relaxed, p.folders[2])
jobs += plan.measured_jobs(p.measured, seen)
text = "".join(f"{line}\n" for line in plan.lines(plan.with_needs(jobs, seen)))
store.write_text(job.log[0], text)
