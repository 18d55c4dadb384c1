# The relaxed-EP paper. Its sets have a standard file each; the made-up ones are drawn.


rule standardise_relaxed:
    input:
        relaxed_raw,
    output:
        "data/standard/relaxed/{dataset}.h5",
    log:
        "logs/standardise/relaxed-{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    params:
        source=closure_hash("tilted.data.relaxed"),
        module="tilted.data.relaxed",
        names=lambda wildcards: [wildcards.dataset],
    script:
        "../scripts/standardise_pep.py"
