"""The audit's files: ``audit.csv`` (a row for each claim and protocol), ``audit_rows.csv``, ``audit.md``.

A paper is a `Chapter`. From one rule of the workflow to the next it goes as JSON, which runs no code when it
is read.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from papers.core import claims
from papers.core.grid import WIDTH, grid, items
from papers.core.store import RecordError, write_text
from papers.core.verdicts import MISSING, NO, UNDECIDED, YES, Block, Finding, Inference, Line

COLUMNS = tuple("id paper protocol verdict yes no undecided no_data effect interval test n note".split())
SAMPLE = ("low", "high", "p", "p_holm", "p_equivalent", "status")
FIRST, SIGNS, LAST = (
    names.split() for names in ("row quantity unit effect sd", "p_sign p_signed_rank", "n n_folds note")
)
GENERAL = tuple(f"general_{name}" for name in SAMPLE)
DECIDING = ("Protocol", "Row", "Quantity", "Effect", "95 % interval", "n", "Status")
"""Headings of the table below a claim."""
ROW_COLUMNS = ("id", "protocol", "block", *FIRST, *SAMPLE, *SIGNS, *GENERAL, *LAST)

UNITS = {
    "nats": (1000.0, "10^-3 nats", "+.3f"),
    "error": (100.0, "percentage points", "+.3f"),
    "share": (100.0, "%", ".1f"),
    "points": (100.0, "percentage points", "+.1f"),
    "excess": (1.0, "", ".3g"),
    "factor": (1.0, "ratio", ".2f"),
    "relative": (100.0, "% (log ratio)", "+.2f"),
    "rank": (1.0, "ranks", "+.2f"),
    "sweeps": (1.0, "sweeps", "+.1f"),
    "sets": (1.0, "", ".0f"),
}
"""Unit of a line -> (factor, printed unit, format)."""

CONTENTS = "Claims of"
"""Begins an item of the page's contents."""

LEGEND = """\
Each row of a claim is yes, no, undecided or without data. The verdict is the first of these that applies:
not testable (no data could decide), too few runs (less data than the claim needs), does not hold (no on at
least half of the rows, or on one row of a claim that says always, never or every), holds (yes on every
row), holds in part (yes on more than half), undecided. A verdict is about these data sets; `generalising`
is the verdict for new data sets of the same kind. Below each claim stand the rows that keep it from holding
or, where it holds, the row nearest to failing. `audit_rows.csv` has all rows; `docs/claims.md`
explains tests, margins and verdicts."""


@dataclass(frozen=True)
class Chapter:
    """A paper's chapter of the audit.

    Attributes
    ----------
    heading : str
        Of its summary, such as "Which claims of the QP paper hold".
    findings : sequence of Finding
        By claim, then by protocol.
    legend : str
        Protocols and margins of this paper's claims.
    notes : mapping
        Claim -> lines of text below it in ``audit.md``: dates of its records and their verification.
    """

    heading: str
    findings: Sequence[Finding]
    legend: str = ""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)


class Written(NamedTuple):
    """The contribution of one paper to the artifacts of all.

    Attributes
    ----------
    audit : list of Chapter
        One, or none without a record.
    warnings : list of str
        Warnings about its records (`provenance.warnings`).
    """

    audit: list[Chapter]
    warnings: list[str]


def write_chapters(chapters: Sequence[Chapter], path: str | Path) -> Path:
    """Write chapters to a file that `read_chapters` reads, to the last digit."""
    return write_text(
        path, json.dumps([asdict(chapter) for chapter in chapters], default=lambda value: value.item())
    )


def read_chapters(path: str | Path) -> list[Chapter]:
    """Return the chapters of a file.

    Raises
    ------
    RecordError
        It is no JSON, or lacks fields of chapters.
    """

    def as_line(fields: dict[str, Any]) -> Line:
        return Line(**fields | {name: Inference(**fields[name]) for name in ("sample", "general")})

    def as_block(fields: dict[str, Any]) -> Block:
        return Block(**fields | {"lines": tuple(map(as_line, fields["lines"]))})

    def as_finding(fields: dict[str, Any]) -> Finding:
        return Finding(**fields | {"blocks": tuple(map(as_block, fields["blocks"]))})

    try:
        chapters = json.loads(Path(path).read_text(encoding="utf-8"))
        return [
            Chapter(**fields | {"findings": list(map(as_finding, fields["findings"]))}) for fields in chapters
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise RecordError(f"{path} has no chapters of the audit ({error}); delete it and run again") from None


def write(chapters: Sequence[Chapter], folder: Path) -> list[Path]:
    """Write the three files, paper by paper."""
    findings = [finding for chapter in chapters for finding in chapter.findings]
    return [
        write_text(folder / "audit.csv", _csv(COLUMNS, map(_summary, findings))),
        write_text(folder / "audit_rows.csv", _csv(ROW_COLUMNS, _rows(findings))),
        write_text(folder / "audit.md", markdown(chapters)),
    ]


def _csv(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    import pandas as pd

    cells = [[_cell(value) for value in line] for line in lines]
    return pd.DataFrame(cells, columns=list(columns)).to_csv(index=False, lineterminator="\n")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.8g}"
    return str(value)


def _summary(finding: Finding) -> tuple[object, ...]:
    """Return a row of audit.csv, with the numbers of the line that is least favourable to the claim."""
    block, line = finding.blocks[0], finding.blocks[0].decisive
    paper = claims.load()[finding.id].paper
    statuses = list(block.rows().values())
    counts = [statuses.count(name) for name in (YES, NO, UNDECIDED, MISSING)]
    judged = (finding.id, paper, finding.protocol, finding.verdict, *counts)
    if line is None:
        return (*judged, "", "", block.test, 0, _note(finding))
    interval = f"[{line.sample.low:.6g}, {line.sample.high:.6g}]"
    return (*judged, f"{line.effect:.6g}", interval, block.test, line.n, _note(finding))


def _note(finding: Finding) -> str:
    block, line = finding.blocks[0], finding.blocks[0].decisive
    phrases = [f"{block.name}: {_counts(block)}", *_why_not(block)]
    if line is not None:
        phrases.append(f"numbers of the worst row, {line.row} ({line.quantity}, {line.unit})")
    phrases += [block.remark] if block.remark else []
    phrases += [f"generalising: {block.general_verdict}"] if block.has_general else []
    phrases += [f"{further.name}: {further.verdict}" for further in finding.blocks[1:] if further.rows()]
    return "; ".join(phrases)


def _counts(block: Block) -> str:
    """Return text such as ``yes on 3 of 9 rows, undecided on 1, no data on 5``."""
    statuses = list(block.rows().values())
    phrases = [f"{name} on {n}" for name in (NO, UNDECIDED, MISSING) if (n := statuses.count(name))]
    return ", ".join([f"{YES} on {statuses.count(YES)} of {len(statuses)} rows", *phrases])


def _why_not(block: Block) -> list[str]:
    """Return the reason if nothing was decided, else nothing."""
    if block.untestable:
        return [f"not testable: {block.untestable}"]
    short = [f"{name} {n} of {least}" for name, (n, least) in block.lacking.items()]
    return [f"below what the rule asks for: {', '.join(short)}{_against(block)}"] if short else []


def _against(block: Block) -> str:
    """Return text on the rows that are no, if one such row decides although too few were run."""
    rows = block.rows()
    no = [row for row, status in rows.items() if status == NO]
    if not (no and block.is_universal(rows)):
        return ""
    return f" (but one row that is no decides, and {' and '.join(no)} is: more runs of others cannot mend it)"


def _rows(findings: Iterable[Finding]) -> Iterable[tuple[object, ...]]:
    for finding in findings:
        for block in finding.blocks:
            for line in block.lines:
                first, signs, last = ([getattr(line, n) for n in names] for names in (FIRST, SIGNS, LAST))
                sample, general = (
                    [getattr(inference, name) for name in SAMPLE] for inference in (line.sample, line.general)
                )
                whose = (finding.id, finding.protocol, block.name)
                yield (*whose, *first, *sample, *signs, *general, *last)


def markdown(chapters: Sequence[Chapter]) -> str:
    """Return the page: a table of verdicts for each paper, then every claim with the rows that decide it."""
    lines = ["# Which claims hold", "", *LEGEND.splitlines(), ""]
    for chapter in chapters:
        lines += [f"# {chapter.heading}", "", *_overview(chapter), "", *chapter.legend.splitlines(), ""]
    lines += [*_contents(chapters), ""]
    return "\n".join(lines) + "\n" + "\n".join(map(_claims, chapters))


def _contents(chapters: Sequence[Chapter]) -> list[str]:
    """Return the places of each claim and its rows, an item for each paper, with anchors of headings."""
    lines = []
    for chapter in chapters:
        names = list(_by_claim(chapter))
        slugs = [re.sub(r"[^\w\- ]", "", _titled(name).lower()).replace(" ", "-") for name in names]
        links = [f"[{name}](#{slug})" for name, slug in zip(names, slugs, strict=True)]
        lines += [f"- {CONTENTS} {claims.load()[names[0]].paper}: {' '.join(links)}"] if names else []
    return lines


def _titled(name: str) -> str:
    return f"{name}: {claims.load()[name].title}"


def _overview(chapter: Chapter) -> list[str]:
    protocols = list(dict.fromkeys(finding.protocol for finding in chapter.findings))
    cells = []
    for name, findings in _by_claim(chapter).items():
        verdicts = {finding.protocol: _short(finding) for finding in findings}
        cells.append(
            (name, claims.load()[name].title, *(verdicts.get(protocol, "") for protocol in protocols))
        )
    return grid(("", "Claim", *protocols), "l" * (2 + len(protocols)), cells)


def _by_claim(chapter: Chapter) -> dict[str, list[Finding]]:
    by_claim: dict[str, list[Finding]] = {}
    for finding in chapter.findings:
        by_claim.setdefault(finding.id, []).append(finding)
    return by_claim


def _claims(chapter: Chapter) -> str:
    """Return every claim of a paper with its verdicts and the rows that decide them."""
    lines: list[str] = []
    for name, findings in _by_claim(chapter).items():
        claim = claims.load()[name]
        lines += [f"## {_titled(name)}", "", *_wrapped(claim.statement), ""]
        lines += [*_wrapped(f"{claim.rule} {requirements(claim)}"), ""]
        lines += [*chapter.notes[name], ""] if chapter.notes.get(name) else []
        lines += [*items(map(_judged, findings)), ""]
        rows = [_deciding_row(finding, line) for finding in findings for line in deciding(finding.blocks[0])]
        lines += [*grid(DECIDING, "lllrrrl", rows), ""] if rows else []
    return "\n".join(lines).rstrip() + "\n"


def deciding(block: Block) -> list[Line]:
    """Return the worst line of each row that keeps a claim from holding; if it holds, the worst of all."""
    by_row: dict[str, list[Line]] = {}
    for line in block.lines:
        by_row.setdefault(line.row, []).append(line)
    worst = [replace(block, lines=tuple(lines)).decisive for lines in by_row.values()]
    against = [line for line in worst if line is not None and line.sample.status in (NO, UNDECIDED)]
    return against or ([] if block.decisive is None else [block.decisive])


def _judged(finding: Finding) -> str:
    """Return the verdict under a protocol, with remarks and the verdicts of the other blocks."""
    block, *further = finding.blocks
    phrases = [f"**{finding.protocol}: {finding.verdict}** ({_escaped(block)})", *_why_not(block)]
    phrases += [block.remark] if block.remark else []
    phrases += [f"generalising: {block.general_verdict}"] if block.has_general else []
    phrases += [
        f"{_escaped(extra)}: {extra.verdict}" for extra in further if {*extra.rows().values()} - {MISSING}
    ]
    return f"{'; '.join(phrases)}."


def _escaped(block: Block) -> str:
    """Return a block's name in which x* does not begin emphasis."""
    return block.name.replace("*", r"\*")


def _deciding_row(finding: Finding, line: Line) -> tuple[str, ...]:
    """Return the cells of a line, by `DECIDING`."""
    effect = f"{number(line.effect, line.unit)} {UNITS[line.unit][1]}".rstrip()
    span = interval(line.sample.low, line.sample.high, line.unit)
    return (finding.protocol, line.row, line.quantity, effect, span, f"{line.n}", line.sample.status)


def requirements(claim: claims.Claim) -> str:
    """Return sentences: one row decides, if so, and the least data that may decide."""
    of_part = f" of '{claim.universal}'" if isinstance(claim.universal, str) else ""
    universal = f"One row{of_part} that is no decides." if claim.universal else ""
    needed = [_least("", claim.coverage), *(_least(f"under {p}, ", c) for p, c in claim.coverage_of.items())]
    least = "; ".join(filter(None, needed))
    return " ".join(filter(None, [universal, f"It takes at least {least}." if least else ""]))


def _least(where: str, coverage: Mapping[str, int]) -> str:
    return where + ", ".join(f"{n} {name}" for name, n in coverage.items()) if coverage else ""


def _short(finding: Finding) -> str:
    """Return the verdict and the number of rows with each status."""
    statuses = list(finding.blocks[0].rows().values())
    if statuses and set(statuses) == {MISSING}:
        return f"{finding.verdict} (no data on {len(statuses)})"
    names = (YES, NO, UNDECIDED, *([MISSING] if MISSING in statuses else []))
    counts = ", ".join(f"{statuses.count(name)} {name}" for name in names)
    return f"{finding.verdict} ({counts} of {len(statuses)})"


def number(value: float, unit: str) -> str:
    """Return an effect in the unit of `UNITS` that tables show; empty for NaN."""
    factor, _, form = UNITS[unit]
    return "" if math.isnan(value) else f"{factor * value:{form}}"


def interval(low: float, high: float, unit: str, form: str = "[{}, {}]") -> str:
    """Return both ends as `number` shows them; empty for NaN."""
    return "" if math.isnan(low) else form.format(number(low, unit), number(high, unit))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
