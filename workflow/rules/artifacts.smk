# The fits of each paper -> a table of rows a study (qp_rows, ...) -> its tables, figures and verdicts (qp_artifacts, ...).

for paper in PAPERS:

    rule:
        name:
            f"{paper}_rows"
        input:
            unpack(fits(paper)),
        output:
            rows(paper),
        log:
            f"logs/{NAME}/{paper}_rows.log",
        conda:
            "../envs/tilted.yaml"
        resources:
            **NEEDS,
            joining=1,
        params:
            **joining(paper),
        script:
            "../scripts/rows.py"

    rule:
        name:
            f"{paper}_artifacts"
        input:
            rows=rows(paper),
            committed=committed(paper),
            published=published(paper),
        output:
            artifacts=artifacts(paper),
            chapter=f"{CHAPTERS}/{paper}.json",
        log:
            f"logs/{NAME}/{paper}_artifacts.log",
        conda:
            "../envs/tilted.yaml"
        resources:
            **NEEDS,
        params:
            **artifact_settings(paper),
        script:
            "../scripts/artifacts.py"

    rule:  # this paper alone, from a configuration that has others too
        name:
            paper
        input:
            rows(paper),
            paths(paper),


rule audit:
    """Judge the claims of all four papers."""
    input:
        expand(f"{CHAPTERS}/{{paper}}.json", paper=ASKED.artifacts),
    output:
        [in_report(f"{TABLES}/{name}", "Audit") for name in AUDIT],
    log:
        f"logs/{NAME}/audit.log",
    conda:
        "../envs/tilted.yaml"
    resources:
        **NEEDS,
    params:
        source=source_hash("papers.core.audit"),
        tables=lambda wildcards: TABLES,
    script:
        "../scripts/audit.py"


rule differences:
    """Compare each difference between the paper's text and its code with the protocol that it changes."""
    input:
        rows=rows("qp"),
        committed=committed("qp"),
    output:
        f"{TABLES}/differences.csv",
        f"{TABLES}/differences.md",
    log:
        f"logs/{NAME}/differences.log",
    conda:
        "../envs/tilted.yaml"
    resources:
        **NEEDS,
    params:
        source=source_hash("papers.qp", "papers.core"),
        definitions=protocols.differences(),
        folder=lambda wildcards: ROWS,
    script:
        "../scripts/differences.py"
