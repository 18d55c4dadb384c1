# `snakemake plan --configfile ...`: jobs and core-hours of a configuration, before anything starts, in its log
# (`make plan` shows it).


localrules:
    plan,


rule plan:
    log:
        f"logs/{config['name']}/plan.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        fits=planned_fits(),
        regressions=planned_regressions(),
        classifications=planned_classifications(),
        digits=planned_digits(),
        grids=[PEP, PEP_CLASSES],
        toy=[planned_toy(), TOY.get("n_train", [])],
        folders=[RECORDS, PEP_RECORDS],
    script:
        "../scripts/plan.py"
