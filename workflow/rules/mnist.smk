# Even against odd digits by minibatches: a job is a run, which is one power, number of pseudo-points and seed.


rule mnist:
    input:
        mnist_raw(),
    output:
        "data/fits/mnist/{steps}/alpha{alpha}-m{m}-seed{seed}.jsonl.gz",
    log:
        "logs/mnist/{steps}-alpha{alpha}-m{m}-seed{seed}.log",
    wildcard_constraints:
        steps=r"\d+",
        alpha=r"[\d.]+",
        m=r"\d+",
        seed=r"\d+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(10),
    params:
        source=closure_hash(*mnist_study.modules_of()),
    script:
        "../scripts/mnist.py"


rule mnist_record:
    input:
        mnist_paths(),
    output:
        kept_or_new(mnist_record()),
    log:
        f"logs/{config['name']}/mnist-record.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.pep.mnist"),
        keep=config.get("keep_records", False),
    script:
        "../scripts/mnist_record.py"


# `snakemake digits --configfile ...`: these alone, from a configuration that holds more. Runs are named beside
# what is made of them: beside a committed record missing ones would look done.
rule digits:
    input:
        mnist_paths(),
        mnist_record(),
