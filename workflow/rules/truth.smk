# Ground truth on real data: the exact posterior by sampling, beside EP, QP and VB; then its record.


localrules:
    truth_record,


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
        mem_mb=growing(1000),
        runtime=growing(30),
    params:
        source=lambda w: closure_hash(*truth.modules_of(w.dataset)),
        effort=lambda w: TRUTH[w.dataset],
    script:
        "../scripts/truth.py"


rule truth_record:
    input:
        "data/truth/{dataset}.json.gz",
    output:
        f"{RECORDS}/truth/{{dataset}}.json.gz",
    log:
        f"logs/{config['name']}/truth-{{dataset}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    script:
        "../scripts/truth_record.py"
