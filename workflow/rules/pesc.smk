# The supplement on predictive entropy search with constraints: random problems -> rows -> tables, figures and verdicts.
# The jobs that a configuration asks for, with their inputs and functions: src/papers/pesc/jobs.py; helpers: common.smk.
# One file by hand: snakemake data/fits/pesc/accuracy/2/1d-1c.jsonl.gz

PESC_ACCURACY = "data/fits/pesc/accuracy/{problems}/{family}.jsonl.gz"
PESC_SEARCHES = "data/fits/pesc/searches/{evaluations}/{problem}.jsonl.gz"


rule pesc_accuracy:
    """Compare EP with rejection sampling on random problems of one family."""
    input:
        unpack(inputs(PESC_ACCURACY)),
    output:
        PESC_ACCURACY,
    log:
        "logs/pesc/accuracy/{problems}/{family}.log",
    conda:
        "../envs/tilted.yaml"
    params:
        **settings(PESC_ACCURACY),
    script:
        "../scripts/fit.py"


rule pesc_searches:
    """Search one problem for its constrained minimum by each of three rules."""
    input:
        unpack(inputs(PESC_SEARCHES)),
    output:
        PESC_SEARCHES,
    log:
        "logs/pesc/searches/{evaluations}/{problem}.log",
    conda:
        "../envs/tilted.yaml"
    params:
        **settings(PESC_SEARCHES),
    script:
        "../scripts/fit.py"


rule pesc_rows:
    """Join the fits of this configuration to one table of rows a study."""
    input:
        unpack(fits("pesc")),
    output:
        rows("pesc"),
    log:
        f"logs/{NAME}/pesc_rows.log",
    conda:
        "../envs/tilted.yaml"
    resources:
        joining=1,
    params:
        **joining("pesc"),
    script:
        "../scripts/rows.py"


rule pesc_artifacts:
    """Make the paper's tables and figures, and the verdicts on its claims."""
    input:
        rows=rows("pesc"),
        committed=committed("pesc"),
        published=published("pesc"),
    output:
        artifacts=artifacts("pesc"),
        chapter=f"{CHAPTERS}/pesc.json",
    log:
        f"logs/{NAME}/pesc_artifacts.log",
    conda:
        "../envs/tilted.yaml"
    params:
        **artifact_settings("pesc"),
    script:
        "../scripts/artifacts.py"


rule pesc:
    """This paper alone, from a configuration that has others too."""
    input:
        rows("pesc"),
        paths("pesc"),
