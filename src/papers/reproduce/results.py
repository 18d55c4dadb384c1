"""Mine beside committed beside published: a line a number, with the tolerance within which it passes.

From records that are reused the same numbers must come out, to `SAME`. Where fits were made, a number may
move by `SHARE` of the half width of its committed 95 % interval: far less than another sample would move it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from papers.evidence.figure_data import PACKED, PLAIN
from papers.evidence.runs import CHECKOUT
from papers.evidence.verdicts import MISSING, NO, SHOWN, TOO_FEW, YES, verdict
from papers.qp.artifacts import PRINTED
from papers.qp.table1 import fidelity
from papers.qp.table1 import rows as table1
from papers.reproduce.names import ARTIFACTS, CLAIM, FIGURE, Target

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.verdicts import Finding, Line

    Rows = dict[tuple[str, str, str, str], list[dict[str, Any]]]
    """Protocol, block, row and quantity -> lines of the audit."""

SAME, SHARE = 1e-6, 0.1
DRAWN = 2e-5
"""Figures' numbers have six digits."""

Verdicts = dict[str, str]
"""By protocol."""


class Compared(NamedTuple):
    """A number.

    Attributes
    ----------
    what : str
        Protocol, row and quantity.
    mine, committed, published : float or None
    tolerance : float
        Of mine against committed.
    passed : bool
    note : str
    """

    what: str
    mine: float | None
    committed: float | None
    published: float | None
    tolerance: float
    passed: bool
    note: str = ""


class Result(NamedTuple):
    """Verdicts of ours and the committed ones, by claim or name and protocol, and the numbers behind."""

    mine: dict[str, Verdicts]
    committed: dict[str, Verdicts]
    lines: list[Compared]

    @property
    def passed(self) -> bool:
        """Whether verdicts are the committed ones (but those that had not enough) and every number passes."""
        same = all(
            self.mine[name].get(protocol) == was or was == TOO_FEW
            for name, verdicts in self.committed.items()
            for protocol, was in verdicts.items()
        )
        return same and all(line.passed for line in self.lines)


def committed_verdicts(claims: Iterable[str]) -> dict[str, Verdicts]:
    """The audit's."""
    audit = _committed("tables", "audit.csv")
    wanted = set(claims)
    found: dict[str, Verdicts] = {name: {} for name in claims}
    for line in audit[audit["id"].isin(wanted)].to_dict("records"):
        found[line["id"]][line["protocol"]] = line["verdict"]
    return found


def _committed(folder: str, file: str) -> pd.DataFrame:
    """A table that was made of the committed records."""
    import pandas as pd

    return pd.read_csv(CHECKOUT / folder / file)


def of(target: Target, results: Path, folder: Path, refitted: bool) -> Result:
    """What came of a target.

    Parameters
    ----------
    target : Target
    results : Path
        Records of this run.
    folder : Path
        Of this run, for figures.
    refitted : bool
        Whether any fit was made for it.
    """
    if target.kind == CLAIM:
        return _claim(target, results, refitted)
    if target.kind == FIGURE:
        return _figure(target, results, folder, refitted)
    return _table(target, results, refitted)


def _claim(target: Target, results: Path, refitted: bool) -> Result:
    found = ARTIFACTS[target.paper].findings(results, CHECKOUT / "data" / "published", target.claims)
    committed = committed_verdicts(target.claims)
    rows = _committed_rows(target.name)
    lines = [line for finding in found for line in _rows(finding, rows, refitted, committed[target.name])]
    mine: dict[str, Verdicts] = {target.name: {finding.protocol: finding.verdict for finding in found}}
    return Result(mine, committed, lines)


def _committed_rows(claim: str) -> Rows:
    """Rows of the audit, in its order: several may have one name."""
    table = _committed("tables", "audit_rows.csv")
    rows: Rows = {}
    for line in table[table["id"] == claim].fillna({"quantity": "", "row": ""}).to_dict("records"):
        key = line["protocol"], line["block"], line["row"], line["quantity"]
        rows.setdefault(key, []).append(line)
    return rows


def _rows(finding: Finding, rows: Rows, refitted: bool, was: Verdicts) -> Iterator[Compared]:
    """Rows of the block that decides, those of the audit that are not among them at last."""
    block = finding.blocks[0]
    for line in block.lines:
        named = rows.get((finding.protocol, block.name, line.row, line.quantity), [])
        had = named.pop(0) if named else None
        if line.sample.status in (SHOWN, MISSING):
            yield from _gone(finding.protocol, [had] if had else [])
            continue
        what = f"{finding.protocol}, {line.row}: {line.quantity} ({line.unit})"
        if had is None or had["status"] == MISSING:
            new = was.get(finding.protocol) == TOO_FEW
            yield Compared(
                what, _number(line.effect), None, _printed(line), math.inf, new, f"{line.sample.status}; new"
            )
            continue
        half = (had["high"] - had["low"]) / 2 if refitted else math.nan
        tolerance = max(SAME * max(1.0, abs(had["effect"])), SHARE * half if half == half else 0.0)
        close = _is_close(line.effect, had["effect"], tolerance)
        same = line.sample.status == had["status"]
        note = line.sample.status if same else f"{line.sample.status}, committed: {had['status']}"
        yield Compared(
            what,
            _number(line.effect),
            _number(had["effect"]),
            _printed(line),
            tolerance,
            close and same,
            note,
        )
    for key, left in rows.items():
        if key[:2] == (finding.protocol, block.name):
            yield from _gone(finding.protocol, left)


def _gone(protocol: str, rows: Iterable[dict[str, Any]]) -> Iterator[Compared]:
    """Rows of the audit that had data and have none now."""
    for had in rows:
        if had["status"] not in (SHOWN, MISSING):
            what = f"{protocol}, {had['row']}: {had['quantity']} ({had['unit']})"
            note = f"no data, committed: {had['status']}"
            yield Compared(what, None, _number(had["effect"]), None, SAME, False, note)


def _printed(line: Line) -> float | None:
    """The share that the paper prints, where a row's note has it."""
    found = re.search(r"printed ([\d.]+) %", line.note) if line.unit == "share" else None
    return float(found[1]) / 100 if found else None


def _is_close(mine: float, committed: float, tolerance: float) -> bool:
    """Within the tolerance, or neither is a number."""
    if math.isnan(mine) or math.isnan(committed):
        return math.isnan(mine) and math.isnan(committed)
    return abs(mine - committed) <= tolerance


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


# Table 1


def _table(target: Target, results: Path, refitted: bool) -> Result:
    """Cells, gaps and asterisks of the printed table; a verdict as of a claim whose rows they are."""
    summary = table1.load(results, CHECKOUT / "data" / "published" / PRINTED)
    mine = _of_row(fidelity.check(summary).round(6), target)
    committed = _of_row(_committed("tables", "qp_fidelity.csv"), target)
    lines = []
    for ours, theirs in zip(mine.to_dict("records"), committed.to_dict("records"), strict=True):
        printed = _number(ours["published"])
        tolerance = SAME * max(1.0, abs(theirs["ours"])) if theirs["ours"] == theirs["ours"] else SAME
        if refitted and ours["tolerance"] == ours["tolerance"]:
            tolerance = max(tolerance, SHARE * ours["tolerance"])
        same = ours["verdict"] == theirs["verdict"] and _is_close(ours["ours"], theirs["ours"], tolerance)
        what = " ".join((ours["check"], ours["row"], ours["metric"], ours["method"]))
        note = f"printed: {ours['verdict']}"
        note += f" within {ours['tolerance']:g}" if ours["tolerance"] == ours["tolerance"] else ""
        lines.append(
            Compared(what, _number(ours["ours"]), _number(theirs["ours"]), printed, tolerance, same, note)
        )
    under = fidelity.PROTOCOL
    verdicts = [{target.name: {under: _verdict(frame)}} for frame in (mine, committed)]
    return Result(verdicts[0], verdicts[1], lines)


def _of_row(checked: pd.DataFrame, target: Target) -> pd.DataFrame:
    return checked[checked["row"] == target.row] if target.row else checked


def _verdict(checked: pd.DataFrame) -> str:
    """In the words of the audit: a check that passes is a row that is yes."""
    status = {fidelity.PASS: YES, fidelity.MISS: NO, fidelity.ABSENT: MISSING}
    return verdict(status[x] for x in checked["verdict"] if x != fidelity.EXCEPT)


# Figures


def _figure(target: Target, results: Path, folder: Path, refitted: bool) -> Result:
    """The numbers drawn; verdicts are those of the claims that the figure belongs to."""
    stem = _stem(target.files[0])
    ARTIFACTS[target.paper].draw(stem, results, folder / "figures")
    lines = [_drawn(file, folder / "figures", 1e-3 if refitted else DRAWN) for file in target.files]
    committed = committed_verdicts(target.claims)
    found = ARTIFACTS[target.paper].findings(results, CHECKOUT / "data" / "published", target.claims)
    mine: dict[str, Verdicts] = {name: {} for name in target.claims}
    for finding in found:
        mine[finding.id][finding.protocol] = finding.verdict
    return Result(mine, committed, lines)


def _stem(file: str) -> str:
    return Path(file).name.partition(".")[0]


def _drawn(file: str, folder: Path, tolerance: float) -> Compared:
    """How many numbers are drawn; they pass if each is the committed one, to a relative tolerance."""
    import pandas as pd

    theirs = _committed("figures", file)
    beside = [(folder / file).with_name(f"{_stem(file)}.{ending}") for ending in (PLAIN, PACKED)]
    path = next((path for path in beside if path.is_file()), None)  # packed or not by its own size
    if path is None:
        return Compared(file, None, float(len(theirs)), None, tolerance, False, "not drawn")
    ours = pd.read_csv(path)
    note = "numbers drawn"
    same = list(ours.columns) == list(theirs.columns) and len(ours) == len(theirs)
    if same:
        largest = max(_difference(ours[name], theirs[name]) for name in ("x", "y", "value"))
        cells = [frame[["panel", "kind", "series", "item"]] for frame in (ours, theirs)]
        texts = [some.astype(str).where(some.notna(), "") for some in cells]
        same = largest <= tolerance and bool((texts[0] == texts[1]).all(axis=None))
        note = f"numbers drawn; largest relative difference {largest:.1e}"
    return Compared(file, float(len(ours)), float(len(theirs)), None, tolerance, same, note)


def _difference(ours: pd.Series, theirs: pd.Series) -> float:
    """Largest, relative to 1 or the committed number; infinite where one is missing."""
    if (ours.isna() != theirs.isna()).any():
        return math.inf
    both = ours.notna()
    if not both.any():
        return 0.0
    return float(((ours - theirs).abs() / theirs.abs().clip(lower=1.0))[both].max())
