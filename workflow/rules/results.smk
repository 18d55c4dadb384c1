# Fits to compact records; these to tables, figures and the report (`make tables` does the latter alone).


rule compact:
    input:
        fit_paths(),
    output:
        kept_or_new(compact_paths()),
    log:
        f"logs/{config['name']}/compact.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.merge"),
        keep=config.get("keep_records", False),
    script:
        "../scripts/compact.py"


rule artifacts:
    input:
        records=compact_paths(),
        truth=truth_records(),
        studies=studies_made(),
        regressions=[*regression_records(), *toy_record()],
        classifications=classification_records(),
        digits=mnist_record(),
        relaxed=relaxed_records(),
        pesc=pesc_records(),
        published="data/published/qp_table1.csv",
        claims="data/published/claims.csv",
    output:
        artifact_paths(),
        pep_tables() if config["qp"] else [],
        pesc_artifacts_made(),
    log:
        f"logs/{config['name']}/artifacts.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.artifacts"),
        folders=[RECORDS, TABLES, FIGURES],
        protocols=list(config["qp"]),
        papers=[
            PEP_RECORDS if PEP or PEP_CLASSES else None,
            f"{config['results']}/rep" if REP else None,
            PESC_RECORDS if PESC else None,
        ],
    script:
        "../scripts/artifacts.py"


# Where the configuration has fits of the QP paper, the rule artifacts makes these.
if (PEP or PEP_CLASSES) and not config["qp"]:

    rule pep_tables:
        input:
            regressions=[*regression_records(), *toy_record()],
            classifications=classification_records(),
            published="data/published/pep_win_rates.csv",
        output:
            pep_tables(),
        log:
            f"logs/{config['name']}/pep-tables.log",
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=growing(1000),
            runtime=growing(10),
        params:
            source=closure_hash("tilted.results.artifacts"),
            folders=[PEP_RECORDS, TABLES, FIGURES],
        script:
            "../scripts/pep_tables.py"
