"""Command line: one cell, times, data sets; records of the full runs, their tables and verification.

python -m tilted fit --dataset wine12 --protocol as-released --seed 0 --fold 3 --method ep --json
python -m tilted timing --seeds 3
python -m tilted limits
python -m tilted dense
python -m tilted banana
python -m tilted datasets
python -m tilted records
python -m tilted tables
python -m tilted report
python -m tilted verify --datasets wine13 --from-scratch
python -m tilted verify-pep
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tilted.kernels.squared_exponential import SquaredExponential

USER_ERRORS = (ValueError, OSError)
DOCUMENTS = ("README.md", "docs/fidelity.md", "docs/results.md", "docs/which-method.md")  # quote tables


def main(argv: list[str] | None = None) -> int:
    """Run the command line; 0 on success, 1 if a fit failed, 2 on bad input."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal may have no ±
    try:
        return arguments.run(arguments)
    except USER_ERRORS as error:
        print(f"tilted: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    from tilted import __version__, protocols

    parser = argparse.ArgumentParser(prog="tilted", description=__doc__.splitlines()[0])
    parser.add_argument("--version", action="version", version=f"tilted {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    fit = commands.add_parser("fit", help="fit and test one fold of one data set")
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
    fit.add_argument("--mirror", help="folder or base URL tried first for raw data")
    fit.add_argument("--json", action="store_true", help="print the whole record as JSON")
    fit.set_defaults(run=_fit)

    timing = commands.add_parser("timing", help="time EP's and QP's inference at equal hyperparameters")
    timing.add_argument("--datasets", nargs="+", help="default: every classification data set")
    timing.add_argument("--protocols", nargs="+", default=["as-released"], help="default: as-released")
    timing.add_argument("--seeds", type=int, default=3, help="fold 0 of seeds 0, 1, ... (%(default)s)")
    timing.add_argument("--repeats", type=int, default=3, help="a time is the best of these (%(default)s)")
    timing.add_argument("--mirror", help="folder or base URL tried first for raw data")
    timing.add_argument("--output", default="results/qp/timing.csv", help="(%(default)s)")
    timing.set_defaults(run=_timing)

    limits = commands.add_parser("limits", help="compare Power EP's limits with FITC and VFE")
    limits.add_argument("--output", default="results/pep/limits.csv", help="(%(default)s)")
    limits.set_defaults(run=_limits)

    dense = commands.add_parser("dense", help="compare sparse EP at M = N with dense EP (ionosphere)")
    dense.add_argument("--output", default="results/pep/dense.csv", help="(%(default)s)")
    dense.add_argument("--mirror", help="folder or base URL tried first for raw data")
    dense.set_defaults(run=_dense)

    banana = commands.add_parser("banana", help="where pseudo-points go on a made-up set")
    banana.add_argument("--output", default="results/pep", help="folder (%(default)s)")
    banana.set_defaults(run=_banana)

    datasets = commands.add_parser("datasets", help="list the data sets")
    datasets.add_argument("--json", action="store_true", help="print as JSON")
    datasets.set_defaults(run=_datasets)

    records = commands.add_parser("records", help="fold new fits into the committed compact records")
    records.add_argument(
        "--fits", default="data/fits/qp", help="folder of fit records, Power EP's beside it (%(default)s)"
    )
    records.add_argument("--records", default="results/qp", help="folder of compact records (%(default)s)")
    records.add_argument("--pep", default="results/pep", help="the same of Power EP (%(default)s)")
    records.set_defaults(run=_records)

    tables = commands.add_parser("tables", help="every table and figure from the compact records")
    tables.add_argument("--records", default="results/qp", help="folder of compact records (%(default)s)")
    tables.add_argument("--pep", default="results/pep", help="the same of Power EP (%(default)s)")
    tables.add_argument("--rep", default="results/rep", help="of relaxed EP, PESC's beside it (%(default)s)")
    tables.add_argument("--tables", default="tables", help="where tables go (%(default)s)")
    tables.add_argument("--figures", default="figures", help="where figures go (%(default)s)")
    tables.add_argument("--published", default="data/published/qp_table1.csv", help="(%(default)s)")
    tables.add_argument("--documents", action="store_true", help="bring README.md and docs/ up to date too")
    tables.set_defaults(run=_tables)

    report = commands.add_parser("report", help="one HTML page of the committed tables, figures and verdicts")
    report.add_argument("--output", default="report/tilted.html", help="(%(default)s)")
    report.set_defaults(run=_report)
    _add_verify(commands)
    return parser


def _add_verify(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verify = commands.add_parser("verify", help="rerun a sample of the compact records and compare")
    verify.add_argument("--records", default="results/qp", help="folder of compact records (%(default)s)")
    verify.add_argument("--output", help="what was found (verified.csv in the folder of records)")
    for name in ("protocols", "datasets", "methods"):
        verify.add_argument(f"--{name}", nargs="+", help="default: every one there are records of")
    number = verify.add_mutually_exclusive_group()
    number.add_argument("--folds", type=int, help="of each outcome of a protocol, data set and method (30)")
    number.add_argument("--all", action="store_true", help="every fold")
    verify.add_argument("--seed", type=int, default=0, help="of the draw (%(default)s)")
    verify.add_argument("--from-scratch", action="store_true", help="repeat the whole search too")
    verify.add_argument("--mirror", help="folder or base URL tried first for raw data")
    verify.set_defaults(run=_verify)

    again = commands.add_parser("verify-pep", help="the same of Power EP's regressions")
    again.add_argument("--records", default="results/pep", help="folder of compact records (%(default)s)")
    again.add_argument("--fits", type=int, default=1, help="of each data set and power (%(default)s)")
    again.add_argument("--seed", type=int, default=0, help="of the draw (%(default)s)")
    again.add_argument("--mirror", help="folder or base URL tried first for raw data")
    again.set_defaults(run=_verify_pep)


def parse_hyperparameters(text: str) -> SquaredExponential:
    """Kernel from ``variance=V,lengthscale=L`` (ARD: ``lengthscale=L1:L2:...``).

    Raises
    ------
    ValueError
        If a name is unknown or missing, or a value is not a positive number.
    """
    from tilted.kernels.squared_exponential import SquaredExponential

    given = {}
    for item in text.split(","):
        name, _, value = item.partition("=")
        if name not in ("variance", "lengthscale") or name in given:
            raise ValueError(f"--hyperparameters takes variance=V,lengthscale=L, got '{text}'")
        try:
            given[name] = tuple(float(v) for v in value.split(":"))
        except ValueError:
            raise ValueError(f"{name} must be a number, got '{value}'") from None
    if len(given) != 2 or len(given["variance"]) != 1:
        raise ValueError(f"--hyperparameters needs one variance and a lengthscale, got '{text}'")
    scales = given["lengthscale"]
    return SquaredExponential(given["variance"][0], scales if len(scales) > 1 else scales[0])


def _fit(arguments: argparse.Namespace) -> int:
    from tilted import data, protocols
    from tilted.experiments import qp

    fixed = parse_hyperparameters(arguments.hyperparameters) if arguments.hyperparameters else None
    if arguments.dataset not in data.names():
        raise ValueError(f"unknown data set '{arguments.dataset}'; known: {', '.join(data.names())}")
    task = qp.task_of(arguments.dataset)
    block = protocols.block(arguments.protocol, task)
    spec = protocols.method(arguments.protocol, task, arguments.method)
    dataset = data.load(arguments.dataset, block["variant"], mirror=arguments.mirror)

    def recorded(name: str, start: dict[str, Any] | None = None) -> dict[str, Any]:
        """The record called ``name`` (a first tuning comes with its job's records)."""
        job = protocols.job_of(block["methods"], name)
        assert job is not None, "methods start from others of their protocol"
        records = qp.run_cell(dataset, arguments.protocol, job, arguments.seed, arguments.fold, start, fixed)
        named = [record for record in records if record["method"] == name]
        return named[0] if named else {**records[-1], "method": name}

    start = recorded(spec["start"]) if fixed is None and "start" in spec else None
    record = recorded(arguments.method, start)
    if arguments.json:
        print(json.dumps(record, allow_nan=False))
    else:
        print(_summary(record))
    return 0 if record["log_evidence"] is not None else 1


def _summary(record: dict[str, Any]) -> str:
    lines = [
        f"{record['dataset']} {record['protocol']} seed {record['seed']} fold {record['fold']} "
        f"{record['method']}: {record['n_train']} training, {record['n_test']} test points"
    ]
    if record["log_evidence"] is not None:
        lines += [
            f"  log evidence      {record['log_evidence']:.6f}",
            f"  hyperparameters   {record['hyperparameters']}",
            f"  test error        {record['test_error']:.4f}",
            f"  NTLL              {record['ntll']:.6f} nats a point",
        ]
    status = record["status"]
    lines += [
        f"  converged         {status['converged']} ({status['evaluations']} evaluations, "
        f"{status['sweeps']} sweeps)",
        f"  message           {status['message']}",
        f"  seconds           {record['seconds']:.2f}",
    ]
    return "\n".join(lines)


def _timing(arguments: argparse.Namespace) -> int:
    from tilted.results import timing

    chosen = arguments.datasets, arguments.protocols, arguments.seeds, arguments.repeats
    print(timing.record(arguments.output, *chosen, mirror=arguments.mirror, tell=_tell))
    return 0


def _limits(arguments: argparse.Namespace) -> int:
    from tilted.results.pep import limits

    print(f"Limits of Power EP: {limits.record(arguments.output)}")
    return 0


def _dense(arguments: argparse.Namespace) -> int:
    from tilted.results.pep import dense

    print(f"Sparse and dense EP: {dense.record(arguments.output, arguments.mirror)}")
    return 0


def _banana(arguments: argparse.Namespace) -> int:
    from tilted.results.pep import pseudo_points

    for path in pseudo_points.record(arguments.output):
        print(f"Pseudo-points: {path}")
    return 0


def _datasets(arguments: argparse.Namespace) -> int:
    from tilted.data import classification, mnist, regression, relaxed, table_of_datasets

    rows = table_of_datasets() + regression.table_of_regression_sets()
    rows += classification.table_of_classification_sets() + relaxed.table_of_relaxed_sets() + mnist.table()
    if arguments.json:
        print(json.dumps(rows, indent=1))
        return 0
    lines = [tuple(rows[0]), *(tuple(map(str, row.values())) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    return 0


def _records(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from tilted import protocols
    from tilted.results import merge
    from tilted.results.pep import records

    everything = Path(arguments.fits).rglob("*.jsonl.gz")
    # derived protocols have a record of their own (rule differences)
    paths = [p for p in everything if protocols.PLUS not in str(p.relative_to(arguments.fits))]
    changes = records.fold_all(Path(arguments.fits).parent, arguments.pep)
    for name, change in changes.items():
        print(f"{Path(arguments.pep, name)}: {change}")
    if not paths and not changes:
        raise ValueError(
            f"no fit records (*.jsonl.gz) in {arguments.fits}; `make paper` makes them, --fits names a folder"
        )
    if paths:
        print(f"{arguments.records}: {merge.fold_in(paths, arguments.records)}")
    return 0


def _tables(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from tilted.results import artifacts, differences_document, excerpt

    folders = arguments.records, arguments.tables, arguments.figures, arguments.published
    papers = None, arguments.pep, arguments.rep, Path(arguments.rep).with_name("pesc")
    outdated = artifacts.write_all(*folders, *papers)
    if arguments.documents:
        differences_document.write_all(folders[0], f"{folders[1]}/differences.csv", "docs/differences.md")
        for document in DOCUMENTS:
            excerpt.refresh(document, arguments.tables)
    for line in outdated:
        print(f"tilted: {line}", file=sys.stderr)
    print(f"Tables: {arguments.tables}, figures: {arguments.figures}")
    return 0


def _report(arguments: argparse.Namespace) -> int:
    from tilted.results import whole

    print(f"Report: {whole.write(arguments.output).resolve()}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from pathlib import Path

    from tilted.experiments.truth import PROTOCOL
    from tilted.results import truth, truth_check, verify

    chosen = {name: getattr(arguments, name) for name in ("protocols", "datasets", "methods", "seed")}
    folds = None if arguments.all else verify.FOLDS if arguments.folds is None else arguments.folds
    selection = verify.Selection(**chosen, folds=folds, scratch=arguments.from_scratch)
    found = verify.verify(
        arguments.records,
        selection,
        mirror=arguments.mirror,
        tell=_tell,
        output=arguments.output,
    )
    sampled = truth.load(sorted(Path(arguments.records, "truth").glob("*.json.gz")))
    kept = Path(arguments.output or Path(arguments.records, "verified.csv")).with_name(truth_check.FILE)
    wanted = PROTOCOL in (arguments.protocols or [PROTOCOL])
    checks = truth_check.verify(sampled, kept, arguments.datasets, arguments.mirror, _tell) if wanted else []
    print("\n".join(verify.summary_lines(found)))
    return 1 if found.differing or found.missing or not all(c.passed for c in checks) else 0


def _verify_pep(arguments: argparse.Namespace) -> int:
    from tilted.results.pep import rerun

    found = rerun.verify(arguments.records, arguments.fits, arguments.seed, arguments.mirror, _tell)
    print("\n".join(rerun.summary_lines(found)))
    return 0 if all(check.passed for check in found) else 1


def _tell(line: str) -> None:
    print(f"  {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
