# The certified lookup table; then one job fits one method on one data set for a block of seeds, all folds inside.


rule lookup:
    output:
        "data/lookup/probit.h5",
    log:
        "logs/lookup.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.lookup"),
    script:
        "../scripts/lookup.py"


rule fit:
    input:
        data=standard_data,
        start=start_records,
        table=lookup_table,
    output:
        "data/fits/qp/{protocol}/{dataset}/{method}-{first}-{last}.jsonl.gz",
    log:
        "logs/fit/{protocol}-{dataset}-{method}-{first}-{last}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(20),
    params:
        source=lambda w: closure_hash(*qp.modules_of(w.protocol, w.dataset, w.method)),
        choices=choices,
    script:
        "../scripts/fit.py"


# `snakemake fits --configfile ...`: fits alone, as on a machine that only computes
rule fits:
    input:
        fit_paths(),
