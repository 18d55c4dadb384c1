"""Command line: one cell, times, data sets; records of the full runs, their tables and verification.

tilted fit --dataset wine12 --protocol as-released --seed 0 --fold 3 --method ep --json
tilted timing --seeds 3
tilted limits
tilted dense
tilted banana
tilted datasets
tilted plan
tilted records
tilted tables
tilted report
tilted verify --datasets wine13
tilted check
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from papers.evidence.study import Study

USER_ERRORS = (ValueError, OSError)
PAPERS = ("qp", "pep", "rep", "pesc")
QUOTING = ("differences", "fidelity", "pep", "results", "table1", "vb-column", "which-method")
DOCUMENTS = ("README.md", *(f"docs/{name}.md" for name in QUOTING))
"""They quote tables and numbers."""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 if a fit failed or a check did not pass, 2 on bad input."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may have no ±
    try:
        return arguments.run(arguments)
    except USER_ERRORS as error:
        print(f"tilted: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    from tilted import __version__

    parser = argparse.ArgumentParser(prog="tilted", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"tilted {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_fit(commands.add_parser("fit", help="fit and test one fold of one data set"))
    _add_timing(commands.add_parser("timing", help="time EP's and QP's inference at equal hyperparameters"))
    for name, described in STUDIES.items():
        study = commands.add_parser(name, help=described)
        _add_records(study)
        _add_mirror(study)
        study.set_defaults(run=_study, study=name)
    datasets = commands.add_parser("datasets", help="list the data sets")
    datasets.add_argument("--json", action="store_true", help="print as JSON")
    datasets.set_defaults(run=_datasets)
    plan = commands.add_parser("plan", help="what a configuration would cost: jobs, core-hours, memory, disk")
    plan.add_argument("--config", default="config/paper.yaml", help="(%(default)s)")
    plan.set_defaults(run=_plan)
    records = commands.add_parser("records", help="fold new fits into the committed records")
    records.add_argument("--fits", default="data/fits", help="folder of all files of fits (%(default)s)")
    _add_records(records)
    records.set_defaults(run=_records)
    _add_tables(commands.add_parser("tables", help="every table and figure from the records"))
    report = commands.add_parser("report", help="one HTML page of the committed tables, figures and verdicts")
    report.add_argument("--output", default="report/tilted.html", help="(%(default)s)")
    report.set_defaults(run=_report)
    _add_verify(commands.add_parser("verify", help="make a sample of the records again and compare"))
    check = commands.add_parser("check", help="compare the records with their check sums and runs")
    _add_records(check)
    check.set_defaults(run=_check)
    return parser


def _add_records(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--records", default="results", help="folder of all records (%(default)s)")


def _add_mirror(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--mirror", help="folder or base URL tried first for raw data")


def _add_fit(fit: argparse.ArgumentParser) -> None:
    from papers.qp import protocols

    fit.add_argument("--dataset", required=True, help="a name from `tilted datasets`")
    fit.add_argument("--protocol", default="as-released", help=", ".join(protocols.names()))
    fit.add_argument("--seed", type=int, default=0, help="seed index 0, 1, ...")
    fit.add_argument("--fold", type=int, default=0, help="fold index (counts: 0 only)")
    fit.add_argument("--method", default="ep", help="ep, ep-tune, qp, vb, vb-joint, ... by protocol")
    fit.add_argument(
        "--hyperparameters",
        metavar="variance=V,lengthscale=L",
        help="fix them and only infer; ARD lengthscales separated by ':'",
    )
    _add_mirror(fit)
    fit.add_argument("--json", action="store_true", help="print the whole record as JSON")
    fit.set_defaults(run=_fit)


def _add_timing(timing: argparse.ArgumentParser) -> None:
    timing.add_argument("--datasets", nargs="+", help="default: every classification data set")
    timing.add_argument("--protocols", nargs="+", default=["as-released"], help="default: as-released")
    timing.add_argument("--seeds", type=int, default=3, help="fold 0 of seeds 0, 1, ... (%(default)s)")
    timing.add_argument("--repeats", type=int, default=3, help="a time is the best of these (%(default)s)")
    _add_mirror(timing)
    _add_records(timing)
    timing.set_defaults(run=_timing)


def _add_tables(tables: argparse.ArgumentParser) -> None:
    _add_records(tables)
    tables.add_argument("--tables", default="tables", help="where tables go (%(default)s)")
    tables.add_argument("--figures", default="figures", help="where figures go (%(default)s)")
    tables.add_argument(
        "--published", default="data/published", help="folder of what was printed (%(default)s)"
    )
    tables.add_argument("--documents", action="store_true", help="bring README.md and docs/ up to date too")
    tables.set_defaults(run=_tables)


def _add_verify(verify: argparse.ArgumentParser) -> None:
    from papers.evidence.verify import FITS, SCRATCHES

    _add_records(verify)
    verify.add_argument("--papers", nargs="+", choices=PAPERS, default=PAPERS, help="default: all")
    for name in ("protocols", "datasets", "methods"):
        verify.add_argument(f"--{name}", nargs="+", help="of studies that have some; default: every one")
    number = verify.add_mutually_exclusive_group()
    number.add_argument("--fits", type=int, default=FITS, help="of each group and outcome (%(default)s)")
    number.add_argument("--all", action="store_true", help="every fit")
    verify.add_argument(
        "--from-scratch",
        type=int,
        default=SCRATCHES,
        metavar="N",
        help="fits of each group whose whole search is repeated too (%(default)s)",
    )
    verify.add_argument("--seed", type=int, default=0, help="of the draw (%(default)s)")
    verify.add_argument("--new", action="store_true", help="only what was not verified at this commit")
    verify.add_argument("--jobs", type=int, default=1, help="processes (%(default)s)")
    _add_mirror(verify)
    verify.set_defaults(run=_verify)


def _fit(arguments: argparse.Namespace) -> int:
    from papers.qp import cell

    fixed = cell.hyperparameters(arguments.hyperparameters) if arguments.hyperparameters else None
    where = arguments.dataset, arguments.protocol, arguments.seed, arguments.fold
    record = cell.fitted(*where, arguments.method, fixed, arguments.mirror)
    print(json.dumps(record, allow_nan=False) if arguments.json else cell.summary(record))
    return 0 if record["log_evidence"] is not None else 1


def _timing(arguments: argparse.Namespace) -> int:
    from papers.evidence import records
    from papers.qp import timing
    from papers.qp.records import TIMING

    chosen = arguments.datasets, arguments.protocols, arguments.seeds, arguments.repeats
    lines = list(timing.timed(*chosen, mirror=arguments.mirror, tell=_tell))
    return _told(records.put(arguments.records, {TIMING: lines}, keep=False))


STUDIES = {
    "limits": "compare Power EP's limits with FITC and VFE",
    "dense": "compare sparse EP at M = N with dense EP (ionosphere)",
    "banana": "where pseudo-points go on a made-up set",
}
"""Small studies of Power EP: their command and what it does."""


def _study(arguments: argparse.Namespace) -> int:
    from papers.pep import banana, dense, limits

    folder = Path(arguments.records)
    if arguments.study == "dense":
        return _told(dense.make(folder, arguments.mirror))
    return _told({"limits": limits, "banana": banana}[arguments.study].make(folder))


def _told(changes: Mapping[str, object]) -> int:
    for file, change in changes.items():
        print(f"{file}: {change}")
    return 0


def _datasets(arguments: argparse.Namespace) -> int:
    from papers.data import table_of_datasets

    rows = table_of_datasets()
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    lines = [tuple(rows[0]), *(tuple(map(str, row.values())) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _plan(arguments: argparse.Namespace) -> int:
    from papers import configuration, plan, resources

    config = configuration.read(arguments.config)
    jobs = configuration.asked(config).jobs.values()
    seen = resources.read("benchmarks/resources.csv")
    print("\n".join(plan.lines(plan.costs(jobs, config["results"], seen))))
    return 0


def _records(arguments: argparse.Namespace) -> int:
    from papers import configuration
    from papers.evidence import jobs

    changes: dict[str, object] = {}
    for record in configuration.records({}):
        folders = [Path(arguments.fits, folder) for folder in record.folders]
        paths = [str(path) for folder in folders for path in sorted(folder.rglob("*.jsonl.gz"))]
        if paths:
            changes |= jobs.named(record.function)(paths, arguments.records, **record.parameters)
    if not changes:
        raise ValueError(
            f"no fit records (*.jsonl.gz) in {arguments.fits}; `make paper` makes them, --fits names a folder"
        )
    return _told(changes)


def _tables(arguments: argparse.Namespace) -> int:
    from papers import make
    from papers.evidence import excerpt
    from papers.qp import differences

    loud = make.write_all(arguments.records, arguments.tables, arguments.figures, arguments.published)
    if arguments.documents:
        table = Path(arguments.tables, "differences.csv")
        differences.write_all(arguments.records, table, "docs/differences.md")
        for document in DOCUMENTS:
            excerpt.refresh(document, arguments.tables, arguments.records)
    for line in loud:
        print(f"tilted: {line}", file=sys.stderr)
    print(f"Tables: {arguments.tables}, figures: {arguments.figures}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from papers.report import whole

    print(f"Report: {whole.write(arguments.output).resolve()}")
    return 0


def _studies(papers: Iterable[str] = PAPERS) -> list[Study]:
    """Every study of some papers."""
    from papers.evidence import jobs

    return [study for paper in papers for study in jobs.named(f"papers.{paper}.records:STUDIES")]


def _verify(arguments: argparse.Namespace) -> int:
    from papers.evidence import verify
    from papers.evidence.verified import DIFFERS

    columns = {"protocol": arguments.protocols, "dataset": arguments.datasets, "method": arguments.methods}
    selection = verify.Selection(
        wanted={column: values for column, values in columns.items() if values},
        fits=None if arguments.all else arguments.fits,
        scratches=arguments.from_scratch,
        seed=arguments.seed,
        new=arguments.new,
    )
    studies = _studies(arguments.papers)
    made = verify.verify(studies, arguments.records, selection, arguments.mirror, arguments.jobs, _tell)
    print("\n".join(verify.summary_lines(made)))
    return 1 if made.missing or any(check.passed == DIFFERS for check in made.checks) else 0


def _check(arguments: argparse.Namespace) -> int:
    from papers.evidence import records

    names = records.sums(arguments.records)
    if not names:
        raise ValueError(f"no {records.SUMS} in {arguments.records}: nothing to compare with")
    wrong = records.wrong(arguments.records, _studies())
    for line in wrong:
        print(f"tilted: {line}", file=sys.stderr)
    if wrong:
        return 1
    lines = sum(len(records.load(study, arguments.records)) for study in _studies())
    print(f"{len(names)} files, {lines} lines: intact")
    return 0


def _tell(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
