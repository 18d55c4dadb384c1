# What the rules of experiments share: `use rule experiment as qp_fit with` adds what is its own. It is never run itself.


wildcard_constraints:
    block=r"\d+-\d+",
    dataset=r"[a-z0-9_]+",


# Of every job: a group of jobs runs them one after the other. Exceptions are in profiles/default.
NEEDS = {
    "at_once": 1,
    "mem_mb": lambda wildcards, attempt: 1000 * attempt,
    "runtime": lambda wildcards, attempt: 10 * attempt,
}


rule experiment:
    log:
        "logs/experiment.log",
    conda:
        "../envs/tilted.yaml"
    resources:
        **NEEDS,
    script:
        "../scripts/fit.py"
