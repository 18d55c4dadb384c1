# Records to tables and figures, a rule a paper (`make tables` does this alone); what the papers hand over to the
# audit; to the effect of each difference.

for paper in ASKED.artifacts if ASKED.tables else ():

    rule:
        name:
            f"{paper}_artifacts"
        input:
            records=lambda wildcards, paper=paper: shown_records(paper),
            published=[f"data/published/{name}" for name in PRINTED[paper]],
        output:
            shown=artifact_paths(paper),
            chapter=f"{CHAPTERS}/{paper}.json",
        log:
            f"logs/{config['name']}/{paper}_artifacts.log",
        conda:
            "../envs/tilted.yaml"
        threads: 1
        params:
            source=closure_hash(f"papers.{paper}.artifacts", "papers.make"),
            claims=content_hash({name: list(claim) for name, claim in claims.of_paper(paper.upper()).items()}),
            definitions=[
                protocols.block(name, task)
                for name in (protocols.names() if paper == "qp" else ())
                for task in protocols.TASKS
            ],
            sources=content_hash(load_registry()) if paper == "pep" else None,  # its table of data sets
            folders=lambda wildcards: [RESULTS, TABLES, FIGURES, "data/published"],
            paper=paper,
        script:
            "../scripts/artifacts.py"


if "qp" in ASKED.artifacts:

    rule audit:
        input:
            expand(f"{CHAPTERS}/{{paper}}.json", paper=ASKED.artifacts),
        output:
            [shown(f"{TABLES}/{name}", "Audit", "Tables") for name in AUDIT],
        log:
            f"logs/{config['name']}/audit.log",
        conda:
            "../envs/tilted.yaml"
        threads: 1
        params:
            source=closure_hash("papers.make"),
            tables=lambda wildcards: TABLES,
        script:
            "../scripts/audit.py"


if "differences" in ASKED.records:

    rule effects:
        input:
            lambda wildcards: compared_records(),
        output:
            f"{TABLES}/differences.csv",
            f"{TABLES}/differences.md",
        log:
            f"logs/{config['name']}/effects.log",
        conda:
            "../envs/tilted.yaml"
        threads: 1
        params:
            source=closure_hash("papers.qp.differences"),
            definitions=protocols.differences(),
            records=lambda wildcards: RESULTS,
        script:
            "../scripts/effects.py"
