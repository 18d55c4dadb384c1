# What the Power-EP paper's part of a configuration asks for: regressions and classifications.


PEP, PEP_RECORDS = config.get("pep", {}), f"{config['results']}/pep"
PEP_CLASSES = config.get("pep_classification", {})


def check_grids(section, experiment):
    """Every grid asks for splits and pseudo-points that its data sets have."""
    for name, grid in config.get(section, {}).items():
        try:
            experiment.check(grid)
        except ValueError as error:
            refuse(f"{section}.{name}: {error}")


check_grids("pep", pep)
check_grids("pep_classification", pep_classification)


def grid_blocks(grid):
    """Data set, place of a block in the names of files, and number of splits, of all blocks of a grid."""
    return [
        (dataset, f"{dataset}/{first:02d}-{last:02d}", last - first + 1)
        for dataset, row in grid["rows"].items()
        for first, last in blocks(row["splits"], row["block"])
    ]


def planned_regressions():
    """Record, grid, data set and number of splits of all blocks of regressions."""
    return [
        (f"data/fits/pep/{name}/{place}.jsonl.gz", name, dataset, splits)
        for name, grid in PEP.items()
        for dataset, place, splits in grid_blocks(grid)
    ]


def planned_classifications():
    """The same of classifications, protocol by protocol."""
    return [
        (f"data/fits/pep-classification/{name}/{protocol}/{place}.jsonl.gz", name, dataset, splits)
        for name, grid in PEP_CLASSES.items()
        for protocol in grid["protocols"]
        for dataset, place, splits in grid_blocks(grid)
    ]


def regression_paths():
    """Records of all blocks of regressions."""
    return [block[0] for block in planned_regressions()]


def classification_paths():
    """Records of all blocks of classifications."""
    return [block[0] for block in planned_classifications()]


def regression_records():
    """Compact records of the regressions and their provenance, if the configuration has any."""
    return [f"{PEP_RECORDS}/{name}" for name in (REGRESSION.file, REGRESSION.provenance) if PEP]


def classification_records():
    """The same of the classifications."""
    return [
        f"{PEP_RECORDS}/{name}" for name in (CLASSIFICATION.file, CLASSIFICATION.provenance) if PEP_CLASSES
    ]


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


def pep_tables():
    """What the artifacts rule makes of them; a folder of figures, which depend on the data sets."""
    protocols = {protocol: None for grid in PEP_CLASSES.values() for protocol in grid["protocols"]}
    names = [*(pep_artifacts.TABLES if PEP else []), *pep_artifacts.class_tables(protocols)]
    folders = [directory(f"{FIGURES}/{pep_artifacts.FIGURES}")] if PEP else []
    return [f"{TABLES}/{name}" for name in names] + folders


def regression_data(wildcards):
    """Standard file of a regression set; the made-up sets have none."""
    return [] if wildcards.dataset == pep.SYNTHETIC else f"data/standard/regression/{wildcards.dataset}.h5"


def classification_data(wildcards):
    """Standard file of a classification set under a protocol; the made-up set has none."""
    w = wildcards
    made_up = w.dataset == pep_classification.MADE_UP
    return [] if made_up else f"data/standard/classification/{w.protocol}/{w.dataset}.h5"


def regression_raw(wildcards):
    """Raw files of a regression set."""
    return [f"data/raw/{file['path']}" for file in regression.raw_files(wildcards.dataset, "data")]


def classification_raw(wildcards):
    """Raw files of a classification set."""
    return [f"data/raw/{file['path']}" for file in classification.raw_files(wildcards.dataset, "data")]


def regression_grid(wildcards):
    """What a block of regressions does with each split: an edit elsewhere does not rerun it."""
    grid = PEP[wildcards.grid]
    return {key: grid[key] for key in ("alphas", "m", "starts") if key in grid}


def classification_grid(wildcards):
    """The same of a block of classifications."""
    grid = PEP_CLASSES[wildcards.grid]
    return {"protocol": wildcards.protocol, "alphas": grid["alphas"], "m": grid["m"]}
