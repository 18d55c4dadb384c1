"""Whether the workflow can run where it is: its own code, folders whose names nothing misreads, the clock."""

from __future__ import annotations

import csv
from datetime import timedelta
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
    if not (working / "data" / "sources.yaml").is_file():
        return (
            f"{working} is no checkout (it has no data/sources.yaml): run Snakemake in {checkout}, or give "
            f"--directory {checkout}"
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


def unfinished(but_made: bool = True) -> str:
    """That a merge was not finished: what is made of files with both sides' lines would be neither's.

    Tables and figures do not count where they are made again (``but_made``).
    """
    both = runs.unmerged(runs.MADE if but_made else ())
    return f"a merge is not finished (git status): {', '.join(both)}" if both else ""


def behind(results: Path) -> str:
    """That the clock is behind what the runs of a folder of records say, by days; empty if it is not.

    Fits would be taken for older ones than those recorded, and never replace them.
    """
    path, today = results / runs.FILE, runs.today()
    newest = max(_days(path), default="")
    if newest <= (today + timedelta(days=1)).isoformat():
        return ""
    return (
        f"the clock says {today}, and {path} has a run of {newest}: set it (date), or its fits would "
        "be passed over as older than those"
    )


def _days(path: Path) -> list[str]:
    """Days of the runs in a file, as far as it can be read: elsewhere it is refused."""
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        return [day for line in csv.DictReader(file) if runs.is_date(day := line.get("date") or "")]
