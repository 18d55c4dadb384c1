# What is made of all papers together.


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
