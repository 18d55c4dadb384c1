# Raw data with checksums (Wine and the coal counts come bundled); then one standard file a data set.


# Where the network is: a cluster's nodes often have none.
localrules:
    download,


rule download:
    output:
        update("data/raw/{path}"),  # what is there is looked at, and never removed for being out of date
    log:
        "logs/download/{path}.log",
    wildcard_constraints:
        path=r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*",
    conda:
        "../envs/tilted.yaml"
    threads: 1
    params:
        noted=None,
        # of a function of the threads Snakemake keeps no note: whence a file came does not matter
        mirror=lambda wildcards, threads: config.get("mirror"),
    script:
        "../scripts/download.py"


rule standardise:
    input:
        raw=raw_paths,
    output:
        "data/standard/{variant}/{dataset}.h5",
    log:
        "logs/standardise/{variant}-{dataset}.log",
    wildcard_constraints:
        variant="as-released|as-described|corrected|regression|relaxed|classification/(as-released|corrected)",
        dataset="[a-z0-9_]+",
    conda:
        "../envs/tilted.yaml"
    threads: 1
    params:
        source=lambda wildcards: standard_key(wildcards.variant, wildcards.dataset),
        module=lambda wildcards: reader(wildcards.variant)[0].__name__,
        names=lambda wildcards: [wildcards.dataset, *reader(wildcards.variant)[1]],
    script:
        "../scripts/standardise.py"
