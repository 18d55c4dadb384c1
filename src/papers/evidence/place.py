"""Whether the workflow can run where it is: its own code, and folders whose names nothing misreads."""

from __future__ import annotations

from pathlib import Path

import papers
import tilted
from papers.evidence import runs

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
    if reason := foreign(checkout) or unfinished():
        return reason
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


def foreign(folder: Path) -> str:
    """That the code of another checkout runs in a folder, if it is a checkout; empty if its own does."""
    sources = (folder / "src").resolve()
    for package in (papers, tilted):
        found = Path(package.__file__ or "").resolve().parent
        if found.parent != sources:
            return (
                f"this checkout's code is in {sources}, but {package.__name__} of this environment is in "
                f"{found}: it would run another checkout; run `make setup` here"
            )
    return ""


def unfinished() -> str:
    """That a merge was not finished: what is made of files with both sides' lines would be neither's."""
    both = runs.unmerged()
    return f"a merge is not finished (git status): {', '.join(both)}" if both else ""
