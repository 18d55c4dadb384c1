# The relaxed-EP paper. Its sets have a standard file each; the made-up ones are drawn. Parameters are chosen by
# cross-validation on the training part of one split, then all splits are fitted with them, in blocks.


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
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        source=closure_hash("tilted.data.relaxed"),
        module="tilted.data.relaxed",
        names=lambda wildcards: [wildcards.dataset],
    script:
        "../scripts/standardise_pep.py"


rule relaxed_choices:
    input:
        data=relaxed_data,
    output:
        "data/fits/rep/choices/{dataset}-{flips}/{split}.jsonl.gz",
    log:
        "logs/rep/choices-{dataset}-{flips}-{split}.log",
    wildcard_constraints:
        flips=r"[\d.]+",
        split=r"\d+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(20),
    params:
        source=closure_hash(*rep_choice.modules_of()),
    script:
        "../scripts/rep_choices.py"


rule relaxed_fits:
    input:
        data=relaxed_data,
        choices="data/fits/rep/choices/{dataset}-{flips}/000.jsonl.gz",
    output:
        "data/fits/rep/fits/{dataset}-{flips}/{first}-{last}.jsonl.gz",
    log:
        "logs/rep/fits-{dataset}-{flips}-{first}-{last}.log",
    wildcard_constraints:
        flips=r"[\d.]+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash(*rep.modules_of()),
    script:
        "../scripts/rep_fits.py"


# Fits with parameters chosen on the same split's training part: whether choosing once for a data set matters.
use rule relaxed_fits as relaxed_own with:
    input:
        data=relaxed_data,
        choices="data/fits/rep/choices/{dataset}-{flips}/{first}.jsonl.gz",
    output:
        "data/fits/rep/own/{dataset}-{flips}/{first}.jsonl.gz",
    log:
        "logs/rep/own-{dataset}-{flips}-{first}.log",


rule relaxed_points:
    output:
        "data/fits/rep/points/{first}-{last}.jsonl.gz",
    log:
        "logs/rep/points-{first}-{last}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash(*rep_points.modules_of()),
    script:
        "../scripts/rep_points.py"


rule relaxed_picture:
    input:
        "data/fits/rep/choices/blobs-{flips}/000.jsonl.gz",
    output:
        "data/fits/rep/{kind}/{flips}.jsonl.gz",
    log:
        "logs/rep/{kind}-{flips}.log",
    wildcard_constraints:
        kind="exact|boundary",
        flips=r"[\d.]+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(2000),
        runtime=growing(20),
    params:
        source=lambda wildcards: closure_hash(f"tilted.experiments.rep_{wildcards.kind}"),
        effort=lambda wildcards: REP[wildcards.kind],
    script:
        "../scripts/rep_picture.py"


rule relaxed_records:
    input:
        **relaxed_lines(),
    output:
        kept_or_new(relaxed_records()),
    log:
        f"logs/{config['name']}/rep-records.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.rep.records"),
        keep=config.get("keep_records", False),
    script:
        "../scripts/rep_records.py"


# `snakemake relaxed --configfile ...`: this paper alone, from a configuration that holds others too.
rule relaxed:
    input:
        *relaxed_lines().values(),
        relaxed_records(),
