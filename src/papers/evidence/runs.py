"""What made the lines of the records: ``runs.csv``, a line a run, appended to and never rewritten.

A run is what one environment made of one study, under one protocol and commit, and folded in at once. Its
line says how many lines it brought and how many of older runs these replaced: summed over a study's runs the
difference is the number of its lines, so that a record with fewer is noticed (`papers.evidence.records`).
Cells of what was not recorded at the time are empty.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core.study import RUN
from papers.evidence import listed
from papers.evidence.store import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    import pandas as pd

FILE = "runs.csv"
PACKAGES = ("numpy", "scipy")
"""Named where they are installed: they change the last digits."""
CHECKOUT = Path(__file__).resolve().parents[3]
COMMIT, DIRTY = "[0-9a-f]{7,64}", "+"
"""The name of a commit; what stands behind it if the sources differed from it."""


class Run(NamedTuple):
    """A line of ``runs.csv``.

    Attributes
    ----------
    run : str
        Its name in the lines of records.
    study : str
        File of the study, below the folder of records.
    commit, version : str
        Of this checkout (`commit`) and of the library; empty if not recorded.
    protocol : str
        `content_hash` of what the protocol says about these fits; empty if there is no protocol.
    environment : str
        Versions and processor.
    date : str
        ISO, UTC.
    core_seconds : float
        Processor seconds of the fits; NaN if not measured.
    lines, replaced : int
        That it brought; of older runs that these replaced.
    """

    run: str
    study: str
    commit: str
    version: str
    protocol: str
    environment: str
    date: str
    core_seconds: float = math.nan
    lines: int = 0
    replaced: int = 0


DIGITS, WHOLE = {"core_seconds": 6}, ("lines", "replaced")
"""Of its floats; fields that are whole numbers."""

STAMP = ("commit", "version", "protocol", "environment", "date")
"""What a job says about itself: these fields of its run."""


def stamp(choices: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What every record of a job that runs now says about it: `STAMP`.

    Parameters
    ----------
    choices : mapping, optional
        What the protocol says about the fits.
    """
    from tilted import __version__

    return {
        "commit": commit(),
        "version": __version__,
        "protocol": content_hash(choices) if choices else "",
        "environment": environment(),
        "date": today().isoformat(),
    }


def today() -> date:
    """By this machine's clock, UTC."""
    return datetime.now(UTC).date()


def is_date(text: object) -> bool:
    """Whether a text is a day as `stamp` writes it: runs are compared by them."""
    try:
        return date.fromisoformat(str(text)).isoformat() == text
    except ValueError:
        return False


def of_lines(study: str, stamp: Mapping[str, str], lines: pd.DataFrame) -> Run:
    """The run of lines of one stamp; its name follows from these: the same lines make the same run."""
    cells = lines.drop(columns=RUN, errors="ignore").to_csv(index=False, float_format="%.12g")
    name = content_hash([study, [stamp[part] for part in STAMP], cells])[:8]
    seconds = float(lines["seconds"].sum()) if "seconds" in lines else math.nan
    return _of_stamp(f"{stamp['date']}-{name}", study, stamp)._replace(core_seconds=seconds, lines=len(lines))


def of_loss(study: str, lines: int, known: Iterable[str]) -> Run:
    """The run by which so many lines were taken out of a record and none put in; ``known`` names others."""
    today = stamp()
    name = f"{today['date']}-{content_hash([study, lines, *known])[:8]}"
    return _of_stamp(name, study, today)._replace(replaced=lines)


def _of_stamp(name: str, study: str, stamp: Mapping[str, str]) -> Run:
    """A run without lines."""
    commit, version, protocol, environment, date = (stamp[part] for part in STAMP)
    return Run(name, study, commit, version, protocol, environment, date)


def parse(content: bytes, where: object) -> dict[str, Run]:
    """Runs of the file's content, by name.

    Raises
    ------
    RecordError
        Other columns, two runs of one name, or a cell that is no number where one is due.
    """
    try:
        found: list[Run] = listed.decoded(content, Run, DIGITS, WHOLE)
        for run in found:
            if min(run.lines, run.replaced) < 0 or (run.date and not is_date(run.date)):
                raise ValueError(
                    f"run '{run.run}' of '{run.date}', {run.lines} lines, {run.replaced} replaced"
                )
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from error
    by_name = {run.run: run for run in found}
    if len(by_name) < len(found):
        raise RecordError(f"{where}: two runs of one name")
    return by_name


def encode(runs: Iterable[Run]) -> bytes:
    """The file's content."""
    return listed.encoded(runs, Run, DIGITS)


def content_hash(value: object) -> str:
    """Short content hash of a JSON value; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def commit() -> str:
    """Commit of this checkout, `DIRTY` behind it if its sources differ; empty without git or outside one."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        return name + (DIRTY if _git("status", "--porcelain", "--", *SOURCES) else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


SOURCES = ("src", "workflow", "Snakefile", "data/coal_counts.csv")


def uncommitted(*places: str) -> list[str] | None:
    """Files below some places that this checkout's commit has otherwise; None where that is unknown.

    New files do not count.
    """
    try:
        return _git("diff", "--name-only", "--relative", "HEAD", "--", *places).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return None


@cache
def precedes(one: str, other: str) -> bool:
    """Whether a commit comes before another in this checkout's history; what is not known does not."""
    if not are_commits(one, other):
        return False
    try:
        _git("merge-base", "--is-ancestor", *(name.removesuffix(DIRTY) for name in (one, other)))
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def are_commits(one: str, other: str) -> bool:
    """Whether these are names of two commits."""
    one, other = one.removesuffix(DIRTY), other.removesuffix(DIRTY)
    return one != other and all(re.fullmatch(COMMIT, name) for name in (one, other))


def _git(*arguments: str) -> str:
    """Run git in this checkout; what it prints."""
    command = ["git", "-C", str(CHECKOUT), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@lru_cache(maxsize=1)
def environment() -> str:
    """Versions and processor, in a line."""
    parts = [f"{name} {version}" for name, version in versions(PACKAGES).items()]
    return ", ".join([f"python {platform.python_version()}", *parts, _processor()])


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Version of each of some packages that is installed."""
    found = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


def _processor() -> str:
    """Model name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
