"""Write the ground truth, a JSON file a split until 28 November 2026, as two tables; rows keep their runs.

    python tools/convert_truth.py OLD_RESULTS NEW_RESULTS

``OLD_RESULTS`` is the folder ``results`` of the last commit with these files (4cd641c2).
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

from papers.core import records
from papers.core.study import RUN, Study
from papers.qp.truth.records import TRUTH, TRUTH_LATENTS, rows_of


def tables(old: Path) -> dict[str, bytes]:
    """Return the content of both tables, by file."""
    rows: dict[Study, list[dict[str, object]]] = {TRUTH: [], TRUTH_LATENTS: []}
    for path in sorted((old / "qp" / "truth").glob("*.json.gz")):
        record = json.loads(gzip.decompress(path.read_bytes()))
        for study, row in rows_of(record):
            rows[study].append({**row, RUN: record[RUN]})
    return {study.file: study.encode(study.frame(made), study.file) for study, made in rows.items()}


if __name__ == "__main__":
    records.write(sys.argv[2], tables(Path(sys.argv[1])))
