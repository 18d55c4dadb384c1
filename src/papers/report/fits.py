"""Records as scripts that a page loads when its reader asks for the fits behind a claim.

A page opened from a file may load scripts and nothing else, so every file of records becomes one script,
column by column; which of its lines a page shows (`Behind`) is said by the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import strict
from papers.evidence.store import write_text

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).with_name("behind.yaml")
FOLDER = "fits"
HIDDEN = {"run", "pair", "message", "clipped", "retries", "evaluations", "n_train", "n_test"}
"""Columns that would be in a reader's way; the records have them."""
DIGITS = 5


class Behind(NamedTuple):
    """Lines of a file of records: the file, the script it became, which lines, and how many."""

    file: str
    script: str
    where: Mapping[str, list[str]]
    n: int


@lru_cache(maxsize=1)
def of_claims() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Claim -> file of records -> column -> values."""
    return dict(strict.read(FILE))


class Records:
    """The files of records that pages ask for, each read and written once.

    Parameters
    ----------
    folder : path
        Of all records.
    site : path
        Folder of the site.
    """

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.site = folder, site
        self.frames: dict[str, pd.DataFrame] = {}

    def behind(self, wanted: Mapping[str, Mapping[str, list[str]]]) -> list[Behind]:
        """What a page shows of some files; those not there and selections without a line are left out.

        Raises
        ------
        KeyError
            A column that the file does not have.
        """
        found = []
        for file, where in wanted.items():
            if file not in self.frames and not Path(self.folder, file).is_file():
                continue
            frame = self._frame(file)
            chosen = frame
            for column, values in where.items():
                chosen = chosen[chosen[column].astype(str).isin(values)]
            if len(chosen):
                found.append(Behind(file, self._script(file), dict(where), len(chosen)))
        return found

    def has(self, file: str, column: str) -> bool:
        """Whether there is such a file with such a column."""
        return Path(self.folder, file).is_file() and column in self._frame(file)

    def _frame(self, file: str) -> pd.DataFrame:
        import pandas as pd

        if file not in self.frames:
            frame = pd.read_csv(self.folder / file, low_memory=False)
            frame = frame.drop(columns=HIDDEN & set(frame)).dropna(axis="columns", how="all")
            self.frames[file] = frame
            content = json.dumps([_column(frame[name]) for name in frame], separators=(",", ":"))
            write_text(self.site / self._script(file), f'tiltedFits["{file}"]={content};\n')
        return self.frames[file]

    def _script(self, file: str) -> str:
        return f"{FOLDER}/{file.split('.')[0].replace('/', '-')}.js"


def _column(values: pd.Series) -> list[object]:
    """Name, different words or null, and numbers: those of the words, or the values themselves."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values) and values.dtype != bool:
        return [values.name, None, [_short(value) for value in values.tolist()]]
    codes, words = pd.factorize(values.fillna("").astype(str))
    return [values.name, list(words), codes.tolist()]


def _short(value: float) -> float | None:
    if value != value:
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def files() -> dict[str, list[str]]:
    """Paper -> its files of records that some claim rests on."""
    listed: dict[str, list[str]] = {}
    for file in dict.fromkeys(file for wanted in of_claims().values() for file in wanted):
        listed.setdefault(file.split("/")[0].upper(), []).append(file)
    return listed
