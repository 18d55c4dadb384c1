"""Some of the reused lines made again by execution: what lets the others be believed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from papers.evidence import records
from papers.evidence.verification import verify
from papers.evidence.verification.outcome import DIFFERS, REPORTED

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from papers.core.study import Study
    from papers.evidence.verification.verified import Check

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
    def differing(self) -> list[Check]:
        """What differs from its record."""
        return [check for check in self.checks if check.passed == DIFFERS]

    @property
    def passed(self) -> bool:
        """Whether something was made again, or nothing was there; what differs is little and judged too."""
        stands = _fits(self.differing) == self.replaced <= ELSEWHERE * _fits(self.checks)
        return stands and (bool(self.checks) or self.lines == 0)

    def sentence(self) -> str:
        """What was found."""
        chaotic = _fits([check for check in self.checks if check.passed == REPORTED])
        differ = _fits(self.differing)
        text = f"{_fits(self.checks)} of {self.lines:,} recorded lines made again, "
        text += f"{differ} {'differs' if differ == 1 else 'differ'}"
        text += f" ({self.replaced} judged in the records' place)" if self.replaced else ""
        text += f", {chaotic} chaotic ones ended elsewhere" if chaotic else ""
        text += f"; {self.long:,} longer than {LONGEST:g} s were not drawn from" if self.long else ""
        return text + (f"; not made again: {self.missing[0]}" if self.missing else "")


def _fits(checks: Sequence[Check]) -> int:
    """Lines that checks are of: one may have been made again in two ways."""
    return len({(check.study, check.group, check.fit) for check in checks})


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
    replaced = 0
    for study in dict.fromkeys(study for study, _ in checked.elsewhere):
        replaced += _put_in_place(study, [line for x, line in checked.elsewhere if x == study], folder)
    long = sum(int((~_is_short(frame)).sum()) for study, frame in frames.items() if study.again)
    lines = sum(len(frame) for study, frame in frames.items() if study.again)
    return Sampled(checked.checks, checked.missing, replaced, long, lines)


def _put_in_place(study: Study, lines: Sequence[dict[str, Any]], folder: Path) -> int:
    """Put lines in the place of the recorded ones, of several of one name the last; how many there are."""
    made = {tuple(study.line(line)[name] for name in study.key): line for line in lines}
    recorded = records.load(study, folder)
    unit = list(study.unit or study.key)
    touched = {tuple(line[name] for name in unit) for line in made.values()}
    whole = [line for line in recorded.to_dict("records") if tuple(line[name] for name in unit) in touched]
    put = [made.get(tuple(line[name] for name in study.key), line) for line in whole]
    records.put(folder, {study: put})
    return len(made)
