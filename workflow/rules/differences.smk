# Fits of derived protocols to compact records; these and the base protocols' to the effect of each difference.


rule differences:
    input:
        difference_paths(),
    output:
        f"{RECORDS}/{differences.FILE}",
        f"{RECORDS}/{differences.PROVENANCE}",
    log:
        f"logs/{config['name']}/differences.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.collect", "tilted.results.differences"),
    script:
        "../scripts/differences.py"


rule effects:
    input:
        base_records(),
        rules.differences.output,
    output:
        f"{TABLES}/differences.csv",
        update("docs/differences.md"),
    log:
        f"logs/{config['name']}/effects.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash("tilted.results.differences_document"),
        definitions=protocols.differences(),
    script:
        "../scripts/effects.py"


onsuccess:
    print(f"Effects: {Path(TABLES, 'differences.csv').resolve()} and docs/differences.md")
