# The supplement on predictive entropy search with constraints: random problems -> rows, tables (artifacts.smk).
# Jobs with their inputs and functions: src/papers/pesc/accuracy.py, regret.py; the rule that these extend: base.smk, common.smk.
# One file by hand: snakemake data/fits/pesc/accuracy/2/1d-1c.jsonl.gz

PESC_ACCURACY = "data/fits/pesc/accuracy/{problems}/{family}.jsonl.gz"
PESC_SEARCHES = "data/fits/pesc/searches/{evaluations}/{problem}.jsonl.gz"


use rule experiment as pesc_accuracy with:
    """Compare EP with rejection sampling on random problems of one family."""
    input:
        unpack(inputs(PESC_ACCURACY)),
    output:
        PESC_ACCURACY,
    log:
        "logs/pesc/accuracy/{problems}/{family}.log",
    params:
        **settings(PESC_ACCURACY),


use rule experiment as pesc_searches with:
    """Search one problem for its constrained minimum by each of three rules."""
    input:
        unpack(inputs(PESC_SEARCHES)),
    output:
        PESC_SEARCHES,
    log:
        "logs/pesc/searches/{evaluations}/{problem}.log",
    params:
        **settings(PESC_SEARCHES),
