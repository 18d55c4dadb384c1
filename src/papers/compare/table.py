"""A person's own table as inputs and targets: a CSV and its target, or a YAML block that says more."""

from __future__ import annotations

import hashlib
import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from papers.data import described, registry
from papers.data.registry import DataError, RegistryError
from papers.evidence import files
from tilted.learning.starts import SMALLEST, require_moderate

if TYPE_CHECKING:
    from collections.abc import Sequence


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
    if data.is_dir():
        raise ValueError(f"{data} is a folder")
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
    if path.exists() and not path.is_file():  # it is read twice; one would wait for a second writer
        raise ValueError(f"{path} is no file; what a pipe gives has to be saved first")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    try:
        texts = described.table(path.stem, block, [path])
        remarks = _decide(block, texts, path)
        raw = described.coded(texts, block)
    except RegistryError as error:
        what = str(error).removeprefix(f"sources.yaml: sets/{path.stem}").lstrip("/: ")
        raise ValueError(f"{path}: {what}") from None
    except DataError as error:
        what = str(error).removeprefix(f"set '{path.stem}': ")
        raise ValueError(f"{what} ({HINT})" if "finite number" in what else what) from None
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
    remarks += raw.remarks
    if left := texts.left_out:
        remarks.append(f"{left} of {left + len(raw.y)} rows have a missing value and are left out")
    remarks += _idle(raw.features, raw.X)
    said = tuple(raw.features), digest, tuple(remarks), str(block["target"]), str(data.resolve())
    name = os.fsencode(path.stem).decode(errors="replace")  # one that is no text has letters for its bytes
    found = Table(name, block["task"], raw.X, raw.y, *said)
    require(found)
    return found


def _block(path: Path) -> dict[str, Any]:
    block = files.read_yaml(path)
    unknown = set(block) - set(FIELDS) if isinstance(block, dict) else {"no mapping"}
    if unknown or "file" not in block:
        raise ValueError(
            f"{path} needs `file` and knows {', '.join(FIELDS)}; not: {', '.join(map(str, unknown))}"
        )
    return {"header": True, "delimiter": ",", **block}


def _decide(block: dict[str, Any], table: described.Table, path: Path) -> list[str]:
    """Give a block the task and the classes that it does not say, by the texts of its targets; remarks."""
    if "positive" in block:
        block.setdefault("task", CLASSIFICATION)
    if "task" in block and (block["task"] != CLASSIFICATION or "positive" in block):
        return []
    name, cells = table.header[table.target], [row.cells[table.target] for row in table.rows]
    if "" in cells:
        raise ValueError(f"{path}, line {table.rows[cells.index('')].line}: no {name} ({HINT})")
    different = list(dict.fromkeys(cells))
    numbers = {cell: described.as_number(cell) for cell in different}
    words = [cell for cell, number in numbers.items() if math.isnan(number)]
    if len(different) < 2 or not words and len({*numbers.values()}) < 2:
        raise ValueError(f"{path}: every {name} is '{different[0]}'")
    if "task" not in block and len(different) > 2:
        if len(words) == 1:  # among numbers
            line = table.rows[cells.index(words[0])].line
            raise ValueError(
                f"{path}, line {line}: column '{name}': '{words[0]}' is not a finite number ({HINT})"
            )
        block["task"] = _task(name, list(numbers.values()), words)
        return []
    if len(different) > 2:
        shown = ", ".join(map(repr, different[:4]))
        raise ValueError(
            f"classification is of two classes, {name} has {len(different)} values ({shown}, ...)"
        )
    negative, positive = sorted(different, key=None if words else numbers.__getitem__)
    block |= {"task": CLASSIFICATION, "positive": [positive], "negative": [negative]}
    return [f"{name} = {positive} is the class +1, {negative} is -1"]


def _task(name: str, numbers: Sequence[float], words: Sequence[str]) -> str:
    """Of more than two values: regression if they are not all whole numbers; else a person has to say."""
    if words:
        shown = ", ".join(f"'{word}'" for word in words[:4])
        raise ValueError(
            f"{name} has words ({shown}, ...) and not two classes: a YAML block can make two of them "
            "(positive and negative), GPClassifier and GPOrdinalClassifier take more; or, of what are no "
            "values, --missing MARKER"
        )
    if all(number >= 0 and number.is_integer() for number in numbers):
        raise ValueError(f"every {name} is a whole number: --task counts, or --task regression?")
    return REGRESSION


def _idle(features: Sequence[str], X: np.ndarray) -> list[str]:
    """Remarks on columns [N, D] that say nothing, or nothing new."""
    same: dict[bytes, list[str]] = {}
    for feature, column in zip(features, X.T, strict=True):
        same.setdefault(b"" if np.all(column == column[0]) else column.tobytes(), []).append(feature)
    constant = same.pop(b"", [])
    twice = [" = ".join(names) for names in same.values() if len(names) > 1]
    remarks = [f"the same in every row, says nothing: {', '.join(constant)}"] if constant else []
    remarks += [f"one column more than once, so it weighs more: {', '.join(twice)}"] if twice else []
    return remarks


def require(table: Table) -> None:
    """ValueError for rows of which ten folds cannot be made."""
    X, y, target = table.X, table.y, table.target
    if np.all(y == y[0]):
        raise ValueError(f"every {target} is {y[0]:g}: nothing to predict")
    if len(np.unique(X, axis=0)) < FEWEST:
        raise ValueError(f"ten folds need {FEWEST} rows that differ in their features")
    if table.task == CLASSIFICATION and min(np.sum(y > 0), np.sum(y < 0)) < FEWEST:
        few, label = min((int(np.sum(y * sign > 0)), sign) for sign in (1, -1))
        drawn = ", of those drawn" if "drawn by seed" in "".join(table.remarks) else ""
        which = next((f" ({remark})" for remark in table.remarks if "is the class +1" in remark), "")
        raise ValueError(
            f"ten folds need {FEWEST} rows of each class of {target}; {label:+d} has {few}{drawn}{which}"
        )
    if table.task == COUNTS and y.max() > LARGEST_COUNT:
        raise ValueError(f"counts up to {LARGEST_COUNT} here; for larger ones --task regression")
