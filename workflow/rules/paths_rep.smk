# What the relaxed-EP paper's part of a configuration asks for.


REP = config.get("rep", {})
REP_SETS = REP.get("sets", {})


def check_relaxed():
    """Every set has as many splits as are asked for, and a generator or a file."""
    for name, row in REP_SETS.items():
        if name not in rep.datasets():
            refuse(f"rep.sets.{name}: no such set; known: {', '.join(rep.datasets())}")
        if max(row["splits"], row.get("own", 0)) > rep.splits_of(name):
            refuse(f"rep.sets.{name}: there are {rep.splits_of(name)} splits")


check_relaxed()


def relaxed_cells():
    """Data set, share of flipped labels and what is asked of it, for all."""
    return [(name, flips, row) for name, row in REP_SETS.items() for flips in row["flips"]]


def relaxed_choices(name, flips, split):
    """Cross-validated scores on the training part of a split."""
    return f"data/fits/rep/choices/{name}-{flips:g}/{split:03d}.jsonl.gz"


def relaxed_fits():
    """Records of all methods on all blocks of splits, and number of splits."""
    return [
        (f"data/fits/rep/fits/{name}-{flips:g}/{first:03d}-{last:03d}.jsonl.gz", name, last - first + 1)
        for name, flips, row in relaxed_cells()
        for first, last in blocks(row["splits"], row["block"])
    ]


def relaxed_own():
    """The same of single splits with parameters chosen on their own training part; that of split 0 is the same."""
    return [
        f"data/fits/rep/own/{name}-{flips:g}/{split:03d}.jsonl.gz"
        for name, flips, row in relaxed_cells()
        for split in range(1, row.get("own", 0))
    ]


def relaxed_all_choices():
    """All cross-validated scores."""
    return [
        relaxed_choices(name, flips, split)
        for name, flips, row in relaxed_cells()
        for split in range(max(1, row.get("own", 0)))
    ]


def relaxed_points():
    """Lines of all blocks of five points; the first block has the base set too."""
    points = REP.get("points", {"sets": 0, "block": 1})
    return [
        f"data/fits/rep/points/{first:03d}-{last:03d}.jsonl.gz"
        for first, last in blocks(points["sets"], points["block"])
    ]


def relaxed_pictures(kind):
    """Lines beside the exact posterior ("exact") or of boundaries ("boundary"), a file a share of flips."""
    return [
        f"data/fits/rep/{kind}/{flips:g}.jsonl.gz"
        for name, flips, row in relaxed_cells()
        if name == rep.BLOBS and kind in REP
    ]


def relaxed_lines():
    """Everything that goes into the records, by what it is."""
    return {
        "fits": [path for path, *_ in relaxed_fits()] + relaxed_own(),
        "choices": relaxed_all_choices(),
        "points": relaxed_points(),
        "exact": relaxed_pictures("exact"),
        "boundary": relaxed_pictures("boundary"),
    }


def relaxed_records():
    """The records made of it."""
    return [
        f"{config['results']}/rep/{rep_records.FILES[kind]}" for kind, of in relaxed_lines().items() if of
    ]


def relaxed_raw(wildcards):
    """Raw files of a set."""
    return [f"data/raw/{file['path']}" for file in relaxed.raw_files(wildcards.dataset, "data")]


def relaxed_data(wildcards):
    """Standard file of a set; the made-up one has none."""
    return [] if wildcards.dataset == rep.BLOBS else f"data/standard/relaxed/{wildcards.dataset}.h5"
