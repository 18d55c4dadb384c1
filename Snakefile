# The whole workflow at a glance.
#
#   snakemake --cores 2                                         the preview (config/preview.yaml)
#   snakemake --cores 2 --configfile config/paper.yaml          everything
#   snakemake --cores 2 --configfile config/differences.yaml    differences of text and code, one at a time
#   snakemake --cores 2 --configfile config/lookup.yaml         what lookup tables cost and do
#   snakemake --cores 2 --configfile config/pep-middle.yaml     part of the Power-EP paper's experiments
#   snakemake --cores 2 --configfile config/pep-converged.yaml  its experiments with searches that converge
#
# raw data -> one standard file a data set -> fits -> rows (a table a study) -> tables, figures, audit
#
# The experiments of a paper are in workflow/rules/{qp,pep,rep,pesc}.smk. Which fits a configuration asks for is said in
# Python (the jobs.py of each paper). What a job needs of a machine: workflow/rules/base.smk, profiles/default.

import re
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")
# Snakemake puts the interpreter's path into shell commands as it is.
if not re.fullmatch(r"[\w@%+=:,./-]+", sys.executable):
    sys.exit(
        f"Jobs cannot start {sys.executable}: rename the folder to letters, digits and @ % + = : , . / - _"
    )

# A module is given its configuration; what --config says is an override of one.
if not workflow.overwrite_configfiles and not {"name", "qp"} & (
    set(config) - set(workflow.config_settings.config)
):

    configfile: "config/preview.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/base.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/qp.smk"
include: "workflow/rules/pep.smk"
include: "workflow/rules/rep.smk"
include: "workflow/rules/pesc.smk"
include: "workflow/rules/artifacts.smk"


rule all:
    default_target: True
    input:
        [path for paper in PAPERS for path in rows(paper)],
        all_artifacts(),


rule fits:
    """Fits alone, of every paper, as on a machine that only computes."""
    input:
        lambda wildcards: ASKED.paths(),


onstart:
    # Where failed jobs keep their files, Snakemake would take all files of a failed group for new, also those of jobs
    # that did not start.
    if workflow.execution_settings.keep_incomplete and not workflow.touch:
        for path in (path for job in workflow.dag.needrun_jobs() for path in job.output):
            if "update" not in path.flags and not Path(path).is_dir():
                Path(path).unlink(missing_ok=True)


onsuccess:
    from papers.reproduce import preview  # every job reads this file, one prints these lines

    print("", *preview.lines(ASKED), sep="\n")
