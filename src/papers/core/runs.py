"""The runs that made the records: ``runs.csv``, a row a run, appended to and never rewritten.

A run is what one environment made of one study, under one protocol and commit, and joined to the records at
once. Cells of what was not recorded at the time are empty. Later runs may have replaced its rows, all of them
perhaps.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import csv_rows
from papers.core.study import RUN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    import pandas as pd

FILE = "runs.csv"
PACKAGES = ("numpy", "scipy")
"""Named where they are installed: they change the last digits."""
CHECKOUT = Path(__file__).resolve().parents[3]
DIRTY = "+"
"""Behind the name of a commit if the sources differed from it."""


class Run(NamedTuple):
    """A row of ``runs.csv``.

    Attributes
    ----------
    run : str
        Its name in the rows of the study.
    study : str
        File of the study, below the folder of results.
    commit, version : str
        Of this checkout (`commit`) and of the library; empty if not recorded.
    protocol : str
        `content_hash` of what the protocol says about these fits; empty if there is no protocol.
    environment : str
        Versions and processor.
    date : str
        ISO, UTC.
    core_seconds : float
        Processor seconds of its rows; NaN if not measured.
    lines, replaced : int
        Rows that it brought; rows of older runs that these replaced.
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


DIGITS = {"core_seconds": 6}
"""Significant digits of its floats."""

STAMP = ("commit", "version", "protocol", "environment", "date")
"""Fields of a run that a task states about itself."""


def stamp(choices: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the stamp of every record of a task that runs now: `STAMP`.

    Parameters
    ----------
    choices : mapping, optional
        What the protocol says about its fits.
    """
    from tilted import __version__

    return {
        "commit": commit(),
        "version": __version__,
        "protocol": content_hash(choices) if choices else "",
        "environment": environment(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def of_rows(study: str, stamp: Mapping[str, str], rows: pd.DataFrame) -> Run:
    """Return the run of rows of one stamp; its name follows from both: the same rows make the same run."""
    commit, version, protocol, environment, date = fields = tuple(stamp[name] for name in STAMP)
    cells = rows.drop(columns=RUN, errors="ignore").to_csv(index=False, float_format="%.12g")
    seconds = float(rows["seconds"].sum()) if "seconds" in rows else math.nan
    name = f"{date}-{content_hash([study, fields, cells])[:8]}"
    return Run(name, study, commit, version, protocol, environment, date, seconds, len(rows))


def stamp_of(run: Run) -> dict[str, str]:
    """Return the stamp of the tasks of a run (`STAMP`)."""
    return {name: getattr(run, name) for name in STAMP}


def parse(content: bytes, where: object) -> dict[str, Run]:
    """Return the runs of the file's content, by name; RecordError for other columns or no numbers."""
    return {run.run: run for run in csv_rows.decoded(content, Run, where)}


def encode(runs: Iterable[Run]) -> bytes:
    """Return the file's content."""
    return csv_rows.encoded(runs, Run, DIGITS)


def content_hash(value: object) -> str:
    """Return a short hash of a JSON value; the order of keys does not matter."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@cache
def source_hash(*modules: str) -> str:
    """Return a short hash of the source files of modules; a package counts with all its modules."""
    texts: dict[str, str] = {}
    for name in modules:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ValueError(f"no module '{name}'")
        folder = Path(spec.origin).parent
        paths = sorted(folder.rglob("*.py")) if spec.submodule_search_locations else [Path(spec.origin)]
        texts |= {f"{name}/{path.relative_to(folder)}": path.read_text(encoding="utf-8") for path in paths}
    return content_hash(texts)


@lru_cache(maxsize=1)
def commit() -> str:
    """Return the commit of this checkout, `DIRTY` behind it if its sources differ; empty without git."""
    name = _git("rev-parse", "--short=12", "HEAD").decode().strip()
    return name and name + (DIRTY if _git("status", "--porcelain", "--", *SOURCES) else "")


SOURCES = ("src", "workflow", "Snakefile", "data/coal_counts.csv")


def committed(path: str | Path) -> bytes | None:
    """Return the content of a file of this checkout in its commit; None without git or such a file."""
    return _git("show", f"HEAD:./{Path(path).as_posix()}") or None


def _git(*arguments: str) -> bytes:
    """Run git in this checkout and return its output; empty if it fails."""
    with suppress(OSError, subprocess.CalledProcessError):
        return subprocess.check_output(["git", "-C", CHECKOUT, *arguments], stderr=subprocess.DEVNULL)
    return b""


@lru_cache(maxsize=1)
def environment() -> str:
    """Return versions, the BLAS library with its kernel, and the processor, in a line."""
    packages = [f"{name} {version}" for name, version in versions(PACKAGES).items()]
    return ", ".join([f"python {platform.python_version()}", *packages, *blas(), _processor()])


def blas() -> list[str]:
    """Return the BLAS libraries that numpy and scipy use, such as ``openblas 0.3.31 Haswell``, sorted."""
    import scipy.linalg  # noqa: F401  # which loads its own library
    from threadpoolctl import threadpool_info

    libraries = [info for info in threadpool_info() if info["user_api"] == "blas"]
    names = [f"{info['internal_api']} {info['version']} {info.get('architecture', '')}" for info in libraries]
    return sorted({name.strip() for name in names})


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the version of each package that is installed."""
    installed = {}
    for package in packages:
        with suppress(metadata.PackageNotFoundError):
            installed[package] = metadata.version(package)
    return installed


def _processor() -> str:
    """Return the model name of the processor, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"
