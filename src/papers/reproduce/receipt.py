"""The receipt: what was made again, what came of it, by what it may be believed; as JSON and as Markdown."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import claims, runs, store
from papers.evidence.grid import grid
from papers.reproduce.fits import RECEIPT
from papers.reproduce.results import SAME, SHARE

if TYPE_CHECKING:
    from typing import Any

    from papers.evidence.runs import Run
    from papers.reproduce.names import Target
    from papers.reproduce.needs import Needs
    from papers.reproduce.results import Result
    from papers.reproduce.sample import Sampled

SCHEMA = Path(__file__).with_name("receipt.schema.json")
PACKAGES = ("tilted", "numpy", "scipy", "scikit-learn", "pandas", "snakemake")
COMPARED_WITH = ("results", "tables", "figures", "data")
"""What a commit has of records, of what was made of them, and of printed numbers."""
MADE_BY = ("study", "lines", "environment", "commit", "date")
"""Of a run whose fits are not recorded."""
CHECKED = ("study", "group", "fit", "how", "passed", "note")
"""Of a line that was made again."""
UNITS = ("seed", "split", "set", "problem", "repeat")
"""Columns whose values are seeds, or numbers that seeds are made of."""

LEGEND = (
    f"Mine passes within the tolerance of the committed number: {SAME:g} (relative to 1 or the number) from "
    f"the same fits; where fits were made, {100 * SHARE:g} % of the half width of its 95 % interval, or of "
    "the tolerance against the printed number. Of the sampled fits a quarter may end elsewhere: then the "
    "numbers are of records with theirs in place."
)


@dataclass(frozen=True)
class Receipt:
    """What came of making something again.

    Attributes
    ----------
    target : Target
    needs : Needs
    result : Result
    sampled : Sampled or None
        None if all fits were made.
    made : int
        Jobs that were run.
    draw : mapping
        Seed and share of what was drawn.
    made_by : sequence of Run
        Runs of the fits that are not recorded: some may be older, as those of a run that was interrupted.
    """

    target: Target
    needs: Needs
    result: Result
    sampled: Sampled | None
    made: int
    draw: Mapping[str, Any]
    made_by: Sequence[Run] = ()

    @property
    def passed(self) -> bool:
        """Whether numbers and verdicts are the committed ones and sampled fits pass (`Sampled.passed`)."""
        return self.result.passed and (self.sampled is None or self.sampled.passed)

    @cached_property
    def uncommitted(self) -> list[str] | None:
        """Files of `COMPARED_WITH` that are not as committed; None where that is unknown."""
        return runs.uncommitted(*COMPARED_WITH)

    def _protocols(self, claim: str) -> list[str]:
        """Under which a claim is judged, here or in the committed audit."""
        return [*{**self.result.committed[claim], **self.result.mine[claim]}]

    def as_dict(self) -> dict[str, Any]:
        """The receipt as JSON values; `SCHEMA` describes it."""
        stamp = runs.stamp()
        return {
            "name": self.target.name,
            "kind": self.target.kind,
            "paper": self.target.paper,
            "title": self.target.title,
            "passed": self.passed,
            "verdict": self.result.mine,
            "committed_verdict": self.result.committed,
            "published": {
                name: f"{claims.load()[name].where}: {claims.load()[name].wording}"
                for name in self.target.claims
            },
            "coverage": {
                name: {protocol: claims.load()[name].needs(protocol) for protocol in self._protocols(name)}
                for name in self.target.claims
            },
            "needs": self.needs.as_dict(),
            "lines": [
                {**line._asdict(), "tolerance": line.tolerance if math.isfinite(line.tolerance) else None}
                for line in self.result.lines
            ],
            "sample": self.sampled
            and {
                "sentence": self.sampled.sentence(),
                "passed": self.sampled.passed,
                "checks": [{name: getattr(check, name) for name in CHECKED} for check in self.sampled.checks],
            },
            "jobs_run": self.made,
            "made_by": [{name: getattr(run, name) for name in MADE_BY} for run in self.made_by],
            "seeds": {**self.draw, "units": _units(self.needs)},
            "versions": runs.versions(PACKAGES),
            "commit": stamp["commit"],
            "uncommitted": self.uncommitted,
            "environment": stamp["environment"],
            "date": stamp["date"],
        }

    def markdown(self) -> list[str]:
        """The receipt to read."""
        said = self.as_dict()
        lines = [f"# {self.target.name}: {self.target.title}", "", self.headline(), ""]
        for name in self.target.claims:
            lines += [claims.load()[name].statement, ""]
        if self.sampled is not None:
            lines += [f"Fits: {self.sampled.sentence()}.", ""]
            lines += [f"- {text}" for text in self.differing()] + ([""] if self.differing() else [])
        lines += [f"Jobs run: {self.made}.", ""] if self.made else []
        lines += [text for older in self.older() for text in (older, "")]
        cells = [
            (
                line.what,
                *map(_shown, (line.mine, line.committed, line.published)),
                _shown(line.tolerance),
                "pass" if line.passed else "FAIL",
                line.note,
            )
            for line in self.result.lines
        ]
        header = ("What", "Mine", "Committed", "Published", "Tolerance", "", "Row of the audit")
        lines += [*grid(header, "lrrrrll", cells), "", LEGEND, ""] if cells else []
        environment = f"{said['environment']}; commit {said['commit'] or 'unknown'}; {said['date']}"
        return [*lines, f"{environment}; drawn by seed {said['seeds']['seed']}."]

    def headline(self) -> str:
        """Whether it passed, and verdicts, in a sentence."""
        n, passed = len(self.result.lines), sum(line.passed for line in self.result.lines)
        changed = self.uncommitted
        of = f"those of this checkout, {_named(changed)} not committed" if changed else "the committed ones"
        of = "those of this checkout, of which no commit is known" if changed is None else of
        parts = [f"{'PASS' if self.passed else 'FAIL'}: {passed} of {n} numbers are {of}"]
        if self.sampled is not None and not self.sampled.passed:
            differ = bool(self.sampled.differing)
            parts.append(self.sampled.sentence() if differ else "no fit behind them could be made again")
        for name, verdicts in self.result.mine.items():
            for protocol, verdict in verdicts.items():
                was = self.result.committed.get(name, {}).get(protocol, "not judged")
                beside = "" if verdict == was else f" (committed: {was})"
                parts.append(f"{name}, {protocol}: {verdict}{beside}")
        return "; ".join(parts) + "."

    def older(self) -> list[str]:
        """Fits that were made by other versions, or code, than this receipt names."""
        stamp = runs.stamp()
        return [
            f"{run.lines:,} lines of {run.study} were made on {run.date} by {run.environment}; "
            f"commit {run.commit or 'unknown'}."
            for run in self.made_by
            if (run.environment, run.commit) != (stamp["environment"], stamp["commit"])
        ]

    def differing(self) -> list[str]:
        """Sampled fits that differ from their records, and by how much."""
        checks = self.sampled.differing if self.sampled else []
        return [f"{c.study}, {c.group}, {c.fit} ({c.how}): by {c.difference:.2g}; {c.note}" for c in checks]

    def terminal(self, width: int = 80, most: int = 12) -> list[str]:
        """The receipt in lines of a width: what failed first, then as many numbers as fit."""
        lines = [f"{self.target.name}: {self.target.title}", self.headline()]
        lines += [f"Fits: {self.sampled.sentence()}."] if self.sampled else []
        lines += [*self.older(), *self.differing()]
        wrapped = [piece for line in lines for piece in _wrapped(line, width)]
        numbers = sorted(self.result.lines, key=lambda line: line.passed)
        if not numbers:
            return wrapped
        wrapped.append(f"{'':4} {'mine':>10} {'committed':>10} {'published':>9}")
        for line in numbers[:most]:
            mine, committed, published = (_shown(x, 4) for x in (line.mine, line.committed, line.published))
            cells = f"{mine:>10} {committed:>10} {published:>9}"
            text = f"{'pass' if line.passed else 'FAIL'} {cells}  {line.what}"
            wrapped.append(text if len(text) <= width else f"{text[: width - 3]}...")
        left = len(numbers) - most
        return [*wrapped, f"and {left} more numbers in the receipt"] if left > 0 else wrapped


def write(receipts: Sequence[Receipt], folder: Path) -> tuple[Path, Path]:
    """Write ``receipt.json`` and ``receipt.md``; their paths."""
    text = "\n\n".join("\n".join(receipt.markdown()) for receipt in receipts)
    return (
        store.write_text(folder / RECEIPT[0], encoded(receipts)),
        store.write_text(folder / RECEIPT[1], text + "\n"),
    )


def encoded(receipts: Sequence[Receipt]) -> str:
    """One receipt as JSON, several as a list."""
    said = [receipt.as_dict() for receipt in receipts]
    return json.dumps(said[0] if len(said) == 1 else said, indent=1, allow_nan=False) + "\n"


def _units(needs: Needs) -> dict[str, list[int]]:
    """Column -> first and last of the seeds and the like behind the lines."""
    found: dict[str, list[int]] = {}
    for frame in needs.frames.values():
        for name in UNITS:
            if name in frame and len(frame) and frame[name].dtype.kind in "iuf":  # a problem may have a name
                ends = found.get(name, []) + [int(frame[name].min()), int(frame[name].max())]
                found[name] = [min(ends), max(ends)]
    return found


def _named(files: Sequence[str], most: int = 3) -> str:
    """Some files and how many more, with the verb."""
    more = [f"{len(files) - most} more"] if len(files) > most else []
    return f"{', '.join([*files[:most], *more])} {'is' if len(files) == 1 else 'are'}"


def _shown(value: float | None, digits: int = 6) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.{digits}g}"


def _wrapped(text: str, width: int) -> list[str]:
    """In lines of a width, but for what has no spaces: addresses are copied whole."""
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
