# Raw data with checksums (Wine and the coal counts come bundled); then one standard file a data set.


# Where the network is: a cluster's nodes often have none.
localrules:
    download,


rule download:
    output:
        "data/raw/{path}",
    log:
        "logs/download/{path}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(30),
    params:
        mirror=config.get("mirror"),
    script:
        "../scripts/download.py"


rule standardise:
    input:
        raw=raw_paths,
    output:
        "data/standard/{variant}/{dataset}.h5",
    log:
        "logs/standardise/{variant}-{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        source=closure_hash("tilted.data.standard"),
    script:
        "../scripts/standardise.py"
