# What the small studies beside the QP paper's runs ask for: differences, lookup tables, ground truth.


def difference_paths():
    """Records of the jobs of derived protocols."""
    try:
        return [fit_path(*job) for job in differences.jobs(**config["differences"])]
    except ValueError as error:
        refuse(f"differences.names: {error}")


def base_records():
    """Compact records of the protocols that the differences change."""
    names = config["differences"].get("names", ())
    paths = {base: f"{RECORDS}/{base}.csv.gz" for base in differences.bases(names)}
    for base, path in paths.items():
        if base not in config["qp"] and not Path(path).is_file():
            refuse(f"differences: there is no {path} to compare with; run '{base}' first, or set names")
    return list(paths.values())


LOOKUP = config.get("lookup", {})


def paper_table_paths():
    """Blocks of the paper's lookup table, for every label and count of the configuration."""
    table = LOOKUP["table"]
    kinds = [("probit", y) for y in table["labels"]] + [("poisson-square", y) for y in table["counts"]]
    return [
        f"data/lookup/as-described/{likelihood}/{y}/{first}-{last}.h5"
        for likelihood, y in kinds
        for first, last in paper_table.blocks(TableGrid(**table["grid"]), table["rows"])
    ]


def lookup_effect_paths():
    """Effects of the lookup tables, one file a protocol and data set."""
    return [
        f"data/lookup/effect/{protocol}/{dataset}.jsonl.gz"
        for protocol, datasets in LOOKUP["study"]["protocols"].items()
        for dataset in datasets
    ]


TRUTH = config.get("truth", {})


def truth_paths():
    """Sampled ground truth, one file a data set of the configuration."""
    return [f"data/truth/{dataset}.json.gz" for dataset in TRUTH]


def planned_truth():
    """What a plan needs to know of them: part, samples, number, job that may have been measured, times its work."""
    return [("ground truth", path, 1, path, 1) for path in truth_paths()]


def truth_records():
    """The same, where they are committed."""
    return [f"{RECORDS}/truth/{dataset}.json.gz" for dataset in TRUTH]


def studies_made():
    """Small studies beside the records that the artifacts show where they exist."""
    names = ("verified.csv", "verified_truth.csv", "timing.csv", "lookup.csv", "lookup_effect.csv")
    return [str(path) for name in names if (path := Path(RECORDS, name)).is_file()]
