# Records to tables, figures and the report.


rule qp_tables:
    input:
        records=fit_paths(),
        published="data/published/qp_table1.csv",
    output:
        expand(f"{TABLES}/qp_table1.{{kind}}", kind=TABLE_KINDS),
    log:
        f"logs/{config['name']}/tables.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=closure_hash("tilted.results.tables", "tilted.results.aggregate"),
        name=config["name"],
    script:
        "../scripts/tables.py"


rule qp_variance_figure:
    input:
        records=lambda w: [
            path
            for path in fit_paths(paper_datasets(w.protocol, VARIANCE_FIGURES[w.figure]), ["ep", "qp"])
            if f"/qp/{w.protocol}/" in path
        ],
    output:
        expand(f"{FIGURES}/{{{{protocol}}}}/{{{{figure}}}}.{{kind}}", kind=FIGURE_KINDS),
    log:
        f"logs/{config['name']}/{{protocol}}-{{figure}}.log",
    wildcard_constraints:
        figure="|".join(VARIANCE_FIGURES),
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=closure_hash("tilted.results.figures"),
        datasets=lambda w: paper_datasets(w.protocol, VARIANCE_FIGURES[w.figure]),
    script:
        "../scripts/variance_figure.py"


rule qp_published_figure:
    input:
        records=lambda w: [path for path in fit_paths() if f"/qp/{w.protocol}/" in path],
        published="data/published/qp_table1.csv",
    output:
        expand(f"{FIGURES}/{{{{protocol}}}}/published.{{kind}}", kind=FIGURE_KINDS),
    log:
        f"logs/{config['name']}/{{protocol}}-published.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=closure_hash("tilted.results.figures", "tilted.results.aggregate"),
    script:
        "../scripts/published_figure.py"


rule report:
    input:
        records=fit_paths(),
        published="data/published/qp_table1.csv",
        figures=qp_figures(["png"]),
    output:
        f"{TABLES}/report.html",
    log:
        f"logs/{config['name']}/report.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=closure_hash("tilted.results.report", "tilted.results.aggregate"),
        config=config,
    script:
        "../scripts/report.py"
