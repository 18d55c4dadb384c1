"""Records, tables and figures to one HTML report."""

from tilted import provenance
from tilted.results import aggregate, captions, published, report, store

job = snakemake  # noqa: F821
records = store.read_all(job.input.records)
report.write_html(
    job.output[0],
    title=captions.title(job.params.config["name"]),
    introduction=captions.INTRODUCTION,
    table=published.compare(aggregate.summarise(records), job.input.published),
    figures=[report.FigureFile(path, captions.of_figure(path)) for path in job.input.figures],
    troubles=aggregate.troubled(records),
    missing=aggregate.left_out(records),
    runtimes=aggregate.runtimes(records),
    provenance={**provenance.environment(), "configuration": job.params.config},
)
