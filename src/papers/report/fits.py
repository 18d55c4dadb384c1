"""Records as scripts that a page loads when its reader asks for the fits behind a claim.

A page opened from a file may load scripts and nothing else, so every file of records becomes one script,
column by column; which of its lines a page shows (`Behind`) is said by the page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.evidence import claims
from papers.evidence.store import write_text
from papers.report.papers import READS

if TYPE_CHECKING:
    import pandas as pd

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


def of_claims() -> dict[str, dict[str, dict[str, list[str]]]]:
    """Claim -> file of records that it is judged by -> column -> values, as texts."""
    return {
        name: {
            one.study.file: {
                column: list(dict.fromkeys(map(str, values))) for column, values in one.where.items()
            }
            for one in READS[claim.paper].CLAIMS[name]
        }
        for name, claim in claims.load().items()
    }


def of_paper(paper: str) -> list[str]:
    """Files of records that some claim of a paper is judged by."""
    behind = of_claims()
    return list(dict.fromkeys(file for name in claims.of_paper(paper) for file in behind[name]))


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
