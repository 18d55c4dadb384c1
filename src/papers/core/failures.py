"""The reason of a failed job, in the log that Snakemake points at."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from papers.core.files import MissingData


@contextlib.contextmanager
def logged(log: str | Path) -> Iterator[None]:
    """Write the error that ends a block to a job's log, and end the program with one line.

    Missing data need no traceback: their message says what to do.
    """
    try:
        yield
    except Exception as error:
        missing = isinstance(error, MissingData)
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{error}\n" if missing else traceback.format_exc())
        sys.exit(f"tilted: {error}" if missing else f"tilted: {type(error).__name__}: {error} ({log})")
