# Records to tables, figures and the report.


def paper_datasets(protocol, task):
    """Rows of a protocol that belong to a task, if EP and QP are both run."""
    part = config["qp"][protocol]
    both = {"ep", "qp"} <= set(part["methods"])
    return [name for name in part["rows"] if both and qp.task_of(name) == task]


# Figure name -> task of the data sets it shows
VARIANCE_FIGURES = {"figure1a": "classification", "figure1b": "counts"}


def qp_figures(kinds):
    """Figures that the configuration's rows and methods allow."""
    return [
        f"{FIGURES}/{protocol}/{name}.{kind}"
        for protocol in config["qp"]
        for name in [*VARIANCE_FIGURES, "published"]
        if name == "published" or paper_datasets(protocol, VARIANCE_FIGURES[name])
        for kind in kinds
    ]


def qp_artifacts():
    tables = [f"{TABLES}/qp_table1.{kind}" for kind in TABLE_KINDS]
    return [*tables, *qp_figures(FIGURE_KINDS), f"{TABLES}/report.html"]


def show_results():
    """The table in the terminal, and where everything is."""
    print(Path(TABLES, "qp_table1.md").read_text(encoding="utf-8"))
    print(f"Tables:  {Path(TABLES).resolve()}")
    print(f"Figures: {Path(FIGURES).resolve()}")
    print(f"Report:  {Path(TABLES, 'report.html').resolve()}")


rule qp_tables:
    input:
        records=fit_paths(),
        published="data/published/qp_table1.csv",
    output:
        expand(f"{TABLES}/qp_table1.{{kind}}", kind=TABLE_KINDS),
    params:
        source=closure_hash("tilted.results.tables", "tilted.results.aggregate"),
        name=config["name"],
    log:
        f"logs/{config['name']}/tables.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/tables.py"


rule qp_variance_figure:
    input:
        records=lambda w: [
            path
            for path in fit_paths(
                paper_datasets(w.protocol, VARIANCE_FIGURES[w.figure]), ["ep", "qp"]
            )
            if f"/qp/{w.protocol}/" in path
        ],
    output:
        expand(f"{FIGURES}/{{{{protocol}}}}/{{{{figure}}}}.{{kind}}", kind=FIGURE_KINDS),
    params:
        source=closure_hash("tilted.results.figures"),
        datasets=lambda w: paper_datasets(w.protocol, VARIANCE_FIGURES[w.figure]),
    wildcard_constraints:
        figure="|".join(VARIANCE_FIGURES),
    log:
        f"logs/{config['name']}/{{protocol}}-{{figure}}.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/variance_figure.py"


rule qp_published_figure:
    input:
        records=lambda w: [path for path in fit_paths() if f"/qp/{w.protocol}/" in path],
        published="data/published/qp_table1.csv",
    output:
        expand(f"{FIGURES}/{{{{protocol}}}}/published.{{kind}}", kind=FIGURE_KINDS),
    params:
        source=closure_hash("tilted.results.figures", "tilted.results.aggregate"),
    log:
        f"logs/{config['name']}/{{protocol}}-published.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/published_figure.py"


rule report:
    input:
        records=fit_paths(),
        published="data/published/qp_table1.csv",
        figures=qp_figures(["png"]),
    output:
        f"{TABLES}/report.html",
    params:
        source=closure_hash("tilted.results.report", "tilted.results.aggregate"),
        config=config,
    log:
        f"logs/{config['name']}/report.log",
    threads: 1
    conda:
        "../../environment.yml"
    script:
        "../scripts/report.py"
