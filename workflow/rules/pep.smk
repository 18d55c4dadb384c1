# Regressions of the Power-EP paper: a job fits a grid of powers and pseudo-points on a block of splits of one
# data set. The regression sets have a standard file each; the made-up ones are drawn.


rule standardise_regression:
    input:
        regression_raw,
    output:
        "data/standard/regression/{dataset}.h5",
    log:
        "logs/standardise/regression-{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(5),
    params:
        source=closure_hash("tilted.data.regression"),
        module="tilted.data.regression",
        names=lambda wildcards: [wildcards.dataset],
    script:
        "../scripts/standardise_pep.py"


rule regressions:
    input:
        data=regression_data,
    output:
        "data/fits/pep/{grid}/{dataset}/{first}-{last}.jsonl.gz",
    log:
        "logs/pep/{grid}-{dataset}-{first}-{last}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(120),
    params:
        source=closure_hash(REGRESSION.module),
        experiment=REGRESSION.module,
        grid=regression_grid,
    script:
        "../scripts/pep_fits.py"


rule regression_records:
    input:
        regression_paths(),
    output:
        kept_or_new(regression_records()),
    log:
        f"logs/{config['name']}/pep-records.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.pep.records"),
        keep=config.get("keep_records", False),
        form="regression",
    script:
        "../scripts/pep_records.py"


if TOY:

    rule toy_regressions:
        output:
            "data/fits/pep-toy/{first}-{last}.jsonl.gz",
        log:
            "logs/pep/toy-{first}-{last}.log",
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            source=closure_hash("tilted.experiments.pep_toy"),
            sizes=TOY["n_train"],
        script:
            "../scripts/toy_regressions.py"

    rule toy_record:
        input:
            toy_paths(),
        output:
            toy_record(),
        log:
            f"logs/{config['name']}/pep-toy.log",
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            source=closure_hash("tilted.results.pep.toy"),
        script:
            "../scripts/toy_record.py"
