"""Numbers of a claim, or means, computed on repeated rows and on the same rows of the record."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from papers.core import records
from papers.core.agreement import CHAOTIC, Agreement, compare_frames
from papers.core.repeat import align
from papers.core.runs import CHECKOUT
from papers.core.statistics import share_interval
from papers.core.study import RUN
from papers.core.verdicts import MISSING, SHOWN
from papers.make import ARTIFACTS
from papers.reproduce.names import CLAIM, TABLE

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.repeat import Repeated
    from papers.core.study import Study
    from papers.core.verdicts import Finding, Line
    from papers.reproduce.names import Target

    Frames = Mapping[Study, pd.DataFrame]
    Lines = Mapping[tuple[str, str, str, int], Line]

PUBLISHED = CHECKOUT / "data" / "published"
SMALL = 1e-3
"""Difference of a statistic that never matters: it is the tolerance of scores."""
SCORES = ("test_error", "ntll")


class Statistic(NamedTuple):
    """A number computed on the repeated rows and on the same rows of the record.

    Attributes
    ----------
    name : str
    repeated, record : float
    allowed : float
        Half the width of the 95 % interval of the difference of two independent estimates, at least `SMALL`:
        each side has an interval, and the squares of their halves add up.
    """

    name: str
    repeated: float
    record: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Test if both numbers agree within the interval of their difference."""
        return bool(abs(self.repeated - self.record) <= self.allowed)


class Pairs(NamedTuple):
    """Rows of the record and their repetitions by study, the number of lost ones, and how rows agree."""

    recorded: Frames
    repeated: Frames
    lost: int
    agreements: Mapping[Study, Agreement]


def paired(chosen: Frames, repeated: Repeated, folder: Path) -> Pairs:
    """Pair repeated rows, and those of other studies that came with them, with the recorded ones."""
    recorded, repeated_frames, lost, agreements = {}, {}, 0, {}
    for study, rows in repeated.rows.items():
        if not rows or not repeated.origins[study] & chosen.keys():  # none, or of another target
            continue
        if study.key:
            among = chosen.get(study)
            before, after, gone = align(study, records.load(study, folder) if among is None else among, rows)
            recorded[study], repeated_frames[study] = before, after
            if among is not None:
                lost += gone
            agreements[study] = compare_frames(study, before, after)
        else:  # rows without names, such as variances: whole units are set beside each other
            repeated_frames[study] = study.frame({**row, RUN: ""} for row in rows)
            unit = list(study.unit)
            units = repeated_frames[study][unit].drop_duplicates()
            recorded[study] = records.load(study, folder).merge(units, on=unit)[list(study.types)]
    return Pairs(recorded, repeated_frames, lost, agreements)


def statistics(target: Target, pairs: Pairs) -> list[Statistic]:
    """Return the numbers of a target, computed on these rows from both sides."""
    if target.kind == CLAIM:
        return list(_of_claim(target, pairs))
    return list(_of_table(pairs)) if target.kind == TABLE else []


def _of_claim(target: Target, pairs: Pairs) -> Iterator[Statistic]:
    sides = []
    for frames in (pairs.recorded, pairs.repeated):
        with tempfile.TemporaryDirectory() as folder:
            records.put(folder, {study: frame.to_dict("records") for study, frame in frames.items()})
            judged = findings(target, Path(folder))
        sides.append(_by_name(judged))
    rows = [row for agreement in pairs.agreements.values() for row in agreement.rows]
    record, again = sides
    yield from compare_lines(record, again, chaotic=any(row.status == CHAOTIC for row in rows))


def compare_lines(record: Lines, repeated: Lines, chaotic: bool = False) -> Iterator[Statistic]:
    """Yield the effect of each line that both sides have.

    Where rows are ``chaotic``, an effect without an interval (of fewer than three units) is left out: nothing
    says by how much it may differ.
    """
    for name in record.keys() & repeated.keys():
        line, repeated_line = record[name], repeated[name]
        if math.isfinite(line.effect) and math.isfinite(repeated_line.effect):
            half = math.hypot(_half_width(line), _half_width(repeated_line))
            if chaotic and half == 0:
                continue
            allowed = max(SMALL * max(1.0, abs(line.effect)), half)
            protocol, row, quantity, _ = name
            yield Statistic(
                f"{protocol}, {row}: {quantity} ({line.unit})", repeated_line.effect, line.effect, allowed
            )


def _half_width(line: Line) -> float:
    """Return half the width of a line's interval, 0 if it has none.

    A share whose units all count alike, such as six won of six, has a t interval without width. It gets the
    exact binomial one, as does a share without an interval.
    """
    low, high = line.sample.low, line.sample.high
    if line.unit == "share" and line.n and not low < high:
        low, high = share_interval(round(line.effect * line.n), line.n)
    return (high - low) / 2 if math.isfinite(high - low) else 0.0


def _by_name(judged: list[Finding]) -> Lines:
    """Return the lines of the deciding blocks by protocol, row, quantity and a number among equal ones."""
    named: dict[tuple[str, str, str, int], Line] = {}
    for finding in judged:
        for line in _lines(finding):
            name = finding.protocol, line.row, line.quantity
            named[*name, sum(other[:3] == name for other in named)] = line
    return named


def _lines(finding: Finding) -> list[Line]:
    return [line for line in finding.blocks[0].lines if line.sample.status not in (SHOWN, MISSING)]


def findings(target: Target, folder: Path) -> list[Finding]:
    """Judge the claims of a target from a folder of results."""
    return ARTIFACTS[target.paper].findings(folder, PUBLISHED, target.claims)


def _of_table(pairs: Pairs) -> Iterator[Statistic]:
    """Yield the means of the scores of each data set and method."""
    for study, recorded in pairs.recorded.items():
        if not study.key:
            continue
        for (protocol, dataset, method), rows in recorded.groupby(["protocol", "dataset", "method"]):
            repeated_rows = pairs.repeated[study].loc[rows.index]
            for score in SCORES:
                before, after = rows[score].to_numpy(float), repeated_rows[score].to_numpy(float)
                half = 1.96 * math.hypot(before.std(), after.std()) / math.sqrt(len(before))
                name = f"{protocol}, {dataset}, {method}: mean {score}"
                yield Statistic(name, float(after.mean()), float(before.mean()), max(SMALL, half))


def committed_verdicts(target: Target) -> dict[str, dict[str, str]]:
    """Return the verdicts of the committed audit on a target's claims: claim -> protocol -> verdict."""
    import pandas as pd

    audit = pd.read_csv(CHECKOUT / "tables" / "audit.csv").to_dict("records")
    return {
        name: {row["protocol"]: row["verdict"] for row in audit if row["id"] == name}
        for name in target.claims
    }


def verdicts(target: Target, folder: Path) -> dict[str, dict[str, str]]:
    """Return today's verdicts on a target's claims from a folder of results."""
    judged: dict[str, dict[str, Any]] = {name: {} for name in target.claims}
    for finding in findings(target, folder) if target.claims else []:
        judged[finding.id][finding.protocol] = finding.verdict
    return judged
