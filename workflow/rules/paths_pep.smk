# What the Power-EP paper's part of a configuration asks for.


PEP, PEP_RECORDS = config.get("pep", {}), f"{config['results']}/pep"


def check_regressions():
    """Every grid of regressions asks for splits and pseudo-points that its data sets have."""
    for name, grid in PEP.items():
        try:
            pep.check(grid)
        except ValueError as error:
            refuse(f"pep.{name}: {error}")


check_regressions()


def planned_regressions():
    """Record, grid, data set and number of splits of all blocks of regressions."""
    return [
        (
            f"data/fits/pep/{name}/{dataset}/{first:02d}-{last:02d}.jsonl.gz",
            name,
            dataset,
            last - first + 1,
        )
        for name, grid in PEP.items()
        for dataset, row in grid["rows"].items()
        for first, last in blocks(row["splits"], row["block"])
    ]


def regression_paths():
    """Records of all blocks of regressions."""
    return [block[0] for block in planned_regressions()]


def regression_records():
    """Compact records of the regressions, if the configuration has any."""
    return [f"{PEP_RECORDS}/{name}" for name in (pep_records.FILE, "provenance.json") if PEP]


TOY = config.get("toy", {})


def planned_toy():
    """Record and number of made-up sets of all blocks of exact regressions at true and learned hyperparameters."""
    if not TOY:
        return []
    return [
        (f"data/fits/pep-toy/{first:02d}-{last:02d}.jsonl.gz", last - first + 1)
        for first, last in blocks(TOY["splits"], TOY["block"])
    ]


def toy_paths():
    """Records of these blocks."""
    return [block[0] for block in planned_toy()]


def toy_record():
    """The record made of them, if the configuration has any."""
    return [f"{PEP_RECORDS}/{studies.TOY}"] if TOY else []


def regression_artifacts():
    """What the artifacts rule makes of them; a folder of figures, which depend on the data sets."""
    tables = [f"{TABLES}/{name}" for name in pep_artifacts.TABLES if PEP]
    return [*tables, *([directory(f"{FIGURES}/{pep_artifacts.FIGURES}")] if PEP else [])]


def regression_data(wildcards):
    """Standard file of a regression set; the made-up sets have none."""
    return [] if wildcards.dataset == pep.SYNTHETIC else f"data/standard/regression/{wildcards.dataset}.h5"


def regression_raw(wildcards):
    """Raw file of a regression set."""
    return f"data/raw/{regression.raw_file(wildcards.dataset, 'data')['path']}"


def regression_grid(wildcards):
    """What a block of regressions does with each split: an edit elsewhere does not rerun it."""
    grid = PEP[wildcards.grid]
    return {key: grid[key] for key in ("alphas", "m", "starts") if key in grid}
