# One job fits one method on one data set for a block of seeds, all folds inside.


def start_records(wildcards):
    """Records of the method whose hyperparameters this method starts from, if it does."""
    methods = fit_block(wildcards.protocol, wildcards.dataset)["methods"]
    start = methods[wildcards.method].get("start")
    if start is None:
        return []
    job = protocols.job_of(methods, start)
    block = int(wildcards.first), int(wildcards.last)
    return [fit_path(wildcards.protocol, wildcards.dataset, job, *block)]


def standard_data(wildcards):
    variant = fit_block(wildcards.protocol, wildcards.dataset)["variant"]
    return f"data/standard/{variant}/{wildcards.dataset}.h5"


def choices(wildcards):
    """What the protocol says about this job: an edit to another method does not rerun it."""
    block = fit_block(wildcards.protocol, wildcards.dataset)
    shared = {key: value for key, value in block.items() if key != "methods"}
    return {**shared, "method": block["methods"][wildcards.method]}


rule fit:
    input:
        data=standard_data,
        start=start_records,
    output:
        "data/fits/qp/{protocol}/{dataset}/{method}-{first}-{last}.jsonl.gz",
    params:
        source=lambda w: closure_hash(*qp.modules_of(w.protocol, w.dataset, w.method)),
        choices=choices,
    log:
        "logs/fit/{protocol}-{dataset}-{method}-{first}-{last}.log",
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    conda:
        "../../environment.yml"
    script:
        "../scripts/fit.py"
