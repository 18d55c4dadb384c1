"""The command `tilted`: make a claim again, fit a cell, see what there is, keep the records.

tilted reproduce PEP5
tilted compare --data mine.csv --target y
tilted fit --dataset wine12 --protocol as-released --seed 0 --fold 3 --method ep --json
tilted datasets
tilted plan
tilted tables
tilted verify --datasets wine13
tilted check
tilted records
tilted study dense
tilted completion bash
"""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Literal

from yaml import YAMLError

# One BLAS thread a worker, as in jobs: with several, searches of recorded fits end a little elsewhere.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
os.environ["MPLBACKEND"] = "agg"  # a notebook sets its own, which is not installed here

from papers import PAPERS
from papers.arguments import parser

USER_ERRORS = (ValueError, OSError, MemoryError, BrokenExecutor, YAMLError)
"""Bad input, or limits of the machine, as when it killed a worker for its memory."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 if a fit failed or a check did not pass, 2 on bad input."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may have no ±
    try:
        arguments = parser().parse_args(argv)  # which loads the library
        _end_by(signal.SIGTERM)
        ended = RUN[arguments.verb](arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return ended
    except BrokenPipeError:  # who read the first lines, such as `head`, wants no more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except USER_ERRORS as error:
        named = "not enough memory" if isinstance(error, MemoryError) else type(error).__name__
        said = str(error) or named
        if isinstance(error, FileNotFoundError) and error.filename:
            said = f"there is no {error.filename}"
        print(f"tilted: {said}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tilted: interrupted; every file is whole", file=sys.stderr)
        return 130


def _end_by(number: signal.Signals) -> None:
    """Let a signal end this process as ctrl-C does, its workers with it."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.default_int_handler)


def _reproduce(arguments: argparse.Namespace) -> int:
    from papers.reproduce import command

    return command.run(arguments)


def _compare(arguments: argparse.Namespace) -> int:
    from papers.compare import run

    return run.run(arguments)


def _fit(arguments: argparse.Namespace) -> int:
    from papers.qp import cell

    fixed = cell.hyperparameters(arguments.hyperparameters) if arguments.hyperparameters is not None else None
    where = arguments.dataset, arguments.protocol, arguments.seed, arguments.fold
    record = cell.fitted(*where, arguments.method, fixed, arguments.mirror)
    print(json.dumps(record, allow_nan=False) if arguments.json else cell.summary(record, fixed is None))
    return 0 if record["log_evidence"] is not None else 1


def _timing(arguments: argparse.Namespace) -> int:
    from papers.evidence import records
    from papers.qp import timing
    from papers.qp.records import TIMING

    protocols = arguments.protocols or ["as-released"]
    chosen = arguments.datasets, protocols, arguments.seeds, arguments.repeats
    lines = list(timing.timed(*chosen, mirror=arguments.mirror, tell=_tell))
    return _told(records.put(arguments.records, {TIMING: lines}))


def _study(arguments: argparse.Namespace) -> int:
    from papers.pep.reads import STUDIES

    if arguments.study == "timing":
        return _timing(arguments)
    return _told(STUDIES[f"pep/{arguments.study}.csv"](Path(arguments.records), arguments.mirror))


def _told(changes: Mapping[str, object]) -> int:
    for file, change in changes.items():
        print(f"{file}: {change}")
    return 0


LISTED: tuple[Literal["set", "row", "task", "rows", "features", "present"], ...] = (
    "set",
    "row",
    "task",
    "rows",
    "features",
    "present",
)
"""What a terminal's line has room for; `--json` has all."""


def _datasets(arguments: argparse.Namespace) -> int:
    from papers.data import table_of_datasets

    rows = table_of_datasets()
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    for row in rows:
        row["task"] = row["task"].partition(" (")[0]  # its name has the paper
    shown = [{name: row[name] for name in LISTED} for row in rows]
    lines = [LISTED, *(tuple(map(str, row.values())) for row in shown)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from papers import configuration, plan
    from papers.evidence import files, resources

    if not Path(arguments.config).is_file():
        where = "go to a checkout of the repository, or name a configuration (--config)"
        raise ValueError(f"no file {arguments.config} here: {where}")
    config = files.read_yaml(arguments.config)
    try:
        asked = configuration.asked(config)
    except ValueError as error:
        raise ValueError(f"{arguments.config}: {error}") from error
    seen = resources.read("benchmarks/resources.csv")
    folders = ["results"] if config.get("keep_records") else [config["results"], "results"]
    every = plan.costs(asked.jobs.values(), folders, seen)

    def left(asked: configuration.Asked) -> dict[str, plan.Cost]:
        jobs = [asked.left(path) for path in asked.jobs if path not in asked.reused]
        narrower = plan.costs([job for job in jobs if job is not asked.jobs[job.path]], folders, seen)
        return {cost.path: cost for cost in [*every, *narrower] if cost.path not in asked.reused}

    print("\n".join(plan.lines(every, left(asked))), flush=True)
    if config.get("keep_records") and not config.get("reuse"):
        print(plan.rest(left(configuration.asked({**config, "reuse": True})).values()))
    return 0


def _records(arguments: argparse.Namespace) -> int:
    from papers.evidence import records

    below = Path(arguments.fits).parent
    folders = [Path(arguments.fits), *(below / name for name in ("truth", "nearer", "lookup"))]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.jsonl.gz"))]
    changes = records.collect(paths, arguments.records)
    if not changes:
        raise ValueError(
            f"no fit records (*.jsonl.gz) in {arguments.fits}; `make paper` makes them, --fits names a folder"
        )
    return _told(changes)


def _tables(arguments: argparse.Namespace) -> int:
    from papers import captions, configuration, make
    from papers.qp import differences

    configuration.require_apart(arguments.records, tables=arguments.tables, figures=arguments.figures)
    loud = make.write_all(arguments.records, arguments.tables, arguments.figures, arguments.published)
    if configuration.are_committed(arguments.records):
        pages = [Path(arguments.tables, f"differences.{kind}") for kind in ("csv", "md")]
        differences.write_all(arguments.records, *pages)
    captions.write(Path(arguments.tables), Path(arguments.figures))
    for line in loud:
        print(f"tilted: {line}", file=sys.stderr)
    print(f"Tables: {arguments.tables}, figures: {arguments.figures}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from papers.evidence import records, verify

    columns = {"protocol": arguments.protocols, "dataset": arguments.datasets, "method": arguments.methods}
    selection = verify.Selection(
        wanted={column: values for column, values in columns.items() if values},
        fits=None if arguments.all else arguments.fits,
        seed=arguments.seed,
        lacking=arguments.lacking,
    )
    studies = records.studies(arguments.papers or PAPERS)
    made = verify.verify(studies, arguments.records, selection, arguments.mirror, arguments.jobs)
    print("\n".join(verify.summary_lines(made)))
    return 1 if made.missing or made.differences else 0


def _check(arguments: argparse.Namespace) -> int:
    from papers.evidence import records

    names = records.sums(arguments.records)
    if not names:
        raise ValueError(f"no {records.SUMS} in {arguments.records}: nothing to compare with")
    wrong = records.damaged(arguments.records)
    for line in wrong:
        print(f"tilted: {line}", file=sys.stderr)
    if not wrong:
        rows = sum(len(records.load(study, arguments.records)) for study in records.studies())
        print(f"{len(names)} files, {rows} rows: intact")
    return 1 if wrong else 0


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    from papers.reproduce import names

    print(shtab.complete(parser([*names.known()]), arguments.shell))
    return 0


def _tell(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


RUN: dict[str, Callable[[argparse.Namespace], int]] = {
    "reproduce": _reproduce,
    "compare": _compare,
    "verify": _verify,
    "check": _check,
    "fit": _fit,
    "datasets": _datasets,
    "tables": _tables,
    "plan": _plan,
    "records": _records,
    "study": _study,
    "completion": _completion,
}
"""Verb -> what it runs."""

if __name__ == "__main__":
    sys.exit(main())
