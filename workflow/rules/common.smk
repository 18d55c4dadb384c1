# What the configuration asks for, checked before any job starts, and what the rules have in common.

import getpass
import os
import re
import signal
import sys
from functools import cache

from snakemake.io import IOFile

os.environ.pop("TILTED_DATA", None)  # as the user set it; packages read a registry as they are imported
try:
    from papers import captions, data
    from papers.configuration import APART, AUDIT, PRINTED, TARGETS, are_committed, asked, read, retype
    from papers.data import classification, own, regression, relaxed
    from papers.data.registry import load_registry
    from papers.evidence import claims, files, jobs, place, store
    from papers.evidence.provenance import closure_hash, compile_by_content
    from papers.evidence.runs import content_hash
    from papers.qp import protocols
except ImportError as error:
    sys.exit(
        f"tilted is not installed in this environment, or hidden by a folder of PYTHONPATH ({error}); run "
        "`make setup`, or unset PYTHONPATH"
    )

if reason := place.unfit(Path(str(workflow.current_basedir)).parents[1], Path.cwd(), sys.executable):
    sys.exit(reason)

# Raw files are outputs of a rule also where somebody put them there, and there may be no other copy.
DELETES = "--delete-all-output"
if any(word.startswith("--delete-a") and DELETES.startswith(word) for word in sys.argv):
    if any(path.is_file() for path in Path("data/raw").rglob("*")):
        sys.exit(f"{DELETES} would delete raw data too (data/raw): `make clean` removes all but these")

# A job has as many BLAS threads as `threads` of its rule: one, since two make these fits three times slower.
# glibc gives arrays of this size back and faults their pages in again: a fifth of a fit's time at N = 300.
os.environ.setdefault("MALLOC_MMAP_THRESHOLD_", str(2**25))
os.environ.setdefault("MALLOC_TRIM_THRESHOLD_", str(2**28))
# A terminal that is lost ends a run as `kill` does: half-written files and the lock are removed.
if workflow.is_main_process and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as `nohup` sets it
    signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
try:
    getpass.getuser()
except (KeyError, OSError):  # a container's user without a name, for which Snakemake asks
    os.environ.update(LOGNAME=str(os.getuid()))
# Jobs and rules read one registry.
os.environ.update(TILTED_DATA=str(Path("data").resolve()))

try:
    for path in workflow.configfiles:
        read(path)  # Snakemake takes the last of two values of one key
    retype(config, workflow.config_settings.config)  # and numbers inside of what --config says for text
    ASKED = asked(config)
except ValueError as error:
    named = f" ({', '.join(map(os.path.relpath, workflow.configfiles))})" if workflow.configfiles else ""
    sys.exit(f"In the configuration{named}: {error}")

STANDARD = "data/standard/"
RESULTS, TABLES, FIGURES = config["results"], config["tables"], config["figures"]
KEPT = config.get("keep_records", False)
OWN = f"{config['name']}-{content_hash([RESULTS, TABLES, FIGURES])}"  # of this name and these folders
BEGUN_WITH = Path("logs/configurations", OWN)
BEGINS = workflow.modifier.is_main_snakefile()  # else this is a module of another, and no onstart is called
if BEGINS and not workflow.is_main_process and not BEGUN_WITH.is_file():
    sys.exit(
        f"{BEGUN_WITH}, what the run began with, is gone, or the configuration has another name now: run again"
    )
if BEGINS and not workflow.is_main_process and BEGUN_WITH.read_text() != content_hash(config):
    sys.exit("The configuration changed while the run went on: run again")
if KEPT and (reason := place.behind(Path(RESULTS))):
    sys.exit(reason)
CAPTION = Path(str(workflow.current_basedir)).parent / "report" / "artifact.rst"
CHAPTERS = f"data/chapters/{OWN}"


def made_of(names):
    """Jobs and records, once it is known what is reused. Jobs are named beside what is made of them: beside a
    committed record missing ones would look done."""
    return [*ASKED.paths(*names), *made_records(names)]


def made_records(names):
    """Files of some records; where lines of other runs are kept, the notes that something was folded into them, and
    records into which nothing is."""
    folding = [name for name in names if KEPT and ASKED.paths(name)]
    files = ASKED.files(*(name for name in names if name not in folding))
    return [*(note_of(name) for name in folding), *(f"{RESULTS}/{file}" for file in files)]


def note_of(name):
    """What a job writes that folds into records of other runs too. Of such files as its outputs Snakemake would put old
    ones back where it fails, beside new sums, and take it for done."""
    return f"data/folded/{OWN}/{name}.txt"


def state_of(name):
    """What such a job found and left. It is no output: the job's own process reads it after these are removed."""
    return f"data/folded/{OWN}/{name}.state"


def all_artifacts():
    """Tables and figures that the configuration asks for."""
    wanted = [str(path) for paper in ASKED.artifacts for path in artifact_paths(paper)]
    wanted += [f"{TABLES}/{name}" for name in AUDIT if "qp" in ASKED.artifacts]
    return [*wanted, *([f"{TABLES}/differences.csv"] if "differences" in ASKED.records else [])]


def artifact_paths(paper):
    """Tables and figures of a paper, each with its place in Snakemake's report."""
    tables, figures = ASKED.artifacts[paper]
    return [
        *(shown(f"{TABLES}/{name}", f"Paper {paper.upper()}", "Tables") for name in tables),
        *(shown(f"{FIGURES}/{name}", f"Paper {paper.upper()}", "Figures") for name in figures),
    ]


def shown(path, category, kind):
    """A file, or, without a suffix, a folder of figures, in Snakemake's report."""
    where = {"category": category, "subcategory": kind, "caption": caption(path, category)}
    if not Path(path).suffix:
        where |= {"patterns": ["{name}.png"], "labels": {"name": "{name}", "format": "png"}}
        return report(directory(path), **where)
    below = Path(path).relative_to({"Tables": TABLES, "Figures": FIGURES}[kind])
    where["labels"] = {"name": str(below.with_suffix("")), "format": below.suffix[1:]}
    return report(path, **where)


def caption(path, category):
    """A file with what a table or figure shows: Snakemake takes captions from files, one for all of a folder's."""
    paper = next((paper for paper in captions.PAPERS if category.endswith(f" {paper.key}")), None)
    name = Path(path).stem
    if Path(path).suffix in (".png", ".pdf"):
        said = plain(paper.captions[name])
    elif Path(path).suffix:
        said = plain(captions.about_table(Path(path).name))
    else:
        of = "snakemake.wildcards.name.split('/')[-1]"
        known = paper.captions.items()
        said = "".join(f"{{% if {of} == '{name}' %}}{plain(text)}{{% endif %}}" for name, text in known)
    kept = Path(".snakemake", "captions", config["name"], "-".join(Path(f"{path}.rst").parts))
    if workflow.is_main_process:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{said}\n\n{CAPTION.read_text(encoding='utf-8')}", encoding="utf-8")
    return str(kept.resolve())


def plain(text):
    """Text as reStructuredText, in which some characters mean more."""
    return re.sub(r"([\\*_`|])", r"\\\1", text)


def sweep():
    """Remove what killed writers left half written, unless another run writes beside it."""
    removed = files.sweep("data", "docs", "logs", RESULTS, TABLES, FIGURES)
    if removed:
        print(f"Removed {len(removed)} half-written files of jobs that were killed", file=sys.stderr)


def write_down():
    """The configuration that a run begins with: jobs that start later, as on a cluster, read theirs anew."""
    store.write_text(BEGUN_WITH, content_hash(config))


def clear():
    """Where failed jobs keep what they made, remove what is to be made again: Snakemake writes down of a failed group
    that all its files are new, also those that it did not come to."""
    if workflow.touch or not workflow.execution_settings.keep_incomplete:
        return
    for path in (path for job in workflow.dag.needrun_jobs() for path in job.output):
        if "update" not in path.flags and not Path(path).is_dir():  # figures: of a job in no group
            Path(path).unlink(missing_ok=True)


def show_results():
    """The table in the terminal, and where everything is; nothing when only other targets were asked for."""
    for path in (Path(RESULTS, file) for file in ASKED.files(*ASKED.records)):
        if path.is_file():
            print(f"Records: {path.resolve()}")
    shown = Path(TABLES, "qp_table1.md")
    if shown.name in ASKED.tables and shown.is_file():
        text = shown.read_text(encoding="utf-8").split("\n## QP's NTLL")[0]
        encoding = sys.stdout.encoding or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding))
        print(f"Tables:  {Path(TABLES).resolve()}")
        print(f"Figures: {Path(FIGURES).resolve()}")
    if Path(RESULTS) != Path("results"):
        from papers.reproduce import preview  # every job reads this file, one writes these lines

        print("\n".join(preview.lines(RESULTS, TABLES, {*ASKED.files(*ASKED.records), *ASKED.tables})))


def reader(variant):
    """Module that reads a variant of data sets, and what it wants to know beside a set's name."""
    family, _, protocol = variant.partition("/")
    modules = {"regression": regression, "relaxed": relaxed, "classification": classification}
    if family in modules:
        return modules[family], [protocol] if protocol else []
    return data.standard, [variant]


def standard_key(variant, dataset):
    """What decides a standard file: the code that reads it and, of a set of one's own, its entry and sums."""
    code, about = closure_hash(reader(variant)[0].__name__), own.described(dataset, "data")
    return content_hash([code, about]) if about else code


def raw_paths(wildcards):
    """Raw files of a data set."""
    readers, _ = reader(wildcards.variant)
    entries = data if readers is data.standard else readers
    return [f"data/raw/{file['path']}" for file in entries.raw_files(wildcards.dataset, "data")]


@cache
def refuse_stale():
    """Refuse files that other code made, or the same code by other parameters, and that Snakemake would take for new:
    its notes of them are lost, say today's, as after `--touch`, or are not asked (`--rerun-triggers mtime`).
    """
    keys = {path: job.key for path, job in ASKED.jobs.items()}
    for path in {given for job in ASKED.jobs.values() for given in job.files.values()}:
        if isinstance(path, str) and path.startswith(STANDARD):
            keys[path] = standard_key(str(Path(path).parent).removeprefix(STANDARD), Path(path).stem)
    asks = "params" in map(str, workflow.rerun_triggers)
    noted = {path: workflow.persistence.params(IOFile(path)) for path in keys if asks}

    def taken(path, value):
        return not noted.get(path) or repr(value) in noted[path]

    stale, other = [], []
    for path, key in sorted(keys.items()):
        job = ASKED.jobs.get(path)
        stamp = jobs.stamp_in(path) if job else {"source": data.standard.made_by(path)}
        if stamp.get("source") not in (None, key) and taken(path, key):
            stale.append(path)
        elif "parameters" in stamp and taken(path, job.parameters):
            other += [path] if stamp["parameters"] != content_hash(job.parameters) else []
    others = "code, or of other data", "parameters (the configuration was another)"
    for what, paths in zip(others, (stale, other)):
        if paths:
            said = f"Made by other {what}, which Snakemake does not know or was told not to mind; delete and run again:"
            sys.exit("\n".join([said, *paths]))


def job_of(wildcards):
    """The job that makes a file."""
    if workflow.is_main_process:
        refuse_stale()
    return ASKED.left(f"data/{wildcards.path}")


def found(name):
    """What a record was before its jobs were folded into it, or is, where it was changed since then."""
    return jobs.found(state_of(name), RESULTS, ASKED.files(name))


def changed_records(name):
    """Files of a record that is not as its last folding left it, where dates alone tell what is to be done."""
    asks = "params" in map(str, workflow.rerun_triggers)
    if not KEPT or asks or jobs.is_as_left(state_of(name), RESULTS, ASKED.files(name)):
        return []
    gone = [file for file in ASKED.files(name) if not Path(RESULTS, file).is_file()]
    if gone and Path(note_of(name)).is_file():
        sys.exit(
            f"Folded into {RESULTS} before, and gone: {', '.join(gone)}. Dates alone do not tell Snakemake: put back what "
            f"was there, or delete {note_of(name)}"
        )
    return [f"{RESULTS}/{file}" for file in ASKED.files(name) if file not in gone]


def compared_records():
    """Records of differences, and of what they are differences to, whether or not it is asked for."""
    asked = [name for name in ASKED.records if {*ASKED.bases} & {*ASKED.files(name)}]
    beside = {*ASKED.bases}.difference(ASKED.files(*asked))
    return [*made_records([*asked, "differences"]), *(f"{RESULTS}/{file}" for file in sorted(beside))]


def shown_records(paper):
    """Records that tables and figures of a paper are made of: those asked for, and, as they are, what others
    made of this paper's (studies of the command line, other configurations)."""
    names = [name for name in ASKED.records if name not in APART]
    ours = [name for name in names if any(file.startswith(f"{paper}/") for file in ASKED.files(name))]
    made = {Path(RESULTS, file) for file in ASKED.files(*(ours if KEPT else ASKED.records))}
    there = [*Path(RESULTS, paper).rglob("[!.]*.csv"), *Path(RESULTS, paper).rglob("[!.]*.csv.gz")]
    there += Path(RESULTS).glob("verified.csv")
    return [*made_records(ours), *sorted(str(path) for path in there if path not in made)]
