# The supplement on predictive entropy search with constraints: random problems -> rows -> tables, figures and verdicts.
# Jobs with their inputs and functions: accuracy.py and regret.py in src/papers/pesc; the rules that these extend: base.smk, common.smk.
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


use rule join as pesc_rows with:
    """Join the fits of this configuration to one table of rows a study."""
    input:
        unpack(fits("pesc")),
    output:
        rows("pesc"),
    log:
        f"logs/{NAME}/pesc_rows.log",
    params:
        **joining("pesc"),


use rule draw as pesc_artifacts with:
    """Make the paper's tables and figures, and the verdicts on its claims."""
    input:
        rows=rows("pesc"),
        committed=committed("pesc"),
        published=published("pesc"),
    output:
        artifacts=artifacts("pesc"),
        chapter=f"{CHAPTERS}/pesc.json",
    log:
        f"logs/{NAME}/pesc_artifacts.log",
    params:
        **artifact_settings("pesc"),


rule pesc:
    """This paper alone, from a configuration that has others too."""
    input:
        rows("pesc"),
        paths("pesc"),
