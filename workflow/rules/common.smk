# Configuration, checked before any job starts, and the paths everything else agrees on.

import itertools
import json
import os
import sys

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from tilted import data, files, protocols
    from tilted.data import classification, regression, relaxed
    from tilted.data import mnist as mnist_data
    from tilted.experiments import lookup_study, paper_table, pep, pep_classification, qp, truth
    from tilted.experiments import pesc_accuracy, pesc_regret
    from tilted.experiments import mnist as mnist_study
    from tilted.experiments import rep, rep_choice, rep_points
    from tilted.projections import TableGrid
    from tilted.provenance import closure_hash
    from tilted.results import differences, store, studies
    from tilted.results.pep import artifacts as pep_artifacts
    from tilted.results.pep import mnist as mnist_results
    from tilted.results.pep.forms import CLASSIFICATION, REGRESSION
    from tilted.results.rep import records as rep_records
    from tilted.results.pesc import artifacts as pesc_artifacts
except ImportError as error:
    sys.exit(f"tilted is not installed in this environment ({error}); run `make setup`")

if " " in sys.executable:
    sys.exit(
        f"Snakemake cannot run scripts with an interpreter whose path has a space ({sys.executable}); "
        "clone to a folder without spaces"
    )
if set(os.getcwd()) & set('$`"\\'):
    sys.exit(
        f"Snakemake's profiles for clusters run parts of such a folder's name ({os.getcwd()}): clone to another"
    )

# A job has as many BLAS threads as `threads` of its rule: one, since two make these fits three times slower.
# glibc gives arrays of this size back and faults their pages in again: a fifth of a fit's time at N = 300.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))
# Jobs and rules read one registry.
os.environ.update(TILTED_DATA=str(Path("data").resolve()))


def refuse(message):
    """Leave before anything runs."""
    sys.exit(f"In the configuration: {message}")


def check_schema():
    """The configuration is what its schema says; if not, where it is not and what is known there."""
    schema = json.loads(Path(workflow.basedir, "workflow/schemas/config.schema.json").read_text("utf-8"))
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is None:
        return
    what = shortened(error.message)
    if error.validator == "additionalProperties":
        what += f"; known: {', '.join(error.schema['properties'])}"
    elif error.validator == "pattern":
        what += f": {error.schema['description']}" if "description" in error.schema else ""
    elif error.validator == "anyOf":
        what = "qp, pep, pep_classification, mnist, rep, pesc, differences or lookup must say what to run"
    refuse(f"{shortened('.'.join(map(str, error.absolute_path))) or 'top level'}: {what}")


def shortened(text):
    """At most 300 characters of a message, in which any value may be quoted."""
    return text if len(text) <= 300 else f"{text[:297]}..."


def check_size():
    """No more than anybody needs: a short file with aliases may stand for more than memory holds."""
    waiting, size = [config], 0
    while waiting and size <= 100_000:
        value = waiting.pop()
        size += len(value) if isinstance(value, str) else 1
        if isinstance(value, dict | list):
            waiting += [*value, *value.values()] if isinstance(value, dict) else value
    if size > 100_000:
        refuse("more than 100000 values and characters, aliases written out")


def check_folders():
    """Files in them may have the same names."""
    folders = {key: Path(config[key].lower()) for key in ("results", "tables", "figures")}
    for (one, first), (other, second) in itertools.permutations(folders.items(), 2):
        if first == second or first in second.parents:
            refuse(f"{one} and {other} need folders of their own, neither in the other")


check_size()
check_schema()
check_folders()
config.setdefault("qp", {})

RECORDS, TABLES, FIGURES = f"{config['results']}/qp", config["tables"], config["figures"]
FIGURE_KINDS = ("pdf", "png")


wildcard_constraints:
    variant="as-released|as-described|corrected",
    protocol=r"(as-released|as-described|corrected)(\+[a-z0-9-]+)?",
    dataset="[a-z0-9_]+",
    method="[a-z-]+",
    path=r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*",
    first=r"\d+",
    last=r"\d+",
    grid="[a-z0-9-]+",


def blocks(number, size):
    """First and last index of each job, of so many indices."""
    return [(first, min(first + size, number) - 1) for first in range(0, number, size)]


def sweep():
    """Remove what killed writers left half written, unless another run writes beside it."""
    folders = ["data", "docs", "logs", config["results"], config["tables"], config["figures"]]
    removed = files.sweep(*folders)
    if removed:
        print(f"Removed {len(removed)} half-written files of jobs that were killed", file=sys.stderr)


def clear():
    """Where failed jobs keep what they made, remove what is to be made again: Snakemake writes down of a failed group
    that all its files are new, also those that it did not come to."""
    if not workflow.execution_settings.keep_incomplete:
        return
    for path in (path for job in workflow.dag.needrun_jobs() for path in job.output):
        if "update" not in path.flags:
            Path(path).unlink(missing_ok=True)


def kept_or_new(paths):
    """Outputs that a job updates in place where the configuration keeps records of other runs."""
    return [update(path) for path in paths] if config.get("keep_records") else paths


def growing(amount):
    """Memory in MB or minutes of a job, as much again for every further attempt."""
    return lambda wildcards, attempt: amount * attempt


def raw_paths(wildcards):
    """Raw files of a data set."""
    return [f"data/raw/{file['path']}" for file in data.raw_files(wildcards.dataset, "data")]


def everything():
    """What the configuration asks for. Fits and samples are named beside what is made of them: beside
    committed records and tables, missing ones would look done."""
    wanted = [*fit_paths(), *truth_paths(), *artifact_paths()] if config["qp"] else truth_records()
    wanted += [*regression_paths(), *regression_records(), *toy_paths(), *toy_record()]
    wanted += [*classification_paths(), *classification_records()]
    wanted += [] if config["qp"] else pep_tables()
    wanted += [*mnist_paths(), *mnist_record()]
    for lines in relaxed_lines().values():
        wanted += lines
    wanted += relaxed_records()
    wanted += [*pesc_paths(), *pesc_records()]
    if "differences" in config:
        wanted += [f"{RECORDS}/{differences.FILE}", f"{TABLES}/differences.csv"]
    if "lookup" in config:
        wanted += [*lookup_effect_paths(), f"{RECORDS}/lookup_effect.csv"]
    return wanted


def show_results():
    """The table in the terminal, and where everything is; nothing when only other targets were asked for."""
    for path in [*regression_records()[:1], *classification_records()[:1], *mnist_record(), *pesc_records()]:
        if Path(path).is_file():
            print(f"Records: {Path(path).resolve()}")
    if not config["qp"] or not Path(TABLES, "qp_table1.md").is_file():
        return
    text = Path(TABLES, "qp_table1.md").read_text(encoding="utf-8")
    encoding = sys.stdout.encoding or "utf-8"
    print(text.split("\n## QP's NTLL")[0].encode(encoding, "replace").decode(encoding))
    print(f"Tables:  {Path(TABLES).resolve()}")
    print(f"Figures: {Path(FIGURES).resolve()}")
    print(f"Report:  {Path(TABLES, 'report.html').resolve()}")
