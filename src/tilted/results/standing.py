"""What today's source says about the records: made by it, verified with it, or neither.

Records of another source are named loudly (`Notes.outdated`), unless today's source was seen to reproduce a
sample of them (`verify`): of each group of one (protocol, data set, method, source) at least `ENOUGH` folds,
or all if there are fewer, and none that differs. Then they are named quietly, with the number of folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tilted.results import spans
from tilted.results.grid import counted, grid, items
from tilted.results.published import row_of
from tilted.results.runs import SEED, todays
from tilted.results.verified import BY_SEARCH, DIFFERS, PASSED, SCRATCH, Check

if TYPE_CHECKING:
    from typing import Any

ENOUGH = 30
VERIFIED = "Made by other source, a sample verified with today's"
GROUP = (*SEED[:3], "source", "choices")


@dataclass(frozen=True)
class Notes:
    """Lines about records, each for a (protocol, method) and one reason.

    Attributes
    ----------
    outdated : list of str
        Not made by today's source under today's protocol, and not verified.
    verified : list of str
        Made by other source, and verified with today's.
    differing : list of str
        Made by today's source, which gives other numbers now (on another machine, with other packages).
    """

    outdated: list[str]
    verified: list[str]
    differing: list[str]

    @property
    def loud(self) -> list[str]:
        """What nobody should overlook."""
        old = [f"NOT BY TODAY'S SOURCE: {line}" for line in self.outdated]
        return old + [f"NOT REPRODUCED: {line}" for line in self.differing]


class Tally(NamedTuple):
    """Folds of a group that were rerun: verified, those of them from scratch too, and differing."""

    verified: int = 0
    scratch: int = 0
    differing: int = 0

    def plus(self, other: Tally) -> Tally:
        """Both together."""
        return Tally(*(a + b for a, b in zip(self, other, strict=True)))


class Group(NamedTuple):
    """Provenance entries (`runs.entries`) of one `GROUP`, and what reruns found."""

    entries: list[dict[str, Any]]
    tally: Tally

    @property
    def fits(self) -> int:
        """Number of fits."""
        return sum(entry["n_attempted"] for entry in self.entries)

    @property
    def dates(self) -> str:
        """Days of the runs."""
        return _days([entry["date"] for entry in self.entries])

    @property
    def sampled(self) -> bool:
        """Whether enough folds were verified, and none differs."""
        return not self.tally.differing and self.tally.verified >= min(ENOUGH, self.fits)


def notes(listed: Iterable[dict[str, Any]], checks: Iterable[Check] = ()) -> Notes:
    """What to say about provenance entries, given the checks that count (`verified.counting`)."""
    outdated: dict[tuple[str, str, str], list[Group]] = {}
    verified: dict[tuple[str, str, str], list[Group]] = {}
    differing: dict[tuple[str, str, str], list[Group]] = {}
    for group in _groups(listed, list(checks)):
        first = group.entries[0]
        why, only_source = _difference(first, group.dates)
        name = first["protocol"], first["method"], why
        if only_source and group.sampled:
            other = f"made by other source ({first['source']}, {group.dates})"
            verified.setdefault((*name[:2], other), []).append(group)
        elif why:
            outdated.setdefault(name, []).append(group)
        elif group.tally.differing:
            differing.setdefault(name, []).append(group)
    return Notes(*([_line(*item) for item in part.items()] for part in (outdated, verified, differing)))


def outdated(listed: Iterable[dict[str, Any]]) -> str:
    """In a line, how many fits of how many protocols are not today's; empty if none."""
    groups = [g for g in _groups(listed, []) if _difference(g.entries[0], g.dates)[0]]
    if not groups:
        return ""
    fits = counted(sum(group.fits for group in groups), "fit")
    protocols = counted(len({group.entries[0]["protocol"] for group in groups}), "protocol")
    days = _days([entry["date"] for group in groups for entry in group.entries])
    return f"NOT BY TODAY'S SOURCE: {fits} of {protocols}, made {days}"


def _groups(listed: Iterable[dict[str, Any]], checks: list[Check]) -> list[Group]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for entry in listed:
        found.setdefault(tuple(entry[name] for name in GROUP), []).append(entry)
    by_name: dict[tuple[Any, ...], list[Check]] = {}
    for check in checks:
        by_name.setdefault(check[:3], []).append(check)
    return [Group(entries, _tally(entries, by_name.get(name[:3], []))) for name, entries in found.items()]


def _tally(entries: list[dict[str, Any]], checks: list[Check]) -> Tally:
    seeds = {seed for entry in entries for seed in spans.numbers(entry["seeds"])}
    folds: dict[tuple[int, int], list[Check]] = {}
    for check in checks:
        if check.seed in seeds:
            folds.setdefault((check.seed, check.fold), []).append(check)
    tally = Tally()
    for found in folds.values():
        verdicts = {check.passed for check in found}
        good = bool(verdicts & {PASSED, BY_SEARCH}) and DIFFERS not in verdicts
        scratch = good and any(check.how == SCRATCH and check.passed == PASSED for check in found)
        tally = tally.plus(Tally(good, scratch, DIFFERS in verdicts))
    return tally


def _difference(entry: dict[str, Any], dates: str) -> tuple[str, bool]:
    """Why a group's fits are not today's (empty if they are), and whether a source is the whole reason."""
    if not entry["source"]:
        return "made by unknown source", False
    today = todays(*(entry[name] for name in SEED[:3]))
    if today is None:
        return "not a method of this protocol any more", False
    source, choices = today
    parts = []
    if entry["source"] != source:
        parts.append(f"source {entry['source']} of {dates}, today's differs")
    if entry["choices"] != choices:
        parts.append(f"protocol {entry['choices']} of {dates}, today's differs")
    return "; ".join(parts), entry["source"] != source and entry["choices"] == choices


def _line(name: tuple[str, str, str], groups: list[Group]) -> str:
    """A line for groups of one (protocol, method, reason)."""
    protocol, method, why = name
    rows = ", ".join(dict.fromkeys(row_of(group.entries[0]["dataset"]) for group in groups))
    tally = Tally()
    for group in groups:
        tally = tally.plus(group.tally)
    parts = [why] if why else []
    if tally.differing:
        parts.append(f"{tally.differing} of {tally.verified + tally.differing} folds rerun differ")
    elif tally.verified:
        parts.append(f"{tally.verified} folds verified with today's ({tally.scratch} from scratch)")
    fits = counted(sum(group.fits for group in groups), "fit")
    return f"{protocol} {method}, {fits} of {rows}: {', '.join(parts)}"


def summary_lines(
    listed: Sequence[dict[str, Any]], environments: dict[str, dict[str, Any]], checks: Iterable[Check] = ()
) -> list[str]:
    """Provenance as Markdown: fits and core-hours a method, machines, and what is not today's."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for entry in listed:
        found.setdefault((entry["protocol"], entry["method"]), []).append(entry)
    cells = [
        (
            *name,
            str(sum(entry["n_attempted"] for entry in parts)),
            str(sum(entry["n_converged"] for entry in parts)),
            f"{sum(entry['core_seconds'] for entry in parts) / 3600:.3f}",
            _days([entry["date"] for entry in parts]),
        )
        for name, parts in found.items()
    ]
    header = ("Protocol", "Method", "Fits", "Converged", "Core-hours", "Run on")
    machines = (
        ", ".join(f"{name} {value}" for name, value in environment.items())
        for environment in environments.values()
    )
    lines = [*grid(header, "llrrrl", cells), ""]
    if environments:
        lines += [*items(machines), ""]
    return [*lines, *_verdict(notes(listed, checks))]


def _verdict(found: Notes) -> list[str]:
    parts = (
        ("### NOT BY TODAY'S SOURCE", found.outdated),
        ("### NOT REPRODUCED by today's source, which made them", found.differing),
        (f"{VERIFIED}:", found.verified),
    )
    lines = [text for heading, texts in parts if texts for text in (heading, "", *items(texts), "")]
    return lines[:-1] or ["Every fit was made by today's source and protocols."]


def _days(dates: Iterable[str]) -> str:
    known = sorted({date for date in dates if date})
    if not known:
        return "unknown"
    return known[0] if len(known) == 1 else f"{known[0]} to {known[-1]}"
