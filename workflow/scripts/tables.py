"""Records to Table 1 as CSV, Markdown and LaTeX."""

from tilted.results import aggregate, published, store, tables

job = snakemake  # noqa: F821
records = store.read_all(job.input.records)
table = published.compare(aggregate.summarise(records), job.input.published)
csv, markdown, tex = job.output
tables.write_csv(table, csv)
title = f"Table 1 of the QP paper ({job.params.name})"
troubles, missing = aggregate.troubled(records), aggregate.left_out(records)
tables.write_markdown(table, markdown, troubles, missing, title=title)
tables.write_tex(table, tex, sizes=published.sizes(job.input.published))
