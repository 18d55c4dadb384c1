"""The receipt: what was repeated and whether it agrees, in plain words and as JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers.core import claims, runs, store
from papers.core.agreement import BETTER, CHAOTIC, DIFFERENT, SAME, WORSE
from papers.core.grid import counted, grid

if TYPE_CHECKING:
    from typing import Any

    from papers.reproduce.comparison import Pairs, Statistic
    from papers.reproduce.names import Target
    from papers.reproduce.sample import Sample

    Verdicts = Mapping[str, Mapping[str, str]]

PASS, FAIL, RE_EVALUATED = "PASS", "FAIL", "RE-EVALUATED"
FILES = JSON, PAGE = ("receipt.json", "receipt.md")
AGREEING, ELSEWHERE = 0.95, 0.25
"""Least share of repeated rows that agree, of those that must; largest share of searches that may end in
another optimum: the objective of some has several, and rounding decides between them."""
MOST_STATISTICS = 12
"""Statistics that a terminal shows."""


@dataclass(frozen=True)
class Receipt:
    """The result of repeating rows behind a target.

    Attributes
    ----------
    target : Target
    sample : Sample
    pairs : Pairs
    statistics : sequence of Statistic
    verdicts, committed : mapping
        Claim -> protocol -> verdict, of the records today and of the committed audit.
    damage : sequence of str
        What is wrong with the records.
    missing : sequence of str
        Data that were not to be had.
    seed : int
        Of the draw.
    wall : float
        Seconds.
    """

    target: Target
    sample: Sample
    pairs: Pairs
    statistics: Sequence[Statistic]
    verdicts: Verdicts
    committed: Verdicts
    damage: Sequence[str]
    missing: Sequence[str]
    seed: int
    wall: float

    @cached_property
    def statuses(self) -> list[str]:
        """Return the result of comparing each repeated row with the record."""
        return [row.status for agreement in self.pairs.agreements.values() for row in agreement.rows]

    @cached_property
    def failures(self) -> list[str]:
        """Return the reasons for which the receipt fails, a sentence each."""
        sentences = [*self.damage, *(self.missing if not self.statuses else [])]
        must = [status for status in self.statuses if status != CHAOTIC]
        elsewhere = sum(status in (BETTER, WORSE) for status in must)
        different = must.count(DIFFERENT)
        if self.pairs.lost and not self.missing:
            sentences.append(f"{counted(self.pairs.lost, 'row')} were not made again")
        if elsewhere > ELSEWHERE * len(must):
            sentences.append(f"{elsewhere} of {len(must)} searches ended in another optimum")
        if different > (1 - AGREEING) * len(must):
            sentences += [
                f"{study.file}: {line}"
                for study, agreement in self.pairs.agreements.items()
                for line in agreement.differing
            ]
        sentences += [
            f"{study.file}: {line}"
            for study, agreement in self.pairs.agreements.items()
            for line in agreement.means
        ]
        sentences += [
            f"{s.name}: {s.repeated:.4g}, recorded {s.record:.4g}, more than {s.allowed:.2g} apart"
            for s in self.statistics
            if not s.agrees
        ]
        if self.verdicts != self.committed:
            sentences.append("the verdict differs from the committed one: make tables")
        return sentences

    @property
    def result(self) -> str:
        """One of `PASS`, `FAIL` and `RE_EVALUATED`: the last if no row could be repeated within the time."""
        if self.failures:
            return FAIL
        return RE_EVALUATED if self.sample.recorded and not self.statuses else PASS

    def headline(self) -> str:
        """Return the result, the rows that agree and the verdict in a sentence."""
        verdict = "; ".join(
            f"{name} {verdict} ({protocol})"
            for name, of in self.verdicts.items()
            for protocol, verdict in of.items()
        )
        verdict = f" On all records: {verdict}." if verdict else ""
        if self.result == FAIL:
            return f"{FAIL}: {self.failures[0]}.{verdict}"
        if self.result == RE_EVALUATED:
            return f"{RE_EVALUATED}: no row can be repeated within the time.{verdict}"
        if not self.sample.recorded:
            return f"{PASS}: the numbers are computed from formulas, without records.{verdict}"
        same, all_rows = self.statuses.count(SAME), len(self.statuses)
        text = f"{PASS}: {same} of {all_rows} repeated rows agree with the record"
        better, worse = (self.statuses.count(status) for status in (BETTER, WORSE))
        if better or worse:
            text += f"; {better} reached a better optimum, {worse} a worse one"
        if chaotic := self.statuses.count(CHAOTIC):
            text += f"; {chaotic} depend on rounding, and their means agree"
        return f"{text}.{verdict}"

    def effort(self) -> str:
        """Return what was repeated, by which environment."""
        n = sum(map(len, self.sample.rows.values()))
        extra = len(self.statuses) - n
        with_them = f" and {extra:,} that come with them" if extra > 0 else ""
        return (
            f"Repeated: {n:,} of {self.sample.recorded:,} rows{with_them}, drawn with seed {self.seed}, "
            f"in {self.wall:.0f} s ({', '.join(runs.blas())})."
        )

    def everything(self) -> str:
        """Return the command that repeats every row, and its cost."""
        minutes = self.sample.every / 60
        cost = f"{minutes:.0f} core-minutes" if minutes < 120 else f"{minutes / 60:.0f} core-hours"
        return f"Everything again: tilted reproduce {self.target.name} --fresh ({cost})"

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as JSON values."""
        stamp = runs.stamp()
        return {
            "name": self.target.name,
            "kind": self.target.kind,
            "title": self.target.title,
            "result": self.result,
            "passed": self.result != FAIL,
            "failures": self.failures,
            "verdict": self.verdicts,
            "committed_verdict": self.committed,
            "rows": {
                "recorded": self.sample.recorded,
                "repeated": len(self.statuses),
                **{
                    status: self.statuses.count(status)
                    for status in (SAME, BETTER, WORSE, CHAOTIC, DIFFERENT)
                },
            },
            "differences": [
                line for agreement in self.pairs.agreements.values() for line in agreement.differences
            ],
            "statistics": [{**s._asdict(), "agrees": s.agrees} for s in self.statistics],
            "seed": self.seed,
            "seconds": round(self.wall, 1),
            "core_seconds_of_all": round(self.sample.every),
            "environment": stamp["environment"],
            "other_versions": other_versions(),
            "commit": stamp["commit"],
            "date": stamp["date"],
        }

    def lines(self, most: int | None = None) -> list[str]:
        """Return the receipt as lines of Markdown, with so many statistics at most."""
        listed = sorted(self.statistics, key=lambda s: s.agrees)[:most]
        cells = [(s.name, f"{s.repeated:.4g}", f"{s.record:.4g}", f"{s.allowed:.2g}") for s in listed]
        lines = [f"{self.target.name}: {self.target.title}", self.headline(), self.effort()]
        if self.statuses == [] and not self.sample.rows:
            lines = lines[:2]
        lines += [f"- {line}" for line in self.failures[1:]]
        lines += [f"- not repeated: {line}" for line in self.missing if line not in self.failures]
        if cells:
            lines += ["", *grid(("On these rows", "repeated", "record", "may differ by"), "lrrr", cells)]
        n_more = len(self.statistics) - len(listed)
        lines += [f"and {n_more} more in {PAGE}"] if n_more > 0 else []
        lines += [""] if cells else []
        lines += [self.everything()] if self.sample.recorded else []
        return [*lines, *(f"Other versions than the lock's: {name}" for name in other_versions())]

    def markdown(self) -> list[str]:
        """Return the page."""
        first, *body = self.lines()
        statements = [claims.load()[name].statement for name in self.target.claims]
        stamp = runs.stamp()
        end = f"{stamp['environment']}; commit {stamp['commit'] or 'unknown'}; {stamp['date']}."
        return [f"# {first}", "", *(text for line in statements for text in (line, "")), *body, "", end]

    def terminal(self, width: int = 80) -> list[str]:
        """Return the lines of a terminal."""
        return [
            piece
            for line in self.lines(MOST_STATISTICS)
            for piece in ([line] if line.startswith("|") else textwrap.wrap(line, width) or [""])
        ]


def other_versions() -> list[str]:
    """Return packages that are not those of the lock, with its version, as ``numpy 2.4.5 (2.4.6)``."""
    lock = runs.CHECKOUT / "requirements.lock"
    if not lock.is_file():
        return []
    locked = dict(re.findall(r"^([\w-]+)==([\w.]+)", lock.read_text(encoding="utf-8"), re.MULTILINE))
    installed = runs.versions(runs.PACKAGES)
    return [
        f"{name} {version} ({locked[name]})"
        for name, version in installed.items()
        if locked.get(name, version) != version
    ]


def encoded(receipts: Sequence[Receipt]) -> str:
    """Return the receipts as JSON: one as an object, several as a list."""
    objects = [receipt.as_dict() for receipt in receipts]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=1) + "\n"


def write(receipts: Sequence[Receipt], folder: Path) -> tuple[Path, Path]:
    """Write `FILES` and return their paths."""
    text = "\n\n".join("\n".join(receipt.markdown()) for receipt in receipts)
    return (
        store.write_text(folder / JSON, encoded(receipts)),
        store.write_text(folder / PAGE, text + "\n"),
    )
