"""What hand-written documents quote of generated tables and of records, so that it cannot grow stale.

A section ``<!-- table: FILE, HEADING -->`` to ``<!-- end -->`` holds the first table under a heading of a
Markdown file of the tables' folder. A number ``<!-- n: LABEL -->564<!-- -->`` within a sentence is a verdict
of the audit, with how many rows are yes, no and undecided, if its label is a claim and a protocol
(``QP3 as-released``). Others are computed as a line ``LABEL: FILE | QUERY | WHAT`` of ``docs/numbers.ini``,
in the document's section, says: from the lines of a CSV file, a record or a table, for which a query of
pandas is true (all, where it is empty). WHAT is ``count``, or a function of a column such as ``sum n_above``
(`FUNCTIONS`), then, if it is not to be a whole number, ``%``-formatting as of ``max excess %.1f``.
"""

from __future__ import annotations

import configparser
import functools
import re
from collections.abc import Callable
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence.store import write_text

if TYPE_CHECKING:
    import pandas as pd

SECTION = re.compile(r"(<!-- table: (\S+), ([^>]*?) -->\n).*?(<!-- end -->)", re.S)
NUMBER = re.compile(r"(<!-- n: ([^>]+?) -->).*?(<!-- -->)", re.S)
DEFINITION = re.compile(r"(\S+) \| (.*?) ?\| ([^|]+)")
VERDICT = re.compile(r"([A-Z]+\d+) ([a-z-]+)")
FUNCTIONS: dict[str, Callable[[pd.Series], float]] = {
    "sum": lambda values: values.sum(),
    "min": lambda values: values.min(),
    "max": lambda values: values.max(),
    "mean": lambda values: values.mean(),
    "median": lambda values: values.median(),
    "different": lambda values: values.nunique(),
    "only": lambda values: values.item(),
}


def refresh(document: str | Path, tables: str | Path, records: str | Path, numbers: str | Path) -> Path:
    """Bring the quoted tables and numbers of a document up to date.

    Parameters
    ----------
    document : str or Path
    tables, records : str or Path
        Folders of generated tables and of records; numbers are looked for in both, tables first.
    numbers : str or Path
        What says how numbers are computed.

    Raises
    ------
    ValueError
        A quoted table does not exist, a number cannot be computed, or it is not said how, or it is said of
        one that the document does not have.
    FileNotFoundError
        A quoted file does not exist.
    """
    text = Path(document).read_text(encoding="utf-8")
    text = SECTION.sub(lambda m: f"{m[1]}\n{_table(Path(tables, m[2]), m[3])}\n\n{m[4]}", text)
    wanted = {label for _, label, _ in NUMBER.findall(text)}
    said, folders = _definitions(Path(document).name, wanted, numbers), (str(tables), str(records))
    return write_text(document, NUMBER.sub(lambda m: m[1] + _number(folders, *said[m[2]]) + m[3], text))


def _definitions(name: str, wanted: set[str], numbers: str | Path) -> dict[str, tuple[str, str, str]]:
    """Label of a number -> file, query, what."""
    verdicts = {label: match for label in wanted if (match := VERDICT.fullmatch(label))}
    said = {
        label: ("audit.csv", f'id == "{claim[1]}" and protocol == "{claim[2]}"', "verdict")
        for label, claim in verdicts.items()
    }
    for label, line in definitions(numbers).get(name, {}).items():
        parts = DEFINITION.fullmatch(line)
        if parts is None or label in said or label not in wanted:
            raise ValueError(f"{numbers}: not 'FILE | QUERY | WHAT' of a number of {name}: {label}: {line}")
        said[label] = parts[1], parts[2], parts[3]
    if lacking := sorted(wanted - said.keys()):
        raise ValueError(f"{numbers}: nothing says how number {lacking[0]} of {name} is computed")
    return said


def definitions(numbers: str | Path) -> dict[str, dict[str, str]]:
    """Document -> label of a number -> how it is computed.

    Raises
    ------
    ValueError
        It is no such file, or says two things of one number.
    """
    parser = configparser.ConfigParser(delimiters=(":",), comment_prefixes=("#",), interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]  # labels keep their case
    try:
        parser.read_string(Path(numbers).read_text(encoding="utf-8"))
    except configparser.Error as error:
        raise ValueError(f"{numbers}: {error}") from None
    return {name: dict(parser[name]) for name in parser.sections()}


def _table(path: Path, heading: str) -> str:
    """The first pipe table under the first heading of a file that starts with ``heading``."""
    lines = iter(path.read_text(encoding="utf-8").splitlines())
    for line in lines:
        if line.startswith("#") and line.lstrip("# ").startswith(heading):
            break
    body = takewhile(lambda line: not line.startswith("#"), lines)
    rows = list(takewhile(lambda line: line.startswith("|"), dropwhile(lambda line: line[:1] != "|", body)))
    if not rows:
        raise ValueError(f"{path} has no table under a heading '{heading}'")
    return "\n".join(rows)


def _number(folders: tuple[str, ...], name: str, query: str, what: str) -> str:
    """Text of a number that a document quotes."""
    frame = _frame(folders, name)
    try:
        lines = frame.query(" ".join(query.split()), engine="python") if query else frame
        if what == "count":
            return f"{len(lines):,}"
        if what == "verdict":
            (line,) = lines.itertuples()
            return f"{line.verdict} ({line.yes}/{line.no}/{line.undecided})"
        function, column, *form = what.split()
        value = FUNCTIONS[function](lines[column])
        return re.sub("^-", "−", form[0] % value if form else f"{int(value):,}")  # a minus, no hyphen
    except (AttributeError, KeyError, NameError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"no number '{name} | {query} | {what}': {error}") from error


@functools.lru_cache(maxsize=32)
def _frame(folders: tuple[str, ...], name: str) -> pd.DataFrame:
    import pandas as pd

    paths = [Path(folder, name) for folder in folders]
    path = next((path for path in paths if path.is_file()), paths[0])
    return pd.read_csv(path, keep_default_na=False, na_values=[""])
