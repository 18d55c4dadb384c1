"""Whether the workflow can run where it is: its own code, and folders whose names nothing misreads."""

from __future__ import annotations

from pathlib import Path

import papers
import tilted

READ = '$`"\\{}'
"""Letters of a folder's name that Snakemake or its profiles for clusters read as more than a name."""


def unfit(checkout: Path, working: Path, interpreter: str) -> str:
    """Why the workflow cannot run here, in a sentence; empty if it can.

    Parameters
    ----------
    checkout : Path
        Folder of the Snakefile.
    working : Path
        Where it runs.
    interpreter : str
        Path of the interpreter of the jobs.
    """
    sources = (checkout / "src").resolve()
    for package in (papers, tilted):
        found = Path(package.__file__ or "").resolve().parent
        if found.parent != sources:
            return (
                f"this checkout's code is in {sources}, but {package.__name__} of this environment is in "
                f"{found}: it would run another checkout; run `make setup` here"
            )
    if " " in interpreter:
        return (
            f"Snakemake cannot run scripts with an interpreter whose path has a space ({interpreter}); "
            "clone to a folder without spaces"
        )
    if set(f"{checkout}{working}") & set(READ):
        return (
            f"Snakemake reads parts of such a folder's name ({working}) as more than a name: clone to another"
        )
    return ""
