# Raw data with checksums (Wine and the coal counts come bundled); then one standard file a data set.

from papers.data import registry, variants


# Where the network is: a cluster's nodes often have none.
localrules:
    download,


rule download:
    """Download one raw file and compare it with its checksum."""
    output:
        update("data/raw/{path}"),  # what is there is looked at, and never removed for being out of date
    log:
        "logs/download/{path}.log",
    wildcard_constraints:
        path=r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*",
    conda:
        "../envs/tilted.yaml"
    resources:
        **NEEDS,
    params:
        noted=None,
        # of a function of the threads Snakemake keeps no note: whence a file came does not matter
        mirror=lambda wildcards, threads: config.get("mirror"),
    script:
        "../scripts/download.py"


rule standardise:
    """Read the raw files of a data set into one standard file."""
    input:
        raw=lambda wildcards: variants.raw_paths(wildcards.variant, wildcards.dataset),
    output:
        "data/standard/{variant}/{dataset}.h5",
    log:
        "logs/standardise/{variant}-{dataset}.log",
    wildcard_constraints:
        variant="as-released|as-described|corrected|regression|relaxed|classification/(as-released|corrected)",
    conda:
        "../envs/tilted.yaml"
    resources:
        **NEEDS,
    params:
        source=lambda wildcards: source_hash(variants.reader(wildcards.variant)[0]),
        entry=lambda wildcards: registry.user_data(wildcards.dataset, "data"),  # of a set of one's own
        module=lambda wildcards: variants.reader(wildcards.variant)[0],
        names=lambda wildcards: [wildcards.dataset, *variants.reader(wildcards.variant)[1]],
    script:
        "../scripts/standardise.py"
