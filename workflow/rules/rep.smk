# The relaxed-EP paper: cross-validated parameters -> fits -> rows, tables, figures and verdicts (artifacts.smk).
# Jobs with their inputs and functions: src/papers/rep/jobs.py; the rule that these extend: base.smk, common.smk.
# One file by hand: snakemake data/fits/rep/points/000-000.jsonl.gz

REP_CHOICE = "data/fits/rep/choices/{dataset}-{flips}/{split}.jsonl.gz"
REP_FIT = "data/fits/rep/fits/{dataset}-{flips}/{block}.jsonl.gz"
REP_OWN = "data/fits/rep/own/{dataset}-{flips}/{split}.jsonl.gz"
REP_PICTURE = "data/fits/rep/{picture}/{flips}.jsonl.gz"
REP_POINTS = "data/fits/rep/{points}/{name}.jsonl.gz"


use rule experiment as rep_choice with:
    """Score every lengthscale and penalty by cross-validation on the training part of one split."""
    input:
        unpack(inputs(REP_CHOICE)),
    output:
        REP_CHOICE,
    log:
        "logs/rep/choices/{dataset}-{flips}/{split}.log",
    params:
        **settings(REP_CHOICE),


use rule experiment as rep_fit with:
    """Fit every method on a block of splits, with the parameters chosen on split 0."""
    input:
        unpack(inputs(REP_FIT)),
    output:
        REP_FIT,
    log:
        "logs/rep/fits/{dataset}-{flips}/{block}.log",
    params:
        **settings(REP_FIT),


use rule experiment as rep_own with:
    """Fit every method on one split, with the parameters chosen on its own training part."""
    input:
        unpack(inputs(REP_OWN)),
    output:
        REP_OWN,
    log:
        "logs/rep/own/{dataset}-{flips}/{split}.log",
    params:
        **settings(REP_OWN),


use rule experiment as rep_picture with:
    """Compare every method with the exact posterior of a made-up set, or draw its decision boundary."""
    input:
        unpack(inputs(REP_PICTURE)),
    output:
        REP_PICTURE,
    log:
        "logs/rep/{picture}/{flips}.log",
    wildcard_constraints:
        picture="exact|boundary",
    params:
        **settings(REP_PICTURE),


use rule experiment as rep_points with:
    """Fit every method on sets of five points, or at other error rates of the likelihood."""
    input:
        unpack(inputs(REP_POINTS)),
    output:
        REP_POINTS,
    log:
        "logs/rep/{points}/{name}.log",
    wildcard_constraints:
        points="points|epsilons",
    priority: 1  # the longest fits first
    params:
        **settings(REP_POINTS),
