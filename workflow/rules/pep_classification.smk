# Classifications of the Power-EP paper: as its regressions, under a protocol. The made-up set is drawn.


rule standardise_classification:
    input:
        classification_raw,
    output:
        "data/standard/classification/{protocol}/{dataset}.h5",
    log:
        "logs/standardise/classification-{protocol}-{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        source=closure_hash("tilted.data.classification"),
        module="tilted.data.classification",
        names=lambda wildcards: [wildcards.dataset, wildcards.protocol],
    script:
        "../scripts/standardise_pep.py"


rule classifications:
    input:
        data=classification_data,
    output:
        "data/fits/pep-classification/{grid}/{protocol}/{dataset}/{first}-{last}.jsonl.gz",
    log:
        "logs/pep-classification/{grid}-{protocol}-{dataset}-{first}-{last}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(20),
    params:
        source=closure_hash(CLASSIFICATION.module),
        experiment=CLASSIFICATION.module,
        grid=classification_grid,
    script:
        "../scripts/pep_fits.py"


rule classification_records:
    input:
        classification_paths(),
    output:
        kept_or_new(classification_records()),
    log:
        f"logs/{config['name']}/pep-classification-records.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.pep.records"),
        keep=config.get("keep_records", False),
        form="classification",
    script:
        "../scripts/pep_records.py"
