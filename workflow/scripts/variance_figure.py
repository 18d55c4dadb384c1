"""Records to Figure 1a or 1b: predictive variances, EP against QP."""

from pathlib import Path

from tilted.results import figures, store

job = snakemake  # noqa: F821
title = {"figure1a": "Classification", "figure1b": "Poisson regression"}[job.wildcards.figure]
records = store.read_all(job.input.records)
stem = Path(job.output[0]).with_suffix("")
figures.predictive_variances(records, job.params.datasets, stem, f"{title}, {job.wildcards.protocol}")
