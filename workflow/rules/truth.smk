# Ground truth on real data: the exact posterior by sampling, beside EP, QP and VB; then table and figure.


rule truth:
    input:
        data="data/standard/as-released/{dataset}.h5",
    output:
        "data/truth/{dataset}.json.gz",
    log:
        "logs/truth/{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=60,
    params:
        source=lambda w: closure_hash(*truth.modules_of(w.dataset)),
        effort=lambda w: TRUTH[w.dataset],
    script:
        "../scripts/truth.py"


rule truth_tables:
    input:
        truth_paths(),
    output:
        records=expand(f"{TRUTH_RECORDS}/{{dataset}}.json.gz", dataset=TRUTH),
        tables=expand(f"{TABLES}/qp_truth.{{kind}}", kind=("csv", "md")),
        figures=expand(f"{FIGURES}/qp_truth.{{kind}}", kind=FIGURE_KINDS),
    log:
        f"logs/{config['name']}/truth.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=closure_hash("tilted.results.truth", "tilted.results.truth_figure"),
    script:
        "../scripts/truth_tables.py"
