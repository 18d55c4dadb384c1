"""Sum up ``verified.csv`` of 28 November 2026, a row a repeated row, to a row a group and day.

    python tools/summarise_verified.py OLD_RESULTS NEW_FILE

``OLD_RESULTS`` is the folder ``results`` of the last commit with the long file (4cd641c2). A check counts if
it is the last of its row and way, and if the row is still of the run that was checked. A row that was
repeated in two ways counts once: it differs if it differed in one of them. So does a split of the ground
truth, of which the long file has a row a method.
"""

from __future__ import annotations

import csv
import gzip
import json
import math
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path

import pandas as pd

from papers import PAPERS
from papers.core import verified
from papers.core.study import RUN, Study
from papers.core.verified import Verified

UNNAMED = {"pep/regression.csv.gz": {"protocol": "as-described"}}
"""Study -> values that the long file left out of names."""
TRUTH = "qp/truth"


def summarise(
    checks: list[dict[str, str]], current: dict[tuple[str, str, str], tuple[str, str]]
) -> list[Verified]:
    """Return the summary of checks.

    Parameters
    ----------
    checks : list of dict
        Rows of the long file.
    current : dict
        (study, group, fit) as in the long file -> the group's name today, and the run of the row.
    """
    last = {(check["study"], check["group"], check["fit"], check["how"]): check for check in checks}
    by_row = defaultdict(list)
    for (study, group, fit, _), check in last.items():
        today, run = current.get((study, group, fit), ("", ""))
        if run == check["run"]:
            name = ("qp/truth.csv", fit.rpartition("method=")[0]) if study == TRUTH else (study, fit)
            by_row[today, *name].append(check)
    by_day = defaultdict(list)
    for (group, study, _), ways in by_row.items():
        latest = max(ways, key=lambda check: check["date"])
        by_day[study, group, latest["date"], latest["commit"], latest["environment"]].append(ways)
    return [_summary(day, rows) for day, rows in sorted(by_day.items())]


def _summary(day: tuple[str, ...], rows: list[list[dict[str, str]]]) -> Verified:
    ends = [_end({check["passed"] for check in ways}) for ways in rows]
    known = [float(check["difference"]) for ways in rows for check in ways if check["difference"]]
    counts = (ends.count(name) for name in ("same", "other", "different"))
    return Verified(*day, len(rows), *counts, max(known, default=math.nan))


def _end(verdicts: set[str]) -> str:
    if "no" in verdicts:
        return "different"
    return "same" if verdicts & {"yes", "by search"} else "other"


def current_rows(folder: Path) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the rows of a folder of results by their names in the long file: today's group, and the run."""
    found = {}
    for paper in PAPERS:
        for study in import_module(f"papers.{paper}.records").STUDIES:
            path = folder / study.file
            if study.key and path.is_file():
                for row in study.parse(path.read_bytes(), path).to_dict("records"):
                    name = study.file, *_old_names(study, row)
                    found[name] = study.group_of(row), row[RUN]
    for path in folder.glob(f"{TRUTH}/*.json.gz"):
        record = json.loads(gzip.decompress(path.read_bytes()).splitlines()[0])
        split = record["seed"] + record["fold"]
        for method in record["methods"]:
            fit = f"method={method}" if split == 0 else f"split={split} method={method}"
            found[TRUTH, record["dataset"], fit] = record["dataset"], record[RUN]
    return found


def _old_names(study: Study, row: dict[str, object]) -> tuple[str, str]:
    usual = UNNAMED.get(study.file, {})
    shown = {name: study.cell_text(name, row[name]) for name in study.key}
    named = [name for name in study.key if shown[name] != usual.get(name)]
    group = " ".join(shown[name] for name in study.group if name in named)
    return group, " ".join(f"{name}={shown[name]}" for name in named if name not in study.group)


if __name__ == "__main__":
    results = Path(sys.argv[1])
    with (results / verified.FILE).open(newline="", encoding="utf-8") as stream:
        summary = summarise(list(csv.DictReader(stream)), current_rows(results))
    Path(sys.argv[2]).write_bytes(verified.encode(summary))
    print(pd.DataFrame(summary).groupby("study")[["rows", "same", "other", "different"]].sum())
