# Raw data: bundled or downloaded with checksums; then one standard file a data set and variant.


rule standardise:
    output:
        "data/standard/{variant}/{dataset}.h5",
    params:
        source=closure_hash("tilted.data"),
        mirror=config.get("mirror"),
    log:
        "logs/standardise/{variant}-{dataset}.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    conda:
        "../../environment.yml"
    script:
        "../scripts/standardise.py"
