"""The command `tilted`: make a claim again, fit one fold, list what there is, keep the records.

`VERBS` is the table of its verbs. Each verb is one function below, and the decorator above the function holds
the help and the arguments of the verb.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any, NamedTuple

from yaml import YAMLError

# One BLAS thread a worker, as in jobs: with several threads, searches end at slightly different optima.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["MPLBACKEND"] = "agg"  # a notebook sets its own backend, which is not installed here

from papers import PAPERS
from papers.core.verify import FITS
from papers.qp import protocols
from tilted import __version__

Argument = Callable[[Any], Any]
"""A function that adds one argument, or several, to a parser or group."""
Run = Callable[[argparse.Namespace], int]
"""A function that runs a verb and returns the exit status."""

USER_ERRORS = (ValueError, OSError, MemoryError, BrokenExecutor, YAMLError)
"""Bad input, or a limit of the machine, such as a worker that was killed for its memory."""


class Verb(NamedTuple):
    """A verb: what a person wants who uses it, its help, an example, its arguments and its function."""

    purpose: str
    help: str
    example: str
    arguments: tuple[Argument, ...]
    run: Run


VERBS: dict[str, Verb] = {}
"""Name -> verb, in the order of the help."""


def verb(purpose: str, help: str, example: str, *arguments: Argument) -> Callable[[Run], Run]:
    """Enter a function into `VERBS`, under its own name."""

    def register(run: Run) -> Run:
        VERBS[run.__name__] = Verb(purpose, help, example, arguments, run)
        return run

    return register


def argument(*names: str, **settings: Any) -> Argument:
    """Describe an argument as `argparse.ArgumentParser.add_argument` takes it."""
    return lambda parser: parser.add_argument(*names, **settings)


def several(*names: str, **settings: Any) -> Argument:
    """Describe an option of one or more values, which may be given again."""
    return argument(*names, nargs="+", action="extend", default=[], **settings)


def one_of(*arguments: Argument) -> Argument:
    """Describe arguments that exclude each other."""

    def add_all(parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group()
        for add in arguments:
            add(group)

    return add_all


def at_least(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers that are not below another."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return int(text)

    return number


def character(text: str) -> str:
    r"""Read one character, a tab also as ``\t``."""
    mark = "\t" if text == r"\t" else text
    if len(mark) != 1:
        raise argparse.ArgumentTypeError(rf"{text!r} is not one character or \t")
    return mark


RECORDS = argument("--records", default="results", help="folder of all records (%(default)s)")
MIRROR = argument("--mirror", help="folder or base URL tried first for raw data")
CORES = argument("--cores", type=at_least(1), default=os.cpu_count() or 1, help="(%(default)s)")


@verb(
    "is it true?",
    "repeat rows behind a claim, figure or paper, with a receipt",
    "PEP5",
    argument("names", nargs="*", metavar="NAME", help="PEP5, REP-figure4, Table1:Glass, qp, all"),
    argument("--list", action="store_true", help="print every name"),
    argument("--dry-run", action="store_true", help="only say what is needed"),
    argument("--fresh", action="store_true", help="repeat every row instead of a sample"),
    argument("--seed", type=at_least(0), default=0, help="of what is drawn (%(default)s)"),
    CORES,
    argument("--output", default="reproduced", help="folder of runs and receipts (%(default)s)"),
    MIRROR,
    argument("--json", action="store_true", help="print the receipt as JSON, all else to stderr"),
)
def reproduce(options: argparse.Namespace) -> int:
    """Make claims, figures, tables or papers again; 1 if one did not pass."""
    from papers.reproduce import command

    return command.run(options)


COLUMNS = ("protocols", "datasets", "methods")


@verb(
    "is it true?",
    "repeat a sample of the records and compare",
    "--papers pesc --fits 5",
    RECORDS,
    several("--papers", choices=PAPERS, help="default: all"),
    *(several(f"--{name}", help="of studies that have some; default: every one") for name in COLUMNS),
    one_of(
        argument("--fits", type=at_least(1), default=FITS, help="of each group and outcome (%(default)s)"),
        argument("--all", action="store_true", help="every fit"),
    ),
    argument("--seed", type=at_least(0), default=0, help="of the draw (%(default)s)"),
    argument("--lacking", action="store_true", help="only groups of which too few were repeated"),
    argument("--jobs", type=at_least(1), default=1, help="processes (%(default)s)"),
    MIRROR,
)
def verify(options: argparse.Namespace) -> int:
    """Make a sample of the records again; 1 if a fit differs or could not be made."""
    from papers.core import records, verify

    columns = {name.removesuffix("s"): getattr(options, name) for name in COLUMNS}
    selection = verify.Selection(
        wanted={column: values for column, values in columns.items() if values},
        fits=None if options.all else options.fits,
        seed=options.seed,
        lacking=options.lacking,
    )
    studies = records.studies(options.papers or PAPERS)
    result = verify.verify(studies, options.records, selection, options.mirror, options.jobs)
    print("\n".join(verify.summary_lines(result)))
    return 1 if result.missing or result.differences else 0


@verb("is it true?", "compare the records with their check sums and runs", "", RECORDS)
def check(options: argparse.Namespace) -> int:
    """Compare the records with their check sums and runs; 1 if a file is damaged."""
    from papers.core import records

    names = records.sums(options.records)
    if not names:
        raise ValueError(f"no {records.SUMS} in {options.records}: nothing to compare with")
    damage = records.damaged(options.records)
    for line in damage:
        print(f"tilted: {line}", file=sys.stderr)
    if not damage:
        rows = sum(len(records.load(study, options.records)) for study in records.studies())
        print(f"{len(names)} files, {rows} rows: intact")
    return 1 if damage else 0


@verb(
    "your own data",
    "say which method suits your own table",
    "--data mine.csv --target y",
    argument("--data", required=True, help="a CSV with a header, or a YAML block"),
    argument("--target", metavar="COLUMN", help="the column to predict"),
    argument(
        "--task", choices=("classification", "counts", "regression"), help="default: by the target's values"
    ),
    argument("--delimiter", type=character, help=r"of a CSV (,); or \t"),
    argument("--decimal", type=character, help="decimal mark of numbers (.)"),
    argument("--thousands", type=character, help="mark between thousands (none)"),
    several(
        "--missing",
        metavar="MARKER",
        help="leave out rows with one of these (`--missing ''` for empty cells)",
    ),
    several("--drop", metavar="COLUMN", help="leave out columns"),
    several("--one-hot", metavar="COLUMN", help="a feature for each word of these columns"),
    several("--methods", metavar="METHOD", help="ep qp vb pep rep gp; default: all that fit but rep"),
    argument("--group", metavar="COLUMN", help="keep rows with one value of it in one fold"),
    argument("--rows", type=at_least(1), help="compare on a sample of so many, drawn by --seed"),
    argument("--ard", action="store_true", help="a lengthscale for each feature"),
    argument("--margin", type=float, default=0.01, help="nats that matter (%(default)s)"),
    argument(
        "--iterations", type=at_least(0), default=300, help="of the exact sampler; 0: none (%(default)s)"
    ),
    argument("--seed", type=at_least(0), default=0, help="of folds and rows (%(default)s)"),
    CORES,
    argument("--output", default="compared", help="folder of pages (%(default)s)"),
    argument("--json", action="store_true", help="print the numbers, all else to stderr"),
)
def compare(options: argparse.Namespace) -> int:
    """Compare the methods on a user's own table."""
    from papers.compare import run

    return run.run(options)


@verb(
    "one fit, one data set",
    "fit and test one fold of one data set of the QP paper",
    "--dataset wine12 --method qp",
    argument("--dataset", required=True, help="a name from `tilted datasets`"),
    argument("--protocol", default="as-released", help=", ".join(protocols.names())),
    argument("--seed", type=int, default=0, help="seed index 0, 1, ..."),
    argument("--fold", type=int, default=0, help="fold index (counts: 0 only)"),
    argument("--method", default="ep", help="ep, ep-tune, qp, vb, vb-joint, ... by protocol"),
    argument(
        "--hyperparameters",
        metavar="variance=V,lengthscale=L",
        help="fix them and only infer; ARD lengthscales separated by ':'",
    ),
    MIRROR,
    argument("--json", action="store_true", help="print the whole record as JSON"),
)
def fit(options: argparse.Namespace) -> int:
    """Fit and test one fold; 1 if the fit failed."""
    from papers.qp import refit

    fixed = None if options.hyperparameters is None else refit.hyperparameters(options.hyperparameters)
    place = options.dataset, options.protocol, options.seed, options.fold
    record = refit.fitted(*place, options.method, fixed, options.mirror)
    print(json.dumps(record, allow_nan=False) if options.json else refit.summary(record, fixed is None))
    return 0 if record["log_evidence"] is not None else 1


@verb(
    "one fit, one data set",
    "list the data sets of all papers",
    "",
    argument("--json", action="store_true", help="print as JSON, licences and sources too"),
)
def datasets(options: argparse.Namespace) -> int:
    """List the data sets: in a terminal six columns, as JSON all of them."""
    from papers.data import table_of_datasets

    rows = table_of_datasets()
    if options.json:
        print(json.dumps(rows, indent=1))
        return 0
    lines = [["set", "row", "task", "rows", "features", "present"]]
    for row in rows:
        task = row["task"].partition(" (")[0]  # the name of the set tells the paper
        columns = row["set"], row["row"], task, row["rows"], row["features"], row["present"]
        lines.append([str(value) for value in columns])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


@verb(
    "what was found",
    "write every table and figure from the records",
    "",
    RECORDS,
    argument("--tables", default="tables", help="where tables go (%(default)s)"),
    argument("--figures", default="figures", help="where figures go (%(default)s)"),
    argument("--published", default="data/published", help="folder of what was printed (%(default)s)"),
)
def tables(options: argparse.Namespace) -> int:
    """Write every table and figure, and their captions."""
    from papers import captions, configuration, make
    from papers.qp import differences

    configuration.require_apart(options.records, tables=options.tables, figures=options.figures)
    warnings = make.write_all(options.records, options.tables, options.figures, options.published)
    if configuration.are_committed(options.records):
        pages = [Path(options.tables, f"differences.{kind}") for kind in ("csv", "md")]
        differences.write_all(options.records, *pages)
    captions.write(Path(options.tables), Path(options.figures))
    for line in warnings:
        print(f"tilted: {line}", file=sys.stderr)
    print(f"Tables: {options.tables}, figures: {options.figures}")
    return 0


WORKFLOW = "run the papers (with make or Snakemake) and keep what they make"


@verb(
    WORKFLOW,
    "say what a configuration would cost",
    "--config config/preview.yaml",
    argument("--config", default="config/paper.yaml", help="(%(default)s)"),
)
def plan(options: argparse.Namespace) -> int:
    """Print what a configuration would cost, and what of it has no file or record yet."""
    from papers import configuration, plan
    from papers.core import files, resources

    if not Path(options.config).is_file():
        where = "go to a checkout of the repository, or name a configuration (--config)"
        raise ValueError(f"no file {options.config} here: {where}")
    config = files.read_yaml(options.config)
    try:
        asked = configuration.asked(config)
    except ValueError as error:
        raise ValueError(f"{options.config}: {error}") from error
    measured = resources.read("benchmarks/resources.csv")
    folders = ["results"] if config.get("keep_records") else [config["results"], "results"]
    every = plan.costs(asked.jobs.values(), folders, measured)

    def remaining(asked: configuration.Asked) -> dict[str, plan.Cost]:
        jobs = [asked.remaining(path) for path in asked.jobs if path not in asked.reused]
        narrower = plan.costs([job for job in jobs if job is not asked.jobs[job.path]], folders, measured)
        return {cost.path: cost for cost in [*every, *narrower] if cost.path not in asked.reused}

    print("\n".join(plan.lines(every, remaining(asked))), flush=True)
    if config.get("keep_records") and not config.get("reuse"):
        print(plan.rest(remaining(configuration.asked({**config, "reuse": True})).values()))
    return 0


@verb(
    WORKFLOW,
    "join new fits to the committed records",
    "--fits data/fits",
    argument("--fits", default="data/fits", help="folder of all files of fits (%(default)s)"),
    RECORDS,
)
def records(options: argparse.Namespace) -> int:
    """Fold files of fits into the records."""
    from papers.core import records

    below = Path(options.fits).parent
    folders = [Path(options.fits), *(below / name for name in ("truth", "nearer", "lookup"))]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.jsonl.gz"))]
    changes = records.collect(paths, options.records)
    if not changes:
        raise ValueError(
            f"no fit records (*.jsonl.gz) in {options.fits}; `make paper` makes them, --fits names a folder"
        )
    return _print_changes(changes)


TIMING = (
    several("--datasets", help="default: every classification data set"),
    several("--protocols", help="default: as-released"),
    argument("--seeds", type=at_least(1), default=3, help="fold 0 of seeds 0, 1, ... (%(default)s)"),
    argument("--repeats", type=at_least(1), default=3, help="a time is the best of these (%(default)s)"),
)
STUDIES: dict[str, tuple[str, tuple[Argument, ...]]] = {
    "timing": ("time EP's and QP's inference at equal hyperparameters", TIMING),
    "limits": ("compare Power EP's limits with FITC and VFE", ()),
    "dense": ("compare sparse EP at M = N with dense EP (ionosphere)", ()),
    "banana": ("where pseudo-points go on a made-up set", ()),
}
"""Small study -> its help and its own arguments."""


def add_studies(parser: argparse.ArgumentParser) -> None:
    """Add a sub-command for each of `STUDIES`."""
    commands = parser.add_subparsers(required=True, metavar="STUDY", dest="study")
    for name, (help, arguments) in STUDIES.items():
        about = f"{help[0].upper()}{help[1:]}: writes its record anew, in the folder of records."
        study = commands.add_parser(name, help=help, description=about)
        for add in (*arguments, RECORDS, MIRROR):
            add(study)


@verb(WORKFLOW, "make a small study that no job of the workflow makes", "dense", add_studies)
def study(options: argparse.Namespace) -> int:
    """Make one of `STUDIES` and write its record."""
    if options.study != "timing":
        from papers.pep import records as pep

        return _print_changes(pep.make(options.study, options.records, options.mirror))
    from papers.core import records
    from papers.qp import timing
    from papers.qp.records import TIMING

    chosen = options.datasets or None, options.protocols or ["as-released"], options.seeds, options.repeats
    lines = list(timing.timed(*chosen, mirror=options.mirror, tell=_progress))
    return _print_changes(records.put(options.records, {TIMING: lines}))


@verb(
    "your shell",
    "print a script that completes words of `tilted` in a shell",
    "bash",
    argument("shell", choices=("bash", "zsh", "tcsh"), help='eval "$(tilted completion bash)"'),
)
def completion(options: argparse.Namespace) -> int:
    """Print a script that completes verbs, options and names of claims."""
    import shtab

    from papers.reproduce import names

    print(shtab.complete(parser([*names.targets_by_name()]), options.shell))
    return 0


def _progress(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


def _print_changes(changes: Mapping[str, object]) -> int:
    for file, change in changes.items():
        print(f"{file}: {change}")
    return 0


def parser(names: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Return the parser of the whole command, for a shell's completion with the names `reproduce` takes."""
    listed = ["commands, by what you want (COMMAND --help says more):"]
    for purpose in dict.fromkeys(verb.purpose for verb in VERBS.values()):
        verbs = [(name, verb.help) for name, verb in VERBS.items() if verb.purpose == purpose]
        listed += ["", purpose, *(f"  {name:10} {help}" for name, help in verbs)]
    raw = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser("tilted", "tilted COMMAND ...", "\n".join(listed), formatter_class=raw)
    whole.add_argument("--version", action="version", version=f"tilted {__version__}")
    hidden = argparse.SUPPRESS if names is None else ""  # the description lists the verbs already
    commands = whole.add_subparsers(required=True, dest="verb", metavar="COMMAND", prog="tilted", help=hidden)
    for name, (_, help, example, arguments, _) in VERBS.items():
        about, epilog = f"{help[0].upper()}{help[1:]}.", f"example: tilted {name} {example}".rstrip()
        own = commands.add_parser(name, help=help, description=about, epilog=epilog)
        actions = [add(own) for add in arguments]
        if name == "reproduce":
            actions[0].choices = names
    return whole


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 if a fit failed or a check did not pass, 2 on bad input."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may have no ±
    try:
        options = parser().parse_args(argv)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the workers too, as ctrl-C does
        status = VERBS[options.verb].run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except USER_ERRORS as error:
        message = str(error) or type(error).__name__.replace("MemoryError", "not enough memory")
        if isinstance(error, FileNotFoundError) and error.filename:
            message = f"there is no {error.filename}"
        print(f"tilted: {message}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tilted: interrupted; every file is whole", file=sys.stderr)
        return 130
