"""Findings as files: ``audit.csv`` (a line a claim and protocol), ``audit_rows.csv``, ``audit.md``.

A paper is a `Chapter`; another paper needs its claims judged, its words, and nothing here.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from papers.evidence import claims
from papers.evidence.grid import WIDTH, grid
from papers.evidence.store import write_text
from papers.evidence.verdicts import MISSING, NO, UNDECIDED, YES, Block, Finding, Line

if TYPE_CHECKING:
    from papers.evidence.verdicts import Inference

COLUMNS = tuple("id paper protocol verdict yes no undecided no_data effect interval test n note".split())
SAMPLE = ("low", "high", "p", "p_holm", "p_equivalent", "status")
FIRST, SIGNS, LAST = (
    names.split() for names in ("row quantity unit effect sd", "p_sign p_signed_rank", "n n_folds note")
)
GENERAL = tuple(f"general_{name}" for name in SAMPLE)
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

CONTENTS = "Every claim with its rows,"
"""Begins an item of the page's contents."""

SCORED = ["sd", "On sample, 95 %", "p", "Equiv. p", "Generalising, 95 %", "p"]

LEGEND = """\
A verdict comes from rows, of which each is yes, no, undecided or without data, and is the first of these that
is true. Not testable: no data could decide. Not enough run: below the least that may decide, which the claim
names. Does not hold: no on at least half of the rows; on one if the claim says always, never or every. Holds:
yes on every row. Holds in part: on more than half. Undecided: otherwise. The counts stand in brackets.
The verdict is about this sample (the data sets as they are; chance is in the splits, seeds are
independent); what a new data set of the same kind would be expected to show, the generalising estimate,
stands beside it in the row tables and is much less certain. What a verdict does not say stands beside the
claim's wording. Tests, margins and the rule are explained in `docs/claims.md`, every number is in
`audit_rows.csv`."""


@dataclass(frozen=True)
class Chapter:
    """A paper's part of the audit.

    Attributes
    ----------
    heading : str
        Of its summary, such as "Which claims of the QP paper hold".
    findings : sequence of Finding
        By claim, then by protocol.
    legend : str
        What a reader of this paper's claims has to know besides `LEGEND`.
    notes : mapping
        Claim -> lines beside it in ``audit.md``.
    appendix : str
        Markdown after its last claim.
    """

    heading: str
    findings: Sequence[Finding]
    legend: str = ""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    appendix: str = ""


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
    """A line of audit.csv: the numbers are of the row on which the claim is worst off."""
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
    parts = [f"{block.name}: {_counts(block)}", *_why_not(block)]
    if line is not None:
        parts.append(f"numbers of the worst row, {line.row} ({line.quantity}, {line.unit})")
    parts += [block.remark] if block.remark else []
    parts += [f"generalising: {block.general_verdict}"] if block.has_general else []
    parts += [f"{other.name}: {other.verdict}" for other in finding.blocks[1:] if other.rows()]
    return "; ".join(parts)


def _counts(block: Block) -> str:
    """Such as ``yes on 3 of 9 rows, undecided on 1, no data on 5``."""
    statuses = list(block.rows().values())
    others = [f"{name} on {n}" for name in (NO, UNDECIDED, MISSING) if (n := statuses.count(name))]
    return ", ".join([f"{YES} on {statuses.count(YES)} of {len(statuses)} rows", *others])


def _why_not(block: Block) -> list[str]:
    """Why nothing was decided, where the verdict is that."""
    if block.untestable:
        return [f"not testable: {block.untestable}"]
    short = [f"{name} {n} of {least}" for name, (n, least) in block.lacking.items()]
    return [f"below what the rule asks for: {', '.join(short)}{_against(block)}"] if short else []


def _against(block: Block) -> str:
    """Where too little was run of a claim that one row against it decides, the rows that are."""
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
                    [getattr(part, name) for name in SAMPLE] for part in (line.sample, line.general)
                )
                whose = (finding.id, finding.protocol, block.name)
                yield (*whose, *first, *sample, *signs, *general, *last)


def markdown(chapters: Sequence[Chapter]) -> str:
    """The audit to read: a summary of one screen for each paper, then every claim with its rows."""
    lines = ["# Which claims hold", ""]
    for chapter in chapters:
        lines += [f"# {chapter.heading}", "", *_overview(chapter), "", *chapter.legend.splitlines(), ""]
    lines += [*LEGEND.splitlines(), "", *_contents(chapters), ""]
    text = "\n".join(lines)
    return text + "\n" + "\n".join(_claims(chapter) + chapter.appendix for chapter in chapters)


def _contents(chapters: Sequence[Chapter]) -> list[str]:
    """Where each claim and its rows are, an item a paper; anchors as forges make them of headings."""
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
    """Every claim of a paper with its rows."""
    lines: list[str] = []
    for name, findings in _by_claim(chapter).items():
        claim = claims.load()[name]
        lines += [f"## {_titled(name)}", ""]
        lines += _wrapped(claim.said) + [""]
        lines += _wrapped(f"{claim.rule} {_asked(claim)}") + [""]
        lines += (
            _wrapped(f"Changed after the numbers were seen: {claim.changed}") + [""] if claim.changed else []
        )
        lines += [*chapter.notes[name], ""] if chapter.notes.get(name) else []
        for finding in findings:
            lines += _section(finding)
    return "\n".join(lines).rstrip() + "\n"


def _asked(claim: claims.Claim) -> str:
    """Whether one row decides, and the least that may."""
    of_part = f" of '{claim.universal}'" if isinstance(claim.universal, str) else ""
    universal = f"One row{of_part} that is no decides." if claim.universal else ""
    asked = [_least("", claim.coverage), *(_least(f"under {p}, ", c) for p, c in claim.coverage_of.items())]
    least = "; ".join(filter(None, asked))
    return " ".join(filter(None, [universal, f"It takes at least {least}." if least else ""]))


def _least(where: str, coverage: Mapping[str, int]) -> str:
    return where + ", ".join(f"{n} {name}" for name, n in coverage.items()) if coverage else ""


def _short(finding: Finding) -> str:
    """The verdict and how many rows are what."""
    statuses = list(finding.blocks[0].rows().values())
    if statuses and set(statuses) == {MISSING}:
        return f"{finding.verdict} (no data on {len(statuses)})"
    names = (YES, NO, UNDECIDED, *([MISSING] if MISSING in statuses else []))
    counts = ", ".join(f"{statuses.count(name)} {name}" for name in names)
    return f"{finding.verdict} ({counts} of {len(statuses)})"


def _section(finding: Finding) -> list[str]:
    lines = [f"### {finding.id}, {finding.protocol}: {finding.verdict}", ""]
    for k, block in enumerate(finding.blocks):
        tested = [line for line in block.lines if line.sample.status != MISSING]
        if k and not tested:
            continue
        lines += _wrapped(_paragraph(block)) + [""]
        for unit in dict.fromkeys(line.unit for line in tested):
            lines += [*_table([line for line in tested if line.unit == unit], unit), ""]
        for sentence in _absent(line for line in block.lines if line.sample.status == MISSING):
            lines += [*_wrapped(sentence), ""]
    return lines


def _absent(lines: Iterable[Line]) -> Iterable[str]:
    """What there is no data on, a sentence for each reason and set of rows."""
    rows: dict[tuple[str, str], dict[str, None]] = {}
    for line in lines:
        rows.setdefault((line.quantity, line.note), {})[line.row] = None
    quantities: dict[tuple[str, str], list[str]] = {}
    for (quantity, note), names_of_rows in rows.items():
        quantities.setdefault((note, ", ".join(names_of_rows)), []).append(quantity)
    for (note, where), names in quantities.items():
        yield f"No data on {' and '.join(names)}{f' ({note})' if note else ''}: {where}."


def _paragraph(block: Block) -> str:
    line = block.decisive
    name = block.name.replace("*", r"\*")  # x* is no emphasis
    judged = f"**{name}: {block.verdict}**, {_counts(block)}" if block.rows() else f"**{name}**, shown only"
    parts = [judged, *_why_not(block)]
    if line is not None:
        numbers = f"{number(line.effect, line.unit)} {_interval(line.sample, line)} {UNITS[line.unit][1]}"
        parts.append(f"worst off on {line.row}: {line.quantity}, {numbers.rstrip()}")
    parts += [block.remark] if block.remark else []
    parts += [f"generalising: {block.general_verdict}"] if block.has_general else []
    return f"{'; '.join(parts)}. Test: {block.test}."


def _table(lines: Sequence[Line], unit: str) -> list[str]:
    """Rows of one unit; estimates of scores have a spread and a second estimand, others have not."""
    several = len({line.quantity for line in lines}) > 1
    scored = any(not math.isnan(line.sd) for line in lines)
    header = ["Data", *(["Quantity"] if several else []), _heading(lines[0], several, unit)]
    header += SCORED if scored else ["Interval"]
    header += ["n", "Status", "Note"]
    align = "l" * (1 + several) + "r" * (len(header) - 3 - several) + "ll"
    return grid(header, align, [_table_row(line, several, scored) for line in lines])


def _heading(line: Line, several: bool, unit: str) -> str:
    name, printed = "Effect" if several else line.quantity, UNITS[unit][1]
    return f"{name} ({printed})" if printed else name


def _table_row(line: Line, several: bool, scored: bool) -> list[str]:
    cells = [line.row, *([line.quantity] if several else []), number(line.effect, line.unit)]
    if scored:
        cells += [
            number(line.sd, line.unit).lstrip("+"),
            _interval(line.sample, line),
            _p(line.sample.p_holm),
            _p(line.sample.p_equivalent),
            _interval(line.general, line),
            _p(line.general.p_holm),
        ]
    else:
        cells.append(_interval(line.sample, line))
    return [*cells, f"{line.n}", line.sample.status, line.note]


def number(value: float, unit: str) -> str:
    """An effect in the unit of `UNITS` that tables show; empty for NaN."""
    factor, _, form = UNITS[unit]
    return "" if math.isnan(value) else f"{factor * value:{form}}"


def interval(low: float, high: float, unit: str, form: str = "[{}, {}]") -> str:
    """Both ends as `number` shows them; empty for NaN."""
    return "" if math.isnan(low) else form.format(number(low, unit), number(high, unit))


def _interval(inference: Inference, line: Line) -> str:
    return interval(inference.low, inference.high, line.unit)


def _p(value: float) -> str:
    if math.isnan(value):
        return ""
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, break_long_words=False)
