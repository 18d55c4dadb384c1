# What lookup tables cost and do; and, as target `paper_table`, the QP paper's own table in blocks.


rule paper_table_block:
    output:
        "data/lookup/as-described/{likelihood}/{y}/{first}-{last}.h5",
    log:
        "logs/lookup/{likelihood}-{y}-{first}-{last}.log",
    wildcard_constraints:
        likelihood="probit|poisson-square",
        y=r"-?\d+",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(30),
    params:
        source=lambda w: closure_hash(
            "tilted.experiments.paper_table", f"tilted.likelihoods.{w.likelihood.split('-')[0]}"
        ),
        grid=LOOKUP["table"]["grid"],
    script:
        "../scripts/paper_table.py"


rule paper_table:
    input:
        paper_table_paths(),


rule lookup_effect:
    input:
        data=standard_data,
        records=lambda w: fit_path(w.protocol, w.dataset, "ep", 0, LOOKUP["study"]["seeds"] - 1),
        table="data/lookup/probit.h5",
    output:
        "data/lookup/effect/{protocol}/{dataset}.jsonl.gz",
    log:
        "logs/lookup/effect-{protocol}-{dataset}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(30),
    params:
        source=lambda w: closure_hash(*lookup_study.modules_of(w.protocol, w.dataset)),
    script:
        "../scripts/lookup_effect.py"


rule lookup_study:
    input:
        lookup_effect_paths(),
    output:
        f"{config['results']}/qp/lookup.csv",
        f"{config['results']}/qp/lookup_effect.csv",
    log:
        f"logs/{config['name']}/lookup.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=growing(1000),
        runtime=growing(10),
    params:
        source=closure_hash(
            "tilted.results.lookup_tables", "tilted.likelihoods.probit", "tilted.likelihoods.poisson"
        ),
        counts=LOOKUP["table"]["counts"],
        points=LOOKUP["study"]["points"],
        rows=LOOKUP["study"]["timed_rows"],
    script:
        "../scripts/lookup_study.py"


onsuccess:
    print(f"Lookup tables: records in {Path(RECORDS).resolve()}; `make tables` shows them")
