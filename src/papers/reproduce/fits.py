"""Fits of a run: made by Snakemake, folded into the run's own copy of the records.

Missing fits land where ``make paper`` puts them (``data/fits``) and are there for the next run too. Repeated
ones (``fresh``) are made in a folder of their own, so that nothing there is taken for them, and one that was
interrupted goes on.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from papers import configuration
from papers.captions import READS
from papers.data.fetch import MIRROR_VARIABLE, without_password
from papers.evidence import files, records, store
from papers.evidence import jobs as evidence
from papers.evidence.records import SUMS
from papers.evidence.runs import CHECKOUT
from papers.reproduce.needs import config

if TYPE_CHECKING:
    from papers.evidence.jobs import Job

DATA = ("sources.yaml", "coal_counts.csv", "published", "raw")
RECEIPT = ("receipt.json", "receipt.md")
STEPS = re.compile(r"(\d+) of (\d+) steps")
WRAPPED = "WorkflowError|RuleException|CalledProcessError"
CAUSES = (
    re.compile(rf"^(?!{WRAPPED})\w*(?:Error|Exception): .*\S", re.MULTILINE),
    re.compile(rf"(?<=:\n)^(?!{WRAPPED})\w*(?:Error|Exception) in file .*\n.*\S", re.MULTILINE),
    re.compile(r"^WorkflowError:\n.*\S", re.MULTILINE),
)
"""Of a log of Snakemake, the likeliest first: it wraps the error of a job in some of its own."""


class FitsFailed(ValueError):
    """Snakemake did not make all files; the message names its log, and the last error there."""


OURS = ("results", "figures", "fits")
"""Folders of a run, in its own."""


def begin(folder: Path) -> None:
    """Remove what an earlier run drew, and of one that ended the receipt and the fits it made again.

    Only an interrupted run goes on, and that with its fits: a figure that this run does not draw is none.
    """
    if (folder / "figures").exists():
        shutil.rmtree(folder / "figures")
    ended = [path for path in (folder / name for name in RECEIPT) if path.exists()]
    if ended and (folder / "fits").exists():
        shutil.rmtree(folder / "fits")
    for path in ended:
        path.unlink()


def copied(source: Path, folder: Path, without: Iterable[str] = ()) -> Path:
    """A copy of a folder of records, which replaces what is there; without some of its files."""
    target = folder / "results"
    shutil.rmtree(target, ignore_errors=True)
    for name in (SUMS, *records.sums(source)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    gone = [name for name in records.sums(target) if any(_is_of(name, file) for file in without)]
    if gone:
        records.begin(target, gone)
    return target


def _is_of(name: str, study: str) -> bool:
    """Whether a file is that of a study, or in its folder."""
    return name == study or name.startswith(f"{study}/")


def make(
    jobs: Sequence[Job], folder: Path, fresh: bool, cores: int, profile: str | None, mirror: str | None
) -> Path:
    """Have Snakemake make the files of jobs; the folder that they are in.

    Parameters
    ----------
    jobs : sequence of Job
    folder : Path
        Of the run: its configuration and its log.
    fresh : bool
        Whether what is in ``data/fits`` does not count.
    cores : int
    profile, mirror : str, optional
        Of Snakemake; of raw data.

    Raises
    ------
    FitsFailed
    """
    place = _workplace(folder / "fits") if fresh else CHECKOUT
    if not jobs:
        return place
    mirror = mirror or os.environ.get(MIRROR_VARIABLE, "")
    if mirror and "://" not in mirror:  # of this folder, not of that in which Snakemake works
        mirror = str(Path(mirror).expanduser().resolve())
    said = {**config(), "name": "reproduce"}
    path = store.write_text(folder / "configuration.yaml", yaml.safe_dump(said, sort_keys=False))
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(CHECKOUT / "Snakefile")]
    command += ["--directory", str(place.resolve()), "--configfile", str(path.resolve())]
    command += ["--cores", str(cores)]
    if profile:  # a folder, or one of Snakemake's own by its name
        command += ["--profile", str(Path(profile).resolve()) if Path(profile).is_dir() else profile]
    log = folder / "snakemake.log"
    # a mirror's address may have a password: a file would keep it
    _run([*command, "--", *(job.path for job in jobs)], log, {**os.environ, MIRROR_VARIABLE: mirror})
    lacking = [job.path for job in jobs if not (place / job.path).exists()]
    if lacking:
        raise FitsFailed(
            f"Snakemake ended well and made {len(jobs) - len(lacking)} of {len(jobs)} files, not "
            f"{lacking[0]}: does a profile (SNAKEMAKE_PROFILE, --profile) ask for a dry run? {log} says more"
        )
    return place


def _workplace(folder: Path) -> Path:
    """A folder in which fits are made from the checkout's raw data."""
    data = files.ensured(folder / "data")
    files.ensured(CHECKOUT / "data" / "raw")
    for link, target in {
        **{data / name: CHECKOUT / "data" / name for name in DATA},
        folder / "profiles": CHECKOUT / "profiles",
    }.items():
        if link.is_symlink() and link.readlink() != target:  # as where the checkout was copied or moved
            link.unlink()
        if link.exists() and not link.is_symlink():
            raise ValueError(f"{link} is no link, as in a copy that followed links: delete {folder}")
        if not link.is_symlink():
            link.symlink_to(target)
    return folder


def _run(command: list[str], log: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Run Snakemake in the checkout, with a bar of its steps."""
    from tqdm import tqdm

    process = subprocess.Popen(
        command,
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env=environment,
    )
    assert process.stdout is not None, "asked for"
    bar = tqdm(desc="fits", unit="job", leave=False)
    try:
        with log.open("w", encoding="utf-8", buffering=1) as file, closing(bar):
            for line in process.stdout:
                file.write(without_password(line))
                if found := STEPS.search(line):
                    bar.total = int(found[2])
                    bar.update(int(found[1]) - bar.n)
        process.wait()
    finally:  # interrupted, or a full disk: Snakemake would go on alone, and keep its lock
        process.terminate()
        process.wait()
    if process.returncode:
        raise FitsFailed(
            f"Snakemake did not make every fit{_cause(log)}: {log} (made ones are kept: run again to go on)"
        )


def _cause(log: Path) -> str:
    """The last error that a log of Snakemake names, in a line; empty where there is none."""
    text = log.read_text(encoding="utf-8", errors="replace")
    found = next((matches for cause in CAUSES if (matches := cause.findall(text))), [])
    return ", " + " ".join(found[-1].split()) if found else ""


def fold(jobs: Sequence[Job], place: Path, results: Path) -> None:
    """Fold the files of jobs into a folder of records."""
    for record in configuration.records(config()):
        ours = [str(place / job.path) for job in jobs if job.record == record.name]
        if ours:
            evidence.named(record.function)(ours, results, **record.parameters)


def study(files: Iterable[str], results: Path, mirror: str | None) -> None:
    """Make records anew that no job makes, in this process."""
    makers = {
        file: make for module in READS.values() for file, make in getattr(module, "STUDIES", {}).items()
    }
    for file in files:
        makers[file](results, mirror)
