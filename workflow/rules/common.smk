# Configuration, checked before any job starts, and the paths everything else agrees on.

import json
import os
import sys

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from tilted import data, protocols
    from tilted.data import regression
    from tilted.experiments import lookup_study, paper_table, pep, qp, truth
    from tilted.projections import TableGrid
    from tilted.provenance import closure_hash
    from tilted.results import differences
    from tilted.results.pep import artifacts as pep_artifacts
    from tilted.results.pep import records as pep_records
except ImportError as error:
    sys.exit(f"tilted is not installed in this environment ({error}); run `make setup`")

if " " in sys.executable:
    sys.exit(
        f"Snakemake cannot run scripts with an interpreter whose path has a space ({sys.executable}); "
        "clone to a folder without spaces"
    )

# One BLAS thread a worker: two make these fits three times slower.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
# glibc gives arrays of this size back and faults their pages in again: a fifth of a fit's time at N = 300.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))


def refuse(message):
    """Leave before anything runs."""
    sys.exit(f"In the configuration: {message}")


def check_schema():
    """The configuration is what its schema says; if not, where it is not and what is known there."""
    schema = json.loads(Path(workflow.basedir, "workflow/schemas/config.schema.json").read_text("utf-8"))
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is None:
        return
    what = error.message
    if error.validator == "additionalProperties":
        what += f"; known: {', '.join(error.schema['properties'])}"
    elif error.validator == "anyOf":
        what = "qp, pep, differences or lookup must say what to run"
    refuse(f"{'.'.join(map(str, error.absolute_path)) or 'top level'}: {what}")


check_schema()
config.setdefault("qp", {})

RECORDS, TABLES, FIGURES = f"{config['results']}/qp", config["tables"], config["figures"]
FIGURE_KINDS = ("pdf", "png")


wildcard_constraints:
    variant="as-released|as-described|corrected",
    protocol=r"(as-released|as-described|corrected)(\+[a-z0-9-]+)?",
    dataset="[a-z0-9_]+",
    method="[a-z-]+",
    first=r"\d+",
    last=r"\d+",
    grid="[a-z0-9-]+",


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
    """Every method asked for exists in its protocol, with the method it starts from."""
    for protocol, part in parts():
        for dataset in part["rows"]:
            task = qp.task_of(dataset)
            methods = protocols.block(protocol, task)["methods"]
            for method in part["methods"]:
                try:
                    protocols.method(protocol, task, method)
                except ValueError as error:
                    refuse(error)


check_methods()


def fit_block(protocol, dataset):
    """The choices of a protocol for a data set."""
    return protocols.block(protocol, qp.task_of(dataset))


def blocks(number, size):
    """First and last index of each job, of so many indices."""
    return [(first, min(first + size, number) - 1) for first in range(0, number, size)]


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


def kept_or_new(paths):
    """Outputs that a job updates in place where the configuration keeps records of other runs."""
    return [update(path) for path in paths] if config.get("keep_records") else paths


def raw_paths(wildcards):
    """Raw files of a data set."""
    return [f"data/raw/{file['path']}" for file in data.raw_files(wildcards.dataset, "data")]


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


TRUTH = config.get("truth", {})


def truth_paths():
    """Sampled ground truth, one file a data set of the configuration."""
    return [f"data/truth/{dataset}.json.gz" for dataset in TRUTH]


def truth_records():
    """The same, where they are committed."""
    return [f"{RECORDS}/truth/{dataset}.json.gz" for dataset in TRUTH]


def studies_made():
    """Small studies beside the records that the artifacts show where they exist."""
    names = ("verified.csv", "verified_truth.csv", "timing.csv", "lookup.csv", "lookup_effect.csv")
    return [str(path) for name in names if (path := Path(RECORDS, name)).is_file()]


def everything():
    """What the configuration asks for. Fits and samples are named beside what is made of them: beside
    committed records and tables, missing ones would look done."""
    wanted = [*fit_paths(), *truth_paths(), *artifact_paths()] if config["qp"] else truth_records()
    wanted += [*regression_paths(), *regression_records()]
    if "differences" in config:
        wanted += [f"{RECORDS}/{differences.FILE}", f"{TABLES}/differences.csv"]
    if "lookup" in config:
        wanted += [*lookup_effect_paths(), f"{RECORDS}/lookup_effect.csv"]
    return wanted


def show_results():
    """The table in the terminal, and where everything is; nothing when only other targets were asked for."""
    for path in regression_records()[:1]:
        if Path(path).is_file():
            print(f"Records: {Path(path).resolve()}")
    if not config["qp"] or not Path(TABLES, "qp_table1.md").is_file():
        return
    text = Path(TABLES, "qp_table1.md").read_text(encoding="utf-8")
    print(text.split("\n## QP's NTLL")[0])
    print(f"Tables:  {Path(TABLES).resolve()}")
    print(f"Figures: {Path(FIGURES).resolve()}")
    print(f"Report:  {Path(TABLES, 'report.html').resolve()}")
