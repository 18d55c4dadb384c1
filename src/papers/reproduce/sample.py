"""Some of the reused lines made again by execution: what lets the others be believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import records, verify
from papers.evidence.verified import DIFFERS, REPORTED

if TYPE_CHECKING:
    import pandas as pd

    from papers.evidence.study import Study
    from papers.evidence.verified import Check

LINES = 8
"""Of each study."""
LONGEST, TOGETHER = 20.0, 60.0
"""Processor seconds that a drawn line, and all those of a study, took at most when they were recorded."""
ELSEWHERE = 0.25
"""Share of the lines made again that may end elsewhere; they are judged in the place of their records."""


class Sampled(NamedTuple):
    """What was found by making lines again.

    Attributes
    ----------
    checks : list
    missing : list of str
        What could not be made again.
    replaced : int
        Lines that ended elsewhere, and are in the place of the recorded ones in what is judged.
    long, lines : int
        Lines too long to be drawn; of how many.
    """

    checks: list[Check]
    missing: list[str]
    replaced: int
    long: int
    lines: int

    @property
    def differing(self) -> int:
        """Lines that differ from their records."""
        return sum(check.passed == DIFFERS for check in self.checks)

    @property
    def passed(self) -> bool:
        """Whether something was made again, or nothing was there; what differs is little and judged too."""
        stands = self.differing == self.replaced <= ELSEWHERE * len(self.checks)
        return stands and (bool(self.checks) or self.lines == 0)

    def sentence(self) -> str:
        """What was found."""
        chaotic = sum(check.passed == REPORTED for check in self.checks)
        text = f"{len(self.checks)} of {self.lines:,} recorded lines made again, {self.differing} differ"
        text += f" ({self.replaced} in their records' place below)" if self.replaced else ""
        text += f", {chaotic} chaotic ones ended elsewhere" if chaotic else ""
        text += f"; {self.long:,} longer than {LONGEST:g} s were not drawn from" if self.long else ""
        return text + (f"; not made again: {self.missing[0]}" if self.missing else "")


def drawn(frames: Mapping[Study, pd.DataFrame], number: int, seed: int) -> dict[Study, pd.DataFrame]:
    """At most so many lines of each study that can make its lines again, with a column ``scratch``.

    Where the records have times, short ones are drawn (`LONGEST`, `TOGETHER`).
    """
    chosen = {}
    for study, frame in frames.items():
        short = frame[_is_short(frame)]
        if study.again is None or short.empty:
            continue
        rng = np.random.default_rng([seed, *study.file.encode()])
        lines = short.iloc[rng.permutation(len(short))[:number]]
        if "seconds" in lines:
            lines = lines[(lines["seconds"].fillna(0.0).cumsum() <= TOGETHER).to_numpy()]
        chosen[study] = lines.sort_index().assign(scratch=False)
    return chosen


def _is_short(frame: pd.DataFrame) -> np.ndarray:
    if "seconds" not in frame:
        return np.ones(len(frame), dtype=bool)
    return (frame["seconds"].fillna(0.0) <= LONGEST).to_numpy()


def made_again(
    frames: Mapping[Study, pd.DataFrame],
    folder: Path,
    number: int,
    seed: int,
    mirror: str | None,
    jobs: int,
    tell: Callable[[str], None],
) -> Sampled:
    """Make a sample again.

    What was found goes into ``verified.csv`` of the folder of records, and lines that ended elsewhere into
    the records, so that what is judged counts them.
    """
    checked = verify.execute(drawn(frames, number, seed), folder, mirror, jobs, tell)
    for study, line in checked.elsewhere:
        records.put(folder, {study: [line]})
    long = sum(int((~_is_short(frame)).sum()) for study, frame in frames.items() if study.again)
    lines = sum(len(frame) for study, frame in frames.items() if study.again)
    return Sampled(checked.checks, checked.missing, len(checked.elsewhere), long, lines)
