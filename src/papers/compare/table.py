"""Read a person's table: a CSV file, or a YAML block that names a CSV file and describes its columns."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from papers.data.table import CLASSIFICATION, TASKS, Description, features, parse, select, targets

FEWEST_ROWS, MOST_ROWS = 10, 2000


@dataclass(frozen=True)
class Table:
    """Features ``X`` [N, D] and targets ``y`` [N]: labels -1 and +1, counts, or numbers.

    Rows of one of the ``groups`` [N] belong in one fold. ``remarks`` are choices made for the reader, and
    suspicions about columns.
    """

    name: str
    task: str
    target: str
    X: pd.DataFrame
    y: np.ndarray
    groups: np.ndarray | None = None
    remarks: Sequence[str] = ()
    file: str = ""
    sha256: str = ""


def read(path: Path, rows: int | None = None, seed: int = 0, **options: Any) -> Table:
    """Read a CSV file, or the file that a YAML block describes; with ``rows``, a random sample of it.

    The options are fields of `Description`; they replace those of the block unless they are empty. A table
    on which methods cannot be compared is a ValueError that names the file, the line and the column.
    """
    block = _read_block(path) if path.suffix in (".yaml", ".yml") else {"file": path.name}
    path = path.parent / block.pop("file")
    about = Description(**block | {name: value for name, value in options.items() if value})
    if not about.target or about.task not in ("", *TASKS):
        raise ValueError(f"which column of {path.name} is to be predicted (--target NAME), as which task?")
    content = path.read_bytes()
    frame, remarks = select(path, parse(path, content, about), about)
    if len(frame) > (rows or MOST_ROWS):
        if not rows:
            raise ValueError(f"{len(frame)} rows are too many for dense methods: --rows {MOST_ROWS} samples")
        remarks.append(f"{rows} of {len(frame)} rows, drawn by seed {seed}")
        frame = frame[frame.index.isin(frame.sample(rows, random_state=seed).index)]
    task, y = targets(path, frame[about.target], about, remarks)
    X = features(path, frame.drop(columns=[about.target, *filter(None, [about.group])]), about, remarks)
    if X.empty:
        raise ValueError(f"{path}: no column is left to predict '{about.target}' from")
    groups = np.unique(frame[about.group], return_inverse=True)[1] if about.group else None
    _require_folds(X, y, groups, task, about.target, remarks)
    source = (str(path.resolve()), hashlib.sha256(content).hexdigest())
    return Table(path.stem, task, about.target, X, y, groups, remarks, *source)


def _read_block(path: Path) -> dict[str, Any]:
    """Read a YAML block, all values as texts: `yes` is a word, and so is `-999`."""
    import yaml

    try:
        block = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not YAML: {error}") from None
    kinds = {"file": str, **{field.name: type(field.default) for field in fields(Description)}}
    if not isinstance(block, dict) or "file" not in block or set(block) - set(kinds):
        raise ValueError(f"{path} needs `file` and may have {', '.join([*kinds][1:])}, but nothing else")
    for name, value in block.items():
        kind = list if kinds[name] is tuple else str
        if not isinstance(value, kind):
            raise ValueError(f"{path}: {name}: {value!r} is not a {kind.__name__}")
    return block


def _require_folds(
    X: pd.DataFrame, y: np.ndarray, groups: np.ndarray | None, task: str, target: str, remarks: list[str]
) -> None:
    """Raise ValueError if folds cannot be made; remark on features that alone determine the target."""
    if np.all(y == y[0]):
        raise ValueError(f"every {target} is {y[0]:g}: nothing to predict")
    if groups is not None and groups.max() < 2:
        raise ValueError("cross-validation needs at least three groups")
    if len(X.drop_duplicates()) < FEWEST_ROWS:
        raise ValueError(f"ten folds need {FEWEST_ROWS} rows that differ in their features")
    if task == CLASSIFICATION:
        few, label = min((int(np.sum(y == label)), label) for label in (1, -1))
        if few < FEWEST_ROWS:
            remark_text = "; ".join(remarks)
            raise ValueError(
                f"ten folds need {FEWEST_ROWS} rows of each class; {label:+d} has {few} ({remark_text})"
            )
        high, low = X[y > 0], X[y < 0]
        alone = (high.min() > low.max()) | (high.max() < low.min())
    else:
        ranks = X.loc[:, X.nunique() > 1].rank()
        alone = ranks.corrwith(pd.Series(y, X.index).rank()).abs() > 0.999
    for name in alone.index[alone]:
        remarks.append(f"'{name}' alone determines {target}: if it is not known beforehand, --drop '{name}'")
