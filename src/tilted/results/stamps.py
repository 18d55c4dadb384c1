"""By which source, and when, the studies beside the records were made: a sentence beside their numbers.

The records of fits have their provenance (`runs`, `standing`). A study (ground truth, times, lookup tables)
carries its own: each line of its file, or each record, says with which source, on which day and on what it
was made. `note` compares that with today's source.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from tilted import provenance
from tilted.results.grid import WIDTH
from tilted.results.published import row_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("source", "date", "environment")
"""What a line of a study's file says about itself: hash, day, versions and processor; empty if unknown."""

SHOWN = ("python", "numpy", "scipy", "cpu")
LOUD = "NOT BY TODAY'S SOURCE"


class Made(NamedTuple):
    """A part of a study.

    Attributes
    ----------
    group, what : str
        Such as a protocol (or empty) and a data set's row.
    source, date, environment : str
        `COLUMNS`.
    today : str
        Hash of the source that would make it today.
    verified : bool
        Whether today's source was seen to reproduce what can be checked cheaply.
    """

    group: str
    what: str
    source: str
    date: str
    environment: str
    today: str
    verified: bool = False


def columns(source: str) -> dict[str, str]:
    """`COLUMNS` of a line made now by a source."""
    stamp = provenance.stamp(source, {})
    return {"source": source, "date": stamp["date"], "environment": environment(stamp["environment"])}


def environment(versions: dict[str, str]) -> str:
    """Versions and processor (`provenance.environment`) as text."""
    return ", ".join(versions[name] if name == "cpu" else f"{name} {versions[name]}" for name in SHOWN)


def of_table(table: pd.DataFrame, group: str | None, what: str, today: Callable[..., str]) -> list[Made]:
    """Parts of a study's table.

    Parameters
    ----------
    table : pandas.DataFrame
        A file without `COLUMNS` is of unknown source.
    group, what : str
        Columns that name a part; there may be no group.
    today : callable
        (group if there is one, what) -> hash of today's source.
    """
    parts = [group, what] if group else [what]
    found = []
    stamped = table.reindex(columns=[*parts, *COLUMNS]).astype(object)
    for line in stamped.where(stamped.notna(), "").drop_duplicates().to_dict("records"):
        name = row_of(line[what])
        source, date, versions = (line[column] for column in COLUMNS)
        now = today(*(line[part] for part in parts))
        found.append(Made(line[group] if group else "", name, source, date, versions, now))
    return found


def sentences(made: Iterable[Made], checked: str = "") -> list[str]:
    """One for each standing, source, day and environment; those of today's source first.

    Parameters
    ----------
    made : iterable of Made
    checked : str
        What `Made.verified` is about, such as "approximations".
    """
    alike: dict[tuple[int, str, str, str], dict[str, list[str]]] = {}
    for part in made:
        standing = _standing(part)
        name = (standing, "" if standing == TODAYS else part.source, part.date, part.environment)
        alike.setdefault(name, {}).setdefault(part.group, []).append(part.what)
    return [_sentence(*name, parts, checked) for name, parts in sorted(alike.items(), key=lambda x: x[0])]


TODAYS, VERIFIED, OUTDATED = range(3)


def _standing(part: Made) -> int:
    if part.source and part.source == part.today:
        return TODAYS
    return VERIFIED if part.verified else OUTDATED


def _sentence(
    standing: int, source: str, date: str, environment: str, parts: dict[str, list[str]], checked: str
) -> str:
    names = "; ".join(f"{group} {', '.join(dict.fromkeys(what))}".strip() for group, what in parts.items())
    where = "; ".join(filter(None, [date or "day not recorded", environment]))
    if standing == TODAYS:
        return f"Made by today's source ({where}): {names}."
    by = f"source {source or 'not recorded'}; {where}"
    if standing == VERIFIED:
        return f"Made by other source ({by}), {checked} verified with today's: {names}."
    return f"**{LOUD}** ({by}): {names}."


def note(made: Iterable[Made], checked: str = "") -> list[str]:
    """`sentences` as wrapped lines of Markdown."""
    return [line for text in sentences(made, checked)
            for line in textwrap.wrap(text, WIDTH, break_on_hyphens=False)]  # fmt: skip


def loud(study: str, made: Iterable[Made]) -> list[str]:
    """What nobody should overlook: the parts of a study that are neither today's nor verified."""
    outdated = [part for part in made if _standing(part) == OUTDATED]
    return [text.replace(f"**{LOUD}**", f"{LOUD}: {study}") for text in sentences(outdated)]
