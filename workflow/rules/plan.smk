# `snakemake plan --configfile ...`: jobs, core-hours, memory and disk of a configuration, before anything
# starts, in its log (`make plan` shows it).


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
        relaxed=planned_relaxed(),
        measured=[*planned_pictures(), *planned_pesc(), *planned_truth()],
        folders=[RECORDS, PEP_RECORDS, f"{config['results']}/rep"],
    script:
        "../scripts/plan.py"
