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


def planned_relaxed():
    """Lines, kind, data set, share of flipped labels and number of splits or sets of all jobs but pictures.

    "own": single splits with parameters chosen on their own training part; that of split 0 is the same.
    """
    points = REP.get("points", {"sets": 0, "block": 1})
    jobs = [
        (f"data/fits/rep/points/{first:03d}-{last:03d}.jsonl.gz", "points", None, None, last - first + 1)
        for first, last in blocks(points["sets"], points["block"])
    ]
    for name, flips, row in relaxed_cells():
        cell, own = f"{name}-{flips:g}", row.get("own", 0)
        jobs += [
            (
                f"data/fits/rep/fits/{cell}/{first:03d}-{last:03d}.jsonl.gz",
                "fits",
                name,
                flips,
                last - first + 1,
            )
            for first, last in blocks(row["splits"], row["block"])
        ]
        jobs += [
            (f"data/fits/rep/own/{cell}/{split:03d}.jsonl.gz", "fits", name, flips, 1)
            for split in range(1, own)
        ]
        jobs += [
            (relaxed_choices(name, flips, split), "choices", name, flips, 1) for split in range(max(1, own))
        ]
    return jobs


def relaxed_pictures(kind):
    """Lines beside the exact posterior ("exact") or of boundaries ("boundary"), a file a share of flips."""
    return [
        f"data/fits/rep/{kind}/{flips:g}.jsonl.gz"
        for name, flips, row in relaxed_cells()
        if name == rep.BLOBS and kind in REP
    ]


def planned_pictures():
    """What a plan needs to know of them: part, lines, number, job that may have been measured, times its work."""
    return [
        (f"REP {kind}", path, 1, path, 1) for kind in ("exact", "boundary") for path in relaxed_pictures(kind)
    ]


def relaxed_lines():
    """Everything that goes into the records, by what it is."""
    jobs = planned_relaxed()
    lines = {kind: [path for path, of, *_ in jobs if of == kind] for kind in ("fits", "choices", "points")}
    return {
        **lines,
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
