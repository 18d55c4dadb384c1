# What the relaxed-EP paper's part of a configuration asks for.


REP = config.get("rep", {})


def relaxed_raw(wildcards):
    """Raw files of a set."""
    return [f"data/raw/{file['path']}" for file in relaxed.raw_files(wildcards.dataset, "data")]


def relaxed_paths():
    """Standard files of the sets that the configuration names."""
    return [f"data/standard/relaxed/{name}.h5" for name in REP.get("sets", [])]
