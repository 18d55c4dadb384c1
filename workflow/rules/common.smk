# Configuration, checked before any job starts, and the paths everything else agrees on.

import os
import sys

try:
    from tilted import data, protocols
    from tilted.experiments import qp
    from tilted.provenance import closure_hash
    from tilted.results import differences
except ImportError as error:
    sys.exit(f"tilted is not installed in this environment ({error}); run `make setup`")

from snakemake.exceptions import WorkflowError
from snakemake.utils import validate

if " " in sys.executable:
    sys.exit(
        f"Snakemake cannot run scripts with an interpreter whose path has a space ({sys.executable}); "
        "clone to a folder without spaces"
    )

# One BLAS thread a worker: two make these fits three times slower.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

validate(config, "../schemas/config.schema.json")
config.setdefault("qp", {})

TABLES, FIGURES = config["tables"], config["figures"]
TABLE_KINDS, FIGURE_KINDS = ("csv", "md", "tex"), ("pdf", "png")


wildcard_constraints:
    variant="as-released|as-described|corrected",
    protocol=r"(as-released|as-described|corrected)(\+[a-z0-9-]+)?",
    dataset="[a-z0-9]+",
    method="[a-z-]+",
    first=r"\d+",
    last=r"\d+",


def parts():
    """Each protocol with each of its grids of rows and methods."""
    for protocol, part in config["qp"].items():
        yield protocol, part
        for further in part.get("also", []):
            yield protocol, further


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
                    raise WorkflowError(f"in the configuration: {error}") from None


check_methods()


def fit_block(protocol, dataset):
    """The choices of a protocol for a data set."""
    return protocols.block(protocol, qp.task_of(dataset))


def seed_blocks(row):
    """First and last seed index of each job of a row."""
    return [
        (first, min(first + row["block"], row["seeds"]) - 1) for first in range(0, row["seeds"], row["block"])
    ]


def difference_paths():
    """Records of the jobs of derived protocols."""
    try:
        return [fit_path(*job) for job in differences.jobs(**config["differences"])]
    except ValueError as error:
        raise WorkflowError(f"in the configuration: {error}") from None


def fit_path(protocol, dataset, method, first, last):
    """Records of one job."""
    return f"data/fits/qp/{protocol}/{dataset}/{method}-{first:03d}-{last:03d}.jsonl.gz"


def fit_paths(datasets=None, methods=None):
    """Records of all jobs of the configuration, or of some data sets and methods."""
    return [
        fit_path(protocol, dataset, method, first, last)
        for protocol, part in parts()
        for dataset, row in part["rows"].items()
        if datasets is None or dataset in datasets
        for method in part["methods"]
        if methods is None or method in methods
        for first, last in seed_blocks(row)
    ]


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


def standard_data(wildcards):
    variant = fit_block(wildcards.protocol, wildcards.dataset)["variant"]
    return f"data/standard/{variant}/{wildcards.dataset}.h5"


def choices(wildcards):
    """What the protocol says about this job: an edit to another method does not rerun it."""
    block = fit_block(wildcards.protocol, wildcards.dataset)
    shared = {key: value for key, value in block.items() if key != "methods"}
    return {**shared, "method": block["methods"][wildcards.method]}


def paper_datasets(protocol, task):
    """Rows of a protocol that belong to a task, if EP and QP are both run."""
    part = config["qp"][protocol]
    both = {"ep", "qp"} <= set(part["methods"])
    return [name for name in part["rows"] if both and qp.task_of(name) == task]


# Figure name -> task of the data sets it shows
VARIANCE_FIGURES = {"figure1a": "classification", "figure1b": "counts"}


def qp_figures(kinds):
    """Figures that the configuration's rows and methods allow."""
    return [
        f"{FIGURES}/{protocol}/{name}.{kind}"
        for protocol in config["qp"]
        for name in [*VARIANCE_FIGURES, "published"]
        if name == "published" or paper_datasets(protocol, VARIANCE_FIGURES[name])
        for kind in kinds
    ]


def qp_artifacts():
    tables = [f"{TABLES}/qp_table1.{kind}" for kind in TABLE_KINDS]
    return [*tables, *qp_figures(FIGURE_KINDS), f"{TABLES}/report.html"]


def show_results():
    """The table in the terminal, and where everything is."""
    print(Path(TABLES, "qp_table1.md").read_text(encoding="utf-8"))
    print(f"Tables:  {Path(TABLES).resolve()}")
    print(f"Figures: {Path(FIGURES).resolve()}")
    print(f"Report:  {Path(TABLES, 'report.html').resolve()}")
