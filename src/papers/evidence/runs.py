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
import os
import platform
import re
import subprocess
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import listed
from papers.evidence.store import RecordError
from papers.evidence.study import RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    import pandas as pd

FILE = "runs.csv"
PACKAGES = ("numpy", "scipy")
OPTIONAL = ("mkl",)
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
        "commit": still(commit()),
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
    """Commit of this checkout, `DIRTY` behind it if its sources differ; empty without git or outside one.

    A copy without a history that lies in another repository has none: that one's commit says nothing of it.
    """
    try:
        if Path(_git("rev-parse", "--show-toplevel")).resolve() != CHECKOUT:
            return ""
        return still(_git("rev-parse", "--short=12", "HEAD"))
    except (OSError, subprocess.CalledProcessError):
        return ""


def still(name: str) -> str:
    """A commit, `DIRTY` behind it if the sources are not its own, or nobody knows whether."""
    if not re.fullmatch(COMMIT, name):
        return name
    try:
        changed = (
            _git("diff", "--name-only", name, "--", *SOURCES)
            or _git("ls-files", "-o", "--exclude-standard", "--", *SOURCES)
            or _unseen()
        )
    except (OSError, subprocess.CalledProcessError):  # as of an index that lost its bytes
        changed = name
    return name + (DIRTY if changed else "")


SOURCES = ("src", "workflow", "Snakefile", "data/coal_counts.csv")
READ = (".py", ".smk", ".yaml", ".json")
"""Endings of files that are run or read; a folder's own litter is none of these."""


def _unseen() -> bool:
    """Whether git was told not to look at some sources, or the user ignores new ones that can run."""
    new = _git("ls-files", "-oz", "--exclude-per-directory=.gitignore", "--", *SOURCES).split("\0")
    return any(name.endswith(READ) for name in new) or bool(_unlooked_at(*SOURCES))


def _unlooked_at(*places: str) -> list[str]:
    """Files that are there and that git was told not to look at."""
    listed = _git("ls-files", "-vz", "--", *places).split("\0")
    return [line[2:] for line in listed if line[:1] not in "H" and (CHECKOUT / line[2:]).exists()]


def uncommitted(*places: str) -> list[str] | None:
    """Files below some places that this checkout's commit has otherwise; None where that is unknown.

    Those that git was told not to look at may be, and count; new ones do not.
    """
    if not commit():
        return None
    try:
        changed = _git("diff", "--name-only", "-z", "HEAD", "--", *places).split("\0")
        return [name for name in dict.fromkeys([*changed, *_unlooked_at(*places)]) if name]
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


MADE = (":!tables", ":!figures")
"""What is made again from the rest, so that a merge of it is finished by that."""


def unmerged(but: Iterable[str] = MADE) -> list[str]:
    """Files of this checkout that a merge left with the lines of both sides, but for some."""
    try:
        return _git("diff", "--name-only", "--diff-filter=U", "--relative", "--", ".", *but).splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []


def _git(*arguments: str) -> str:
    """What git says of this checkout, whatever repository a hook or the user names (such as ``GIT_DIR``).

    Also where the checkout is another user's, as in a container: whose code runs is trusted.
    """
    kept = {k: v for k, v in os.environ.items() if k[:4] != "GIT_" or k[:8] in ("GIT_CONF", "GIT_TEST")}
    # a user's order may be gone, and without a look at the files their dates alone are changes
    settings = f"safe.directory={CHECKOUT}", "diff.orderFile=/dev/null", "diff.autoRefreshIndex=true"
    command = [
        "git",
        "--no-optional-locks",
        "-C",
        str(CHECKOUT),
        *(word for one in settings for word in ("-c", one)),
        *arguments,
    ]
    done = subprocess.run(command, check=True, capture_output=True, env=kept)
    return done.stdout.decode("utf-8", "backslashreplace").strip()  # names of files are bytes


@lru_cache(maxsize=1)
def environment() -> str:
    """Versions and processor, in a line."""
    parts = [f"{name} {version}" for name, version in versions((*PACKAGES, *OPTIONAL)).items()]
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
