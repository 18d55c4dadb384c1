"""One problem searched by every rule, stamped."""

from tilted.bayesopt.rules import Settings
from tilted.experiments import pesc_regret
from tilted.results import stamps, store

job = snakemake  # noqa: F821
name, repeat, n = job.wildcards.problem, int(job.wildcards.repeat), int(job.wildcards.evaluations)
problem, stamp = pesc_regret.PROBLEMS[name].make(repeat), stamps.columns(job.params.source)
store.write_records(
    job.output[0],
    (
        {"problem": name, "repeat": repeat, "rule": rule, **line, **stamp}
        for rule in pesc_regret.RULES
        for line in pesc_regret.searched(problem, rule, repeat, n, Settings())
    ),
)
