"""Arguments of the command `tilted`: its verbs, grouped by what a person wants."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from papers import PAPERS

STUDIES = {
    "limits": "compare Power EP's limits with FITC and VFE",
    "dense": "compare sparse EP at M = N with dense EP (ionosphere)",
    "banana": "where pseudo-points go on a made-up set",
}
"""Small studies of Power EP: their command and what it does."""


class Verb(NamedTuple):
    """What a verb does, an example of its arguments, and what adds these to a parser."""

    described: str
    example: str
    add: Callable[[argparse.ArgumentParser], None]


def parser(names: Iterable[str] | None = None) -> argparse.ArgumentParser:
    """Of the whole command; the verb is ``verb``. With names that `reproduce` takes it is that of a shell."""
    from tilted import __version__

    raw = argparse.RawDescriptionHelpFormatter
    whole = argparse.ArgumentParser("tilted", "tilted COMMAND ...", _grouped(), formatter_class=raw)
    whole.add_argument("--version", action="version", version=f"tilted {__version__}")
    listed = (
        argparse.SUPPRESS if names is None else ""
    )  # `_grouped` lists the verbs; a shell is told them all
    commands = whole.add_subparsers(required=True, dest="verb", metavar="COMMAND", prog="tilted", help=listed)
    for name, (said, example, add) in ((name, verb) for of in VERBS.values() for name, verb in of.items()):
        text, shown = f"{said[0].upper()}{said[1:]}.", f"example: tilted {name} {example}".rstrip()
        own = commands.add_parser(name, help=said, description=text, epilog=shown)
        if add is _add_reproduce:
            _add_reproduce(own, names)
        else:
            add(own)
    return whole


def _grouped() -> str:
    lines = ["commands, by what you want (COMMAND --help says more):"]
    for want, verbs in VERBS.items():
        lines += ["", want, *(f"  {name:10} {verb.described}" for name, verb in verbs.items())]
    return "\n".join(lines)


def _at_least(least: int) -> Callable[[str], int]:
    """Reads a whole number that is not below another: Python would count from the end, or take every core."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return int(text)

    return number


def _character(text: str) -> str:
    r"""Read one character, a tab also as ``\t``."""
    one = "\t" if text == r"\t" else text
    if len(one) != 1:
        raise argparse.ArgumentTypeError(rf"{text!r} is not one character or \t")
    return one


def _add_completion(completion: argparse.ArgumentParser) -> None:
    completion.add_argument("shell", choices=("bash", "zsh", "tcsh"), help='eval "$(tilted completion bash)"')


def _add_reproduce(parser: argparse.ArgumentParser, known: Iterable[str] | None = None) -> None:
    described = "PEP5, REP-figure4, Table1:Glass, qp, all"
    parser.add_argument("names", nargs="*", metavar="NAME", help=described, choices=known)
    parser.add_argument("--list", action="store_true", help="print every name")
    parser.add_argument("--dry-run", action="store_true", help="only say what is needed")
    parser.add_argument("--fresh", action="store_true", help="repeat every row instead of a sample")
    parser.add_argument("--seed", type=_at_least(0), default=0, help="of what is drawn (%(default)s)")
    parser.add_argument("--cores", type=_at_least(1), default=os.cpu_count() or 1, help="(%(default)s)")
    parser.add_argument("--output", default="reproduced", help="folder of runs and receipts (%(default)s)")
    parser.add_argument("--mirror", help="folder or base URL tried first for raw data")
    parser.add_argument("--json", action="store_true", help="print the receipt as JSON, all else to stderr")


def _add_compare(compare: argparse.ArgumentParser) -> None:
    compare.add_argument("--data", required=True, help="a CSV with a header, or a YAML block")
    compare.add_argument("--target", metavar="COLUMN", help="the column to predict")
    compare.add_argument(
        "--task", choices=("classification", "counts", "regression"), help="default: by the target's values"
    )
    compare.add_argument("--delimiter", type=_character, help=r"of a CSV (,); or \t")
    compare.add_argument("--decimal", type=_character, help="decimal mark of numbers (.)")
    compare.add_argument("--thousands", type=_character, help="mark between thousands (none)")
    for name, metavar, effect in (
        ("missing", "MARKER", "leave out rows with one of these (`--missing ''` for empty cells)"),
        ("drop", "COLUMN", "leave out columns"),
        ("one-hot", "COLUMN", "a feature for each word of these columns"),
        ("methods", "METHOD", "ep qp vb pep rep gp; default: all that fit but rep"),
    ):
        compare.add_argument(
            f"--{name}", nargs="+", action="extend", default=[], metavar=metavar, help=effect
        )
    compare.add_argument("--group", metavar="COLUMN", help="keep rows with one value of it in one fold")
    compare.add_argument("--rows", type=_at_least(1), help="compare on a sample of so many, drawn by --seed")
    compare.add_argument("--ard", action="store_true", help="a lengthscale for each feature")
    compare.add_argument("--margin", type=float, default=0.01, help="nats that matter (%(default)s)")
    compare.add_argument(
        "--iterations", type=_at_least(0), default=300, help="of the exact sampler; 0: none (%(default)s)"
    )
    compare.add_argument("--seed", type=_at_least(0), default=0, help="of folds and rows (%(default)s)")
    compare.add_argument("--cores", type=_at_least(1), default=os.cpu_count() or 1, help="(%(default)s)")
    compare.add_argument("--output", default="compared", help="folder of pages (%(default)s)")
    compare.add_argument("--json", action="store_true", help="print the numbers, all else to stderr")


def _add_datasets(datasets: argparse.ArgumentParser) -> None:
    datasets.add_argument("--json", action="store_true", help="print as JSON, licences and sources too")


def _add_plan(plan: argparse.ArgumentParser) -> None:
    plan.add_argument("--config", default="config/paper.yaml", help="(%(default)s)")


def _add_folding(records: argparse.ArgumentParser) -> None:
    records.add_argument("--fits", default="data/fits", help="folder of all files of fits (%(default)s)")
    _add_records(records)


def _add_studies(parser: argparse.ArgumentParser) -> None:
    studies = parser.add_subparsers(required=True, metavar="STUDY")
    _add_timing(studies.add_parser("timing", help="time EP's and QP's inference at equal hyperparameters"))
    for name, described in STUDIES.items():
        said = f"{described[0].upper()}{described[1:]}: writes its record anew, in the folder of records."
        study = studies.add_parser(name, help=described, description=said)
        _add_records(study)
        _add_mirror(study)
        study.set_defaults(study=name)


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


def _add_timing(timing: argparse.ArgumentParser) -> None:
    for name, default in (("datasets", "every classification data set"), ("protocols", "as-released")):
        timing.add_argument(f"--{name}", nargs="+", action="extend", help=f"default: {default}")
    timing.add_argument("--seeds", type=int, default=3, help="fold 0 of seeds 0, 1, ... (%(default)s)")
    timing.add_argument("--repeats", type=int, default=3, help="a time is the best of these (%(default)s)")
    _add_mirror(timing)
    _add_records(timing)
    timing.set_defaults(study="timing")


def _add_tables(tables: argparse.ArgumentParser) -> None:
    _add_records(tables)
    tables.add_argument("--tables", default="tables", help="where tables go (%(default)s)")
    tables.add_argument("--figures", default="figures", help="where figures go (%(default)s)")
    tables.add_argument(
        "--published", default="data/published", help="folder of what was printed (%(default)s)"
    )


def _add_verify(verify: argparse.ArgumentParser) -> None:
    from papers.evidence.verify import FITS

    _add_records(verify)
    verify.add_argument("--papers", nargs="+", action="extend", choices=PAPERS, help="default: all")
    for name in ("protocols", "datasets", "methods"):
        verify.add_argument(
            f"--{name}", nargs="+", action="extend", help="of studies that have some; default: every one"
        )
    number = verify.add_mutually_exclusive_group()
    number.add_argument(
        "--fits", type=_at_least(1), default=FITS, help="of each group and outcome (%(default)s)"
    )
    number.add_argument("--all", action="store_true", help="every fit")
    verify.add_argument("--seed", type=_at_least(0), default=0, help="of the draw (%(default)s)")
    verify.add_argument("--lacking", action="store_true", help="only groups of which too few were repeated")
    verify.add_argument("--jobs", type=_at_least(1), default=1, help="processes (%(default)s)")
    _add_mirror(verify)


VERBS = {
    "is it true?": {
        "reproduce": Verb(
            "make a claim, figure, table or paper again, with a receipt", "PEP5", _add_reproduce
        ),
        "verify": Verb(
            "make a sample of the records again and compare", "--papers pesc --fits 5", _add_verify
        ),
        "check": Verb("compare the records with their check sums and runs", "", _add_records),
    },
    "your own data": {
        "compare": Verb("say which method suits your own table", "--data mine.csv --target y", _add_compare),
    },
    "one fit, one data set": {
        "fit": Verb(
            "fit and test one fold of one data set of the QP paper", "--dataset wine12 --method qp", _add_fit
        ),
        "datasets": Verb("list the data sets of all papers", "", _add_datasets),
    },
    "what was found": {
        "tables": Verb("write every table and figure from the records", "", _add_tables),
    },
    "run the papers (with make or Snakemake) and keep what they make": {
        "plan": Verb("say what a configuration would cost", "--config config/preview.yaml", _add_plan),
        "records": Verb("fold new fits into the committed records", "--fits data/fits", _add_folding),
        "study": Verb("make a small study that no job of the workflow makes", "dense", _add_studies),
    },
    "your shell": {
        "completion": Verb(
            "print a script that completes words of `tilted` in a shell", "bash", _add_completion
        ),
    },
}
"""What a person wants -> verbs."""
