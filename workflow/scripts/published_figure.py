"""Records to the dot plot of ours against published."""

from pathlib import Path

from tilted.results import aggregate, figures, published, store

job = snakemake  # noqa: F821
records = store.read_all(job.input.records)
table = published.compare(aggregate.summarise(records), job.input.published)
title = f"Ours minus published, {job.wildcards.protocol}"
figures.figure_table1(table, Path(job.output[0]).with_suffix(""), title)
