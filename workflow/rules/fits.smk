# One job fits one method on one data set for a block of seeds, all folds inside.


rule fit:
    input:
        data=standard_data,
        start=start_records,
    output:
        "data/fits/qp/{protocol}/{dataset}/{method}-{first}-{last}.jsonl.gz",
    log:
        "logs/fit/{protocol}-{dataset}-{method}-{first}-{last}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        source=lambda w: closure_hash(*qp.modules_of(w.protocol, w.dataset, w.method)),
        choices=choices,
    script:
        "../scripts/fit.py"
