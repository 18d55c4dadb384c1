# The whole workflow at a glance.
#
#   snakemake --cores 2                                     the preview (config/preview.yaml)
#   snakemake --cores 2 --configfile config/paper.yaml      everything
#   snakemake --cores 2 --configfile config/differences.yaml    differences of text and code, one at a time
#   snakemake --cores 2 --configfile config/lookup.yaml     what lookup tables cost and do
#   snakemake --cores 2 --configfile config/pep-middle.yaml     part of the Power-EP paper's experiments
#
# raw data -> one standard file a data set -> fits (a job is a block of seeds) -> compact records
# -> tables, figures, report

from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

if not {"name", "qp"} & set(config):

    configfile: "config/preview.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/paths_qp.smk"
include: "workflow/rules/paths_pep.smk"
include: "workflow/rules/paths_mnist.smk"
include: "workflow/rules/paths_rep.smk"
include: "workflow/rules/paths_pesc.smk"
include: "workflow/rules/paths_studies.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/fits.smk"
include: "workflow/rules/truth.smk"
include: "workflow/rules/results.smk"
include: "workflow/rules/plan.smk"


rule all:
    default_target: True
    input:
        everything(),


onstart:
    sweep()
    clear()


onsuccess:
    sweep()
    show_results()


onerror:
    sweep()


if "differences" in config:

    include: "workflow/rules/differences.smk"


if "pep" in config:

    include: "workflow/rules/pep.smk"


if "pep_classification" in config:

    include: "workflow/rules/pep_classification.smk"


# `snakemake pep --configfile ...`: this paper alone, from a configuration that holds others too. Fits are named
# beside what is made of them: beside a committed record missing ones would look done.
if PEP or PEP_CLASSES:

    rule pep:
        input:
            [*regression_paths(), *toy_paths(), *classification_paths()],
            [*regression_records(), *toy_record(), *classification_records()],


if "mnist" in config:

    include: "workflow/rules/mnist.smk"


if "rep" in config:

    include: "workflow/rules/rep.smk"


if "lookup" in config:

    include: "workflow/rules/lookup_study.smk"


if "pesc" in config:

    include: "workflow/rules/pesc.smk"
