"""Make the file of a job: call its function with inputs and parameters, and write what it yields."""

import sys
import time
from pathlib import Path

from papers.data.registry import DataError
from papers.evidence import jobs

job = snakemake  # noqa: F821
began = time.monotonic()
p, inputs = job.params, dict(job.input.items())
try:
    jobs.make(job.output[0], p.function, p.parameters, inputs, job.log[0], p.choices, p.key)
except DataError as error:
    sys.exit(f"tilted: {error}")
path = Path(job.output[0]).relative_to("data")
if path.parts[0] == "fits":
    print(f"{path}: {time.monotonic() - began:.0f} s", flush=True)
