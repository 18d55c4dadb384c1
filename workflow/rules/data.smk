# Raw data with checksums (Wine and the coal counts come bundled); then one standard file a data set.

from tilted import data


def raw_paths(wildcards):
    """Raw files of a data set."""
    return [f"data/raw/{file['path']}" for file in data.raw_files(wildcards.dataset, "data")]


rule download:
    output:
        "data/raw/{path}",
    params:
        mirror=config.get("mirror"),
    log:
        "logs/download/{path}.log",
    threads: 1
    resources:
        mem_mb=500,
        runtime=30,
    conda:
        "../../environment.yml"
    script:
        "../scripts/download.py"


rule standardise:
    input:
        raw=raw_paths,
    output:
        "data/standard/{variant}/{dataset}.h5",
    params:
        source=closure_hash("tilted.data.standard"),
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
