"""A person's own table as inputs and targets: a CSV and its target, or a YAML block that says more."""

from __future__ import annotations

import hashlib
import os
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.data import described, registry
from papers.data.registry import DataError, RegistryError
from papers.evidence import strict
from tilted.learning.starts import SMALLEST, require_moderate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


CLASSIFICATION, COUNTS, REGRESSION = TASKS = ("classification", "counts", "regression")
FIELDS = ("file", "task", *"delimiter header target positive negative drop one_hot missing".split())
"""Of a YAML block: the file beside it, and what docs/add-a-dataset.md says of a set."""
LISTS = ("drop", "one_hot", "missing")
"""Of these what a command line may say too."""
FEWEST = 10
"""Of each class, and of distinct inputs: one a fold."""
LARGEST_COUNT = 1000
HINT = "--missing MARKER leaves rows out, --drop NAME a column, --one-hot NAME codes words"


@dataclass(frozen=True)
class Table:
    """Rows that are compared on.

    Attributes
    ----------
    name, task : str
    X : array [N, D]
        As read; folds standardise.
    y : array [N]
        Labels -1 and +1, counts, or numbers.
    features : tuple of D names
    sha256 : str
        Of the file.
    remarks : tuple of str
        What was chosen for the reader: what +1 stands for, which rows.
    target : str
        Column of ``y``.
    file : str
        What was read, from the root on.
    """

    name: str
    task: str
    X: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    features: tuple[str, ...]
    sha256: str
    remarks: tuple[str, ...]
    target: str = ""
    file: str = ""

    def drawn(self, rows: int, seed: int) -> Table:
        """Some of the rows, by a seed; all where there are no more."""
        if len(self.y) <= rows:
            return self
        chosen = np.sort(np.random.default_rng(seed).permutation(len(self.y))[:rows])
        remark = f"{rows} of {len(self.y)} rows, drawn by seed {seed}"
        return replace(self, X=self.X[chosen], y=self.y[chosen], remarks=(*self.remarks, remark))


def read(
    data: Path,
    target: str | None = None,
    task: str | None = None,
    delimiter: str = ",",
    **lists: Sequence[str],
) -> Table:
    """Read a CSV with a header, or what a YAML block describes.

    Parameters
    ----------
    data : path
    target, task, delimiter : str, optional
        What a block may say; the delimiter is that of a CSV alone.
    **lists : lists of str
        ``drop``, ``one_hot`` and ``missing``, in the place of a block's where they have something.

    Raises
    ------
    ValueError
        For anything that cannot be compared on: names file, line and column where there is one.
    """
    block: dict[str, Any] = {"file": data.name, "header": True, "delimiter": delimiter}
    if data.suffix in (".yaml", ".yml"):
        block = _block(data)
    asked = {"target": target, "task": task, **{name: list(some) or None for name, some in lists.items()}}
    block |= {name: value for name, value in asked.items() if value is not None}
    rules = registry.schema()
    fields = {name: rules["$defs"]["set"]["properties"][name] for name in FIELDS if name != "file"}
    both = {"positive": ["negative"], "negative": ["positive"]}
    own = {"properties": {"file": {"type": "string"}, **fields}, "dependentRequired": both}
    registry.validate(block, {"$defs": rules["$defs"], **own}, data)
    path = data.parent / str(block["file"])
    if "target" not in block:
        raise ValueError(f"which column of {path.name} is to be predicted? --target NAME")
    if path.exists() and not path.is_file():  # it is read three times; one would wait for a second writer
        raise ValueError(f"{path} is no file; what a pipe gives has to be saved first")
    content, remarks = path.read_bytes(), []
    if "task" not in block:
        block["task"] = CLASSIFICATION if "positive" in block else _task(_targets(path, block))
    if block["task"] not in TASKS:
        raise ValueError(f"task is one of {', '.join(TASKS)}, not '{block['task']}'")
    if block["task"] == CLASSIFICATION and "positive" not in block:
        negative, positive = _classes(_targets(path, block), str(block["target"]))
        block |= {"positive": [positive], "negative": [negative]}
        remarks.append(f"{block['target']} = {positive} is the class +1, {negative} is -1")
    try:
        raw = described.read(path.stem, block, [path])
    except RegistryError as error:
        raise ValueError(str(error).removeprefix("sources.yaml: sets/")) from None
    except DataError as error:
        raise ValueError(f"{error} ({HINT})" if "finite number" in str(error) else str(error)) from None
    nameless = [name for name in raw.features if not name or name.startswith("Unnamed: ")]
    if nameless:
        raise ValueError(
            f"{path}: a column has no name, '{nameless[0]}', as row numbers that pandas wrote: name it, or "
            f"leave it out (--drop '{nameless[0]}')"
        )
    if twice := [name for i, name in enumerate(raw.features) if name in raw.features[:i]]:
        raise ValueError(f"{path}: two columns are called '{twice[0]}': which is which?")
    for name, column in zip((*raw.features, block["target"]), (*raw.X.T, raw.y), strict=True):
        require_moderate(f"{path}: column '{name}'", column, SMALLEST)
    constant = [n for n, column in zip(raw.features, raw.X.T, strict=True) if np.all(column == column[0])]
    remarks += raw.remarks
    if block.get("missing") and (left := len(_frame(path, block)) - len(raw.y)):
        remarks.append(f"{left} of {left + len(raw.y)} rows have a missing value and are left out")
    remarks += [f"the same in every row, says nothing: {', '.join(constant)}"] if constant else []
    digest = hashlib.sha256(content).hexdigest()
    said = tuple(raw.features), digest, tuple(remarks), str(block["target"]), str(data.resolve())
    name = os.fsencode(path.stem).decode(errors="replace")  # one that is no text has letters for its bytes
    found = Table(name, block["task"], raw.X, raw.y, *said)
    require(found)
    return found


def _block(path: Path) -> dict[str, Any]:
    block = strict.read(path)
    unknown = set(block) - set(FIELDS) if isinstance(block, dict) else {"no mapping"}
    if unknown or "file" not in block:
        raise ValueError(
            f"{path} needs `file` and knows {', '.join(FIELDS)}; not: {', '.join(map(str, unknown))}"
        )
    return {"header": True, "delimiter": ",", **block}


def _frame(path: Path, block: dict[str, Any]) -> pd.DataFrame:
    """Every cell as text."""
    import pandas as pd

    how: dict[str, Any] = {"sep": block["delimiter"], "header": 0 if block["header"] else None}
    how["compression"] = "gzip" if path.suffix == ".gz" else None  # as `described` reads it
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True, **how)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        hint = " (save it as UTF-8)" if isinstance(error, UnicodeDecodeError) else ""
        raise ValueError(f"{path} is no table: {error}{hint}") from None
    frame.columns = [name.strip() if isinstance(name, str) else name for name in frame.columns]
    return frame


def _targets(path: Path, block: dict[str, Any]) -> pd.Series[str]:
    """The target column as text."""
    import pandas as pd

    frame = _frame(path, block)
    target, n = block["target"], len(frame.columns)
    shifted = not isinstance(frame.index, pd.RangeIndex)  # pandas took the first column for names of the rows
    rows, frame = len(frame), _present(frame, block)
    if isinstance(target, int) and -n <= target < n:  # its number
        column = frame.iloc[:, target].str.strip()
    elif target in frame.columns:
        column = frame[target].str.strip()
    else:
        others = [letter for letter in ";\t|" if n == 1 and letter in str(frame.columns[0])]
        hint = f" (--delimiter {others[0]!r}?)" if others else ""
        listed = strict.shortened(", ".join(map(str, frame.columns)))
        raise ValueError(f"{path} has no column '{target}', but {listed}{hint}")
    if shifted:
        raise ValueError(f"{path}: its lines have more cells than its header (a delimiter at their end?)")
    if column.empty:
        what = f": each of its {rows} rows has a marker of what is missing" if rows else " has no rows"
        raise ValueError(f"{path}{what}")
    empty = np.flatnonzero(column == "")
    if len(empty) and "" not in map(str, block.get("missing", [])):
        raise ValueError(
            f"{path}, line {column.index[empty[0]] + 1 + block['header']}: no {block['target']} ({HINT})"
        )
    column = column[column != ""]
    numbers = _numbers(column)
    if column.nunique() < 2 or (numbers is not None and np.all(numbers == numbers[0])):
        raise ValueError(f"{path}: every {target} is '{', '.join(column.unique()[:1])}'")
    return column


def _present(frame: pd.DataFrame, block: dict[str, Any]) -> pd.DataFrame:
    """Rows without a marker of what is missing in a column that is used, as `described.read` keeps them."""
    if not (markers := block.get("missing", [])):
        return frame
    titles, drop = list(frame.columns), block.get("drop", [])
    n = len(titles)
    dropped = {titles[c] if isinstance(c, int) and -n <= c < n else c for c in drop}
    used = frame[[name for name in titles if name not in dropped]]
    return frame[~used.map(lambda cell: described.is_missing(str(cell).strip(), markers)).any(axis=1)]


def _numbers(column: pd.Series[str]) -> np.ndarray | None:
    try:
        return None if column.str.contains("_").any() else column.to_numpy().astype(float)
    except ValueError:
        return None


def _task(column: pd.Series[str]) -> str:
    """Two values: classes; numbers that are not all whole: regression; else a person has to say."""
    import pandas as pd

    if column.nunique() == 2:
        return CLASSIFICATION
    numbers = _numbers(column)
    if numbers is None:
        odd = column[pd.to_numeric(column, errors="coerce").isna()].unique()
        words = ", ".join(f"'{word}'" for word in odd[:4])
        raise ValueError(
            f"{column.name} has words ({words}, ...) and not two classes: a YAML block can make two of them "
            "(positive and negative), GPClassifier and GPOrdinalClassifier take more; or, of what are no "
            "values, --missing MARKER"
        )
    if np.all(numbers >= 0) and np.all(numbers == np.round(numbers)):
        raise ValueError(f"every {column.name} is a whole number: --task counts, or --task regression?")
    return REGRESSION


def _classes(column: pd.Series[str], name: str) -> tuple[str, str]:
    """Smaller and larger of two values, by number if they are numbers."""
    values = list(column.unique())
    if len(values) != 2:
        shown = ", ".join(map(repr, values[:4]))
        raise ValueError(f"classification is of two classes, {name} has {len(values)} values ({shown}, ...)")
    low, high = sorted(values, key=float if _numbers(column) is not None else str)
    return low, high


def require(table: Table) -> None:
    """ValueError for rows of which ten folds cannot be made."""
    X, y, target = table.X, table.y, table.target
    if np.all(y == y[0]):
        raise ValueError(f"every {target} is {y[0]:g}: nothing to predict")
    if len(np.unique(X, axis=0)) < FEWEST:
        raise ValueError(f"ten folds need {FEWEST} rows that differ in their features")
    if table.task == CLASSIFICATION and min(np.sum(y > 0), np.sum(y < 0)) < FEWEST:
        few = int(min(np.sum(y > 0), np.sum(y < 0)))
        drawn = ", of those drawn" if "drawn by seed" in "".join(table.remarks) else ""
        raise ValueError(f"ten folds need {FEWEST} rows of each class of {target}; one has {few}{drawn}")
    if table.task == COUNTS and y.max() > LARGEST_COUNT:
        raise ValueError(f"counts up to {LARGEST_COUNT} here; for larger ones --task regression")
