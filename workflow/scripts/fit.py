"""Make the file of a job: call its function with inputs and parameters, and write what it yields."""

import time
from pathlib import Path

from papers.core import failures, jobs

job = snakemake  # noqa: F821
p, began = job.params, time.monotonic()
with failures.logged(job.log[0]):
    inputs = dict(job.input.items())
    jobs.make(job.output[0], p.function, p.parameters, inputs, job.log[0], p.choices, p.source)
path = Path(job.output[0]).relative_to("data")
if path.parts[0] == "fits":
    print(f"{path}: {time.monotonic() - began:.0f} s", flush=True)
