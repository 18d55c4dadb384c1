# Predictive entropy search with constraints: a job is a family of random problems compared with rejection
# sampling, or a problem searched by every rule.


rule pesc_accuracy:
    output:
        "data/fits/pesc/accuracy/{problems}/{dimension}d-{constraints}c.jsonl.gz",
    log:
        "logs/pesc/accuracy-{problems}-{dimension}d-{constraints}c.log",
    wildcard_constraints:
        problems=r"\d+",
        dimension=r"\d+",
        constraints=r"\d+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash(pesc_accuracy.__name__),
    script:
        "../scripts/pesc_accuracy.py"


rule pesc_searches:
    output:
        "data/fits/pesc/searches/{evaluations}/{problem}-{repeat}.jsonl.gz",
    log:
        "logs/pesc/searches-{evaluations}-{problem}-{repeat}.log",
    wildcard_constraints:
        evaluations=r"\d+",
        problem="[a-z]+",
        repeat=r"\d+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash(pesc_regret.__name__),
    script:
        "../scripts/pesc_searches.py"


rule pesc_records:
    input:
        pesc_paths(),
    output:
        pesc_records(),
    log:
        f"logs/{config['name']}/pesc-records.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.pesc.records"),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    script:
        "../scripts/pesc_records.py"


# `snakemake pesc --configfile ...`: these alone, from a configuration that holds more. Jobs are named beside what
# is made of them: beside a committed record missing ones would look done.
rule pesc:
    input:
        pesc_paths(),
        pesc_records(),
