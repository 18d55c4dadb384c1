"""One run of the digits: measurements, stamped."""

import sys

from tilted import provenance
from tilted.data import DataError, mnist
from tilted.experiments import mnist as study
from tilted.results import store

job = snakemake  # noqa: F821
w = job.wildcards
try:
    digits = mnist.load(home="data")
except DataError as error:
    sys.exit(f"tilted: {error}")
stamp = provenance.stamp(job.params.source, {})
lines = study.run(digits, float(w.alpha), int(w.m), int(w.seed), int(w.steps))
store.write_records(job.output[0], ({**line, "run": stamp} for line in study.narrate(lines, job.log[0])))
