# The Power-EP paper: fits by block of splits -> rows, tables, figures and verdicts (artifacts.smk).
# Jobs with their inputs and functions: src/papers/pep/jobs.py; the rule that these extend: base.smk, common.smk.
# One file by hand: snakemake data/fits/pep/preview/synthetic/00-00.jsonl.gz

PEP_REGRESSION = "data/fits/pep/{grid}/{dataset}/{block}.jsonl.gz"
PEP_CLASSIFICATION = "data/fits/pep-classification/{grid}/{protocol}/{dataset}/{block}.jsonl.gz"
PEP_EXACT = "data/fits/pep-toy/{block}.jsonl.gz"
PEP_DIGITS = "data/fits/mnist/{steps}/{training}.jsonl.gz"


use rule experiment as pep_regression with:
    """Fit a grid of powers and numbers of pseudo-points on a block of splits of a regression set."""
    input:
        unpack(inputs(PEP_REGRESSION)),
    output:
        PEP_REGRESSION,
    log:
        "logs/pep/regression/{grid}/{dataset}/{block}.log",
    priority: 1  # the longest fits first
    params:
        **settings(PEP_REGRESSION),


use rule experiment as pep_classification with:
    """Fit a grid of powers and numbers of pseudo-points on a block of splits of a classification set."""
    input:
        unpack(inputs(PEP_CLASSIFICATION)),
    output:
        PEP_CLASSIFICATION,
    log:
        "logs/pep/classification/{grid}/{protocol}/{dataset}/{block}.log",
    params:
        **settings(PEP_CLASSIFICATION),


use rule experiment as pep_exact with:
    """Fit exact regressions, at true and at learned hyperparameters, on a block of made-up sets."""
    input:
        unpack(inputs(PEP_EXACT)),
    output:
        PEP_EXACT,
    log:
        "logs/pep/exact/{block}.log",
    params:
        **settings(PEP_EXACT),


use rule experiment as pep_digits with:
    """Train one classifier of even against odd digits by minibatches."""
    input:
        unpack(inputs(PEP_DIGITS)),
    output:
        PEP_DIGITS,
    log:
        "logs/pep/digits/{steps}/{training}.log",
    params:
        **settings(PEP_DIGITS),
