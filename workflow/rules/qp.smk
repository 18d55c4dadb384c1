# The quantile-propagation paper: standard files (data.smk) and lookup table -> fits -> rows, Table 1, figures (artifacts.smk).
# Jobs with their inputs and functions: src/papers/qp/jobs.py; the rule that these extend: base.smk, common.smk.
# One file by hand: snakemake data/fits/qp/as-released/wine12/ep-000-001.jsonl.gz

QP_TABLE = "data/lookup/probit.table"
QP_FIT = "data/fits/qp/{protocol}/{dataset}/{method}-{block}.jsonl.gz"
QP_TRUTH = "data/truth/{split}.jsonl.gz"
QP_NEARER = "data/nearer/{split}.jsonl.gz"
QP_ERRORS = "data/lookup/errors/{points}.jsonl.gz"
QP_EFFECT = "data/lookup/effect/{protocol}/{dataset}.jsonl.gz"


use rule experiment as qp_lookup_table with:
    """Tabulate the Wasserstein projections of the probit likelihood, with a bound on their error."""
    output:
        QP_TABLE,
    log:
        "logs/qp/lookup_table.log",
    params:
        **settings(QP_TABLE),


use rule experiment as qp_fit with:
    """Fit one method on every fold of a block of seeds.

    QP starts at EP's hyperparameters, so its input is EP's file of the same block."""
    input:
        unpack(inputs(QP_FIT)),
    output:
        QP_FIT,
    log:
        "logs/qp/{protocol}/{dataset}/{method}-{block}.log",
    params:
        **settings(QP_FIT),


use rule experiment as qp_truth with:
    """Sample the exact posterior of one split at EP's hyperparameters, and infer by EP, QP and VB there."""
    input:
        unpack(inputs(QP_TRUTH)),
    output:
        QP_TRUTH,
    log:
        "logs/qp/truth/{split}.log",
    priority: 1  # the longest fits first
    params:
        **settings(QP_TRUTH),


use rule experiment as qp_nearer with:
    """Approximate the posterior of one split, whose truth was sampled, by seven methods."""
    input:
        unpack(inputs(QP_NEARER)),
    output:
        QP_NEARER,
    log:
        "logs/qp/nearer/{split}.log",
    params:
        **settings(QP_NEARER),


use rule experiment as qp_lookup_errors with:
    """Measure errors, sizes and times of the lookup tables at random points."""
    output:
        QP_ERRORS,
    log:
        "logs/qp/lookup_errors/{points}.log",
    params:
        **settings(QP_ERRORS),


use rule experiment as qp_lookup_effect with:
    """Predict by QP with and without lookup tables, at EP's hyperparameters."""
    input:
        unpack(inputs(QP_EFFECT)),
    output:
        QP_EFFECT,
    log:
        "logs/qp/lookup_effect/{protocol}/{dataset}.log",
    params:
        **settings(QP_EFFECT),
