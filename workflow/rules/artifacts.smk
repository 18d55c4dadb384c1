# Records to tables, figures and the report (`make tables` does this alone); to the effect of each difference.

if artifact_paths():

    rule artifacts:
        input:
            records=shown_records(),
            published="data/published/qp_table1.csv",
        output:
            artifact_paths(),
        log:
            f"logs/{config['name']}/artifacts.log",
        conda:
            "../../environment.yml"
        threads: 1
        params:
            source=closure_hash("papers.make"),
            claims={name: list(claim) for name, claim in claims.load().items()},
            folders=lambda wildcards: [RESULTS, TABLES, FIGURES],
            table1="qp" in config,
        script:
            "../scripts/artifacts.py"


if "differences" in ASKED.records:

    rule effects:
        input:
            [f"{RESULTS}/{file}" for file in [*ASKED.bases, *ASKED.files("differences")]],
        output:
            f"{TABLES}/differences.csv",
            update("docs/differences.md"),
        log:
            f"logs/{config['name']}/effects.log",
        conda:
            "../../environment.yml"
        threads: 1
        params:
            source=closure_hash("papers.qp.differences"),
            definitions=protocols.differences(),
            records=lambda wildcards: RESULTS,
        script:
            "../scripts/effects.py"
