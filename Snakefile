# The whole workflow at a glance.
#
#   snakemake --cores 2                                     the preview (config/preview.yaml)
#   snakemake --cores 2 --configfile config/paper.yaml      everything
#   snakemake --cores 2 --configfile config/differences.yaml    differences of text and code, one at a time
#   snakemake --cores 2 --configfile config/lookup.yaml     what lookup tables cost and do
#   snakemake --cores 2 --configfile config/pep-middle.yaml     part of the Power-EP paper's experiments
#   snakemake --cores 2 --configfile config/pep-converged.yaml  its experiments with searches that converge
#
# raw data -> one standard file a data set -> fits (a job is a block of seeds) -> compact records
# -> tables, figures, report
#
# Which jobs there are is said in Python (papers.configuration and the jobs.py of each paper), what each needs of
# a machine in profiles/default.

from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

# A module is given its configuration; what --config says is an override of one.
if not workflow.overwrite_configfiles and not {"name", "qp"} & (
    set(config) - set(workflow.config_settings.config)
):

    configfile: "config/preview.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/jobs.smk"
include: "workflow/rules/artifacts.smk"


rule all:
    default_target: True
    input:
        lambda wildcards: made_of(ASKED.records),
        all_artifacts(),


# One paper or study alone, from a configuration that holds others too, such as `snakemake pep --configfile ...`.
for target, names in TARGETS.items():
    if present := [name for name in names if name in ASKED.records]:

        rule:
            name:
                target
            input:
                lambda wildcards, names=present: made_of(names),
                [str(path) for path in (artifact_paths(target) if target in ASKED.artifacts else [])],


# `snakemake fits --configfile ...`: fits alone, of every paper, as on a machine that only computes.
rule fits:
    input:
        lambda wildcards: ASKED.paths(*ASKED.records),


onstart:
    sweep()
    clear()


onsuccess:
    sweep()
    show_results()


onerror:
    sweep()
