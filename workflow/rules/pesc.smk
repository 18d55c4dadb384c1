# The supplement on predictive entropy search with constraints: random problems -> rows, tables (artifacts.smk).
# A rule for each experiment of src/papers/pesc/records.py, whose module has its jobs: pesc_accuracy, pesc_searches.
# One file by hand: snakemake data/fits/pesc/accuracy/2/1d-1c.jsonl.gz

for experiment in pesc.EXPERIMENTS:
    PESC = f"data/fits/pesc/{experiment}/{{size}}/{{problem}}.jsonl.gz"

    rule:
        name:
            f"pesc_{experiment}"
        input:
            unpack(inputs(PESC)),
        output:
            PESC,
        log:
            f"logs/pesc/{experiment}/{{size}}/{{problem}}.log",
        conda:
            "../envs/tilted.yaml"
        resources:
            **NEEDS,
        params:
            **settings(PESC),
        script:
            "../scripts/fit.py"
