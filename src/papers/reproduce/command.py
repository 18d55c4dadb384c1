"""``tilted reproduce NAME...``: says what it needs, has it made, and ends with a receipt."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import claims, files, runs
from papers.evidence.records import read_runs, sums
from papers.evidence.runs import CHECKOUT
from papers.evidence.verdicts import TOO_FEW
from papers.reproduce import fits, names, needs, receipt, results, sample

if TYPE_CHECKING:
    import argparse

    from papers.reproduce.names import Target
    from papers.reproduce.needs import Needs
    from papers.reproduce.receipt import Receipt

LONGEST = 80
"""Letters of a folder's name that are those of its targets."""


def run(arguments: argparse.Namespace) -> int:
    """0 if everything passed, 1 if not."""
    options = [name for name in ("protocol", "fresh", "share", "dry_run") if getattr(arguments, name)]
    if options and not arguments.names:  # `--protocol converged PEP5` takes PEP5 for a protocol
        raise ValueError(
            f"--{options[0].replace('_', '-')} needs a name before it: tilted reproduce PEP5 ..."
        )
    if arguments.list or not arguments.names:
        print("\n".join(f"{name:20} {_title(of_name)}" for name, of_name in names.known().items()))
        return 0
    targets = names.find(arguments.names)
    fresh = arguments.fresh or arguments.share is not None
    if not sums(CHECKOUT / "results"):
        raise ValueError("results/ has no records, with which everything is compared: git restore results")
    lacking = _lacking(targets, arguments.protocol)
    share = 1.0 if arguments.share is None else arguments.share
    needed = needs.of(targets, CHECKOUT / "results", lacking, fresh, share, arguments.seed)
    _tell("\n".join([*_asked(targets), *needed.lines()]))
    if arguments.dry_run:
        return 0
    folder = _folder(arguments)
    theirs = [name for name in fits.OURS if os.path.lexists(folder / name)]
    if theirs and not (folder / ".lock").exists():
        raise ValueError(
            f"{folder}/{theirs[0]} is not of a run of this command, which would replace it: --output"
        )
    with files.alone(folder, wait=False):
        fits.begin(folder)
        receipts = reproduced(targets, needed, folder, arguments, fresh, share)
        paths = receipt.write(receipts, folder)
    if arguments.json:
        print(receipt.encoded(receipts), end="")
    else:
        width = shutil.get_terminal_size().columns
        print("\n\n".join("\n".join(one.terminal(width)) for one in receipts))
    _tell(f"Receipt: {paths[1]}, {paths[0]}")
    return 0 if all(one.passed for one in receipts) else 1


def _title(targets: Sequence[Target]) -> str:
    return targets[0].title if len(targets) == 1 else ", ".join(target.name for target in targets)


def _folder(arguments: argparse.Namespace) -> Path:
    """Of this run: one of its own for each set of names, and for what else it is asked to make."""
    usual = {"share": None, "sample": sample.LINES, "seed": 0}
    given = {word: getattr(arguments, word) for word in usual}
    others = [f"{word}={value}" for word, value in given.items() if value != usual[word]]
    others += ["fresh"] * (arguments.fresh and arguments.share is None) + sorted({*arguments.protocol})
    name = ",".join(["+".join(arguments.names), *others]).replace(":", "-").lower()
    if len(name) > LONGEST:  # a file system takes no longer one, and what is cut off would tell two apart
        name = f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:16]}"
    return Path(arguments.output, name)


def reproduced(
    targets: Sequence[Target],
    needed: Needs,
    folder: Path,
    arguments: argparse.Namespace,
    fresh: bool,
    share: float,
) -> list[Receipt]:
    """Have everything made in a folder, and compare; a receipt a target."""
    runs.commit()  # that of the code which runs, whatever is committed meanwhile
    place = fits.make(needed.jobs, folder, fresh, arguments.cores, arguments.profile, arguments.mirror)
    whole = fresh and share == 1.0
    gone = _remade(needed) if whole else []
    copy = fits.copied(CHECKOUT / "results", folder, gone)
    fits.fold(needed.jobs, place, copy)
    fits.study(needed.studies, copy, arguments.mirror)
    recorded = read_runs(CHECKOUT / "results")
    by = [run for name, run in read_runs(copy).items() if name not in recorded]
    sampled = None
    if not whole:
        frames = {study: frame for study, frame in needed.frames.items() if len(frame)}
        among = (frames, copy, arguments.sample, arguments.seed, arguments.mirror, arguments.cores)
        sampled = sample.made_again(*among, tell=lambda line: _tell(f"  {line}"))
    draw = {"seed": arguments.seed, "share": share if fresh else 0.0}
    refitted = bool(needed.jobs or needed.studies or (sampled and sampled.replaced))
    return [
        receipt.Receipt(
            target, needed, results.of(target, copy, folder, refitted), sampled, len(needed.jobs), draw, by
        )
        for target in targets
    ]


def _remade(needed: Needs) -> list[str]:
    """Files of the records that are made from nothing; variances come with fits of the QP paper."""
    made = [study.file for study in needed.frames]
    return [*made, *(["qp/variances.csv.gz"] if any(file.startswith("qp/") for file in made) else [])]


def _lacking(targets: Sequence[Target], protocols: Sequence[str]) -> dict[str, list[str]]:
    """Claim -> protocols, of those asked for, under which it was not judged for want of fits."""
    verdicts = results.committed_verdicts([x.name for x in targets if x.kind == names.CLAIM])
    judged = {protocol: None for found in verdicts.values() for protocol in found}
    for protocol in protocols:
        if protocol not in judged:
            raise ValueError(f"--protocol {protocol}: these are judged under {', '.join(judged) or 'none'}")
    return {
        name: [
            protocol for protocol, verdict in found.items() if verdict == TOO_FEW and protocol in protocols
        ]
        for name, found in verdicts.items()
    }


def _asked(targets: Sequence[Target]) -> list[str]:
    """What each target is, what coverage its rule asks for, and where that is not reached."""
    lines = []
    for target in targets:
        lines.append(f"{target.name}: {target.title}")
        if target.kind != names.CLAIM:
            continue
        for protocol, verdict in results.committed_verdicts([target.name])[target.name].items():
            asked = claims.load()[target.name].needs(protocol)
            text = ", ".join(f"{n} {name}" for name, n in asked.items()) or "nothing"
            lack = f"; --protocol {protocol} runs what is missing" if verdict == TOO_FEW else ""
            lines.append(f"  {protocol}: {verdict}; its rule asks for at least {text}{lack}")
    return lines


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
