# The Power-EP paper: fits by block of splits -> rows -> tables, figures and verdicts.
# Jobs with their inputs and functions: src/papers/pep/jobs.py; the rules that these extend: base.smk, common.smk.
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


use rule join as pep_rows with:
    """Join the fits of this configuration to one table of rows a study."""
    input:
        unpack(fits("pep")),
    output:
        rows("pep"),
    log:
        f"logs/{NAME}/pep_rows.log",
    params:
        **joining("pep"),


use rule draw as pep_artifacts with:
    """Make the paper's tables and figures, and the verdicts on its claims."""
    input:
        rows=rows("pep"),
        committed=committed("pep"),
        published=published("pep"),
    output:
        artifacts=artifacts("pep"),
        chapter=f"{CHAPTERS}/pep.json",
    log:
        f"logs/{NAME}/pep_artifacts.log",
    params:
        **artifact_settings("pep"),
        sources=content_hash(load_registry()),  # for the table of data sets


rule pep:
    """This paper alone, from a configuration that has others too."""
    input:
        rows("pep"),
        paths("pep"),
