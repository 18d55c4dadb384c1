# What the QP paper's part of a configuration asks for: jobs, their records, and what is made of them.


def grids(part):
    """A grid of rows and methods, and those inside it."""
    yield part
    for further in part.get("also", []):
        yield from grids(further)


def parts():
    """Each protocol with each of its grids of rows and methods."""
    for protocol, part in config["qp"].items():
        yield from ((protocol, grid) for grid in grids(part))


def check_methods():
    """Every data set asked for exists, and every method in its protocol."""
    for protocol, part in parts():
        for dataset in part["rows"]:
            try:
                task = qp.task_of(dataset)
                for method in part["methods"]:
                    protocols.method(protocol, task, method)
            except ValueError as error:
                refuse(f"qp.{protocol}: {error}")


check_methods()


def fit_block(protocol, dataset):
    """The choices of a protocol for a data set."""
    return protocols.block(protocol, qp.task_of(dataset))


def fit_path(protocol, dataset, method, first, last):
    """Records of one job."""
    return f"data/fits/qp/{protocol}/{dataset}/{method}-{first:03d}-{last:03d}.jsonl.gz"


def fit_jobs():
    """Protocol, data set, method, first and last seed of all jobs of the configuration."""
    return [
        (protocol, dataset, method, first, last)
        for protocol, part in parts()
        for dataset, row in part["rows"].items()
        for method in part["methods"]
        for first, last in blocks(row["seeds"], row["block"])
    ]


def fit_paths():
    """Records of all jobs of the configuration."""
    return [fit_path(*job) for job in fit_jobs()]


def planned_fits():
    """What a plan needs to know of the jobs: record, protocol, data set, method, number of seeds."""
    return [(fit_path(*job), *job[:3], job[4] - job[3] + 1) for job in fit_jobs()]


def compact_paths():
    """Compact records of the configuration."""
    names = [*(f"{protocol}.csv.gz" for protocol in config["qp"]), "variances.csv.gz", "provenance.json"]
    return [f"{RECORDS}/{name}" for name in names]


def start_records(wildcards):
    """Records of the method whose hyperparameters this method starts from, if it does."""
    methods = fit_block(wildcards.protocol, wildcards.dataset)["methods"]
    start = methods[wildcards.method].get("start")
    if start is None:
        return []
    job = protocols.job_of(methods, start)
    block = int(wildcards.first), int(wildcards.last)
    return [fit_path(wildcards.protocol, wildcards.dataset, job, *block)]


def lookup_table(wildcards):
    """The certified table, where the protocol gives it to this method."""
    used = qp.uses_table(wildcards.protocol, wildcards.dataset, wildcards.method)
    return ["data/lookup/probit.h5"] if used else []


def standard_data(wildcards):
    variant = fit_block(wildcards.protocol, wildcards.dataset)["variant"]
    return f"data/standard/{variant}/{wildcards.dataset}.h5"


def choices(wildcards):
    """What the protocol says about this job: an edit to another method does not rerun it."""
    return protocols.choices(wildcards.protocol, qp.task_of(wildcards.dataset), wildcards.method)


def has_pairs(part, task):
    """Whether a protocol's part of the configuration has an EP and a QP fit of a task."""
    both = {"ep", "qp"} <= set(part["methods"])
    return both and any(qp.task_of(name) == task for name in part["rows"])


def figure_names(part):
    """Figures that a protocol's rows and methods allow."""
    yield from (name for name, task in VARIANCE_FIGURES.items() if has_pairs(part, task))
    if {"ep", "qp", "vb-joint"} & set(part["methods"]):
        yield "published"
    compared = "ep" in part["methods"] and {"qp", "vb", "vb-joint"} & set(part["methods"])
    if compared and any(row["seeds"] > 1 for row in part["rows"].values()):
        yield "paired"


# Figure name -> task of the data sets it shows
VARIANCE_FIGURES = {"figure1a": "classification", "figure1b": "counts"}


def artifact_paths():
    """Tables, report and figures of the configuration."""
    names = [
        "qp_table1.csv",
        "qp_table1.md",
        "qp_table1.tex",
        "qp_fidelity.csv",
        "qp_fidelity.md",
        "audit.csv",
        "audit_rows.csv",
        "audit.md",
        "report.html",
    ]
    drawn = [f"{protocol}/{name}" for protocol, part in config["qp"].items() for name in figure_names(part)]
    if TRUTH:
        names += ["qp_truth.csv", "qp_truth.md"]
        drawn.append("qp_truth")
    return [f"{TABLES}/{name}" for name in names] + [
        f"{FIGURES}/{name}.{kind}" for name in drawn for kind in FIGURE_KINDS
    ]
