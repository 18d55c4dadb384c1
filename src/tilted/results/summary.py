"""Everything the table and the report say, computed once from compact records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilted.results import aggregate, gaps, published, runs, verified
from tilted.results.compact import FOLDS

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

    from tilted.results.verified import Check


@dataclass(frozen=True)
class Summary:
    """Frames (see the functions of the same names) and the provenance of the records.

    Attributes
    ----------
    table : pandas.DataFrame
        `published.compare` of `aggregate.summarise`.
    gaps : pandas.DataFrame
        `gaps.ntll_gaps`.
    troubled, left_out, runtimes : pandas.DataFrame
        Of `aggregate`.
    runs : list of dict
        `runs.entries`.
    environments : dict
        Hash -> packages and processor.
    printed : dict
        `published.printed`: every published cell, whether its method was run or not.
    sizes, asterisks : dict
        Row -> printed (instances, features); row -> whether the paper prints an asterisk.
    checks : list of Check
        Reruns that count (`verified.counting`).
    """

    table: pd.DataFrame
    gaps: pd.DataFrame
    troubled: pd.DataFrame
    left_out: pd.DataFrame
    runtimes: pd.DataFrame
    runs: Sequence[dict[str, Any]]
    environments: dict[str, dict[str, Any]]
    printed: dict[tuple[str, str, str], tuple[float, float]]
    sizes: dict[str, tuple[int, int]]
    asterisks: dict[str, bool]
    checks: Sequence[Check] = ()

    @property
    def protocols(self) -> list[str]:
        """Protocols in the order of the table."""
        return list(dict.fromkeys(self.table["protocol"]))


def summarise(
    frame: pd.DataFrame,
    stamps: runs.Runs,
    path: str | Path,
    folds: int = FOLDS,
    checks: Sequence[Check] = (),
) -> Summary:
    """Summary of a frame (`compact.read`), its stamps, the published table at ``path``, and reruns."""
    return Summary(
        table=published.compare(aggregate.summarise(frame, folds), path),
        gaps=gaps.ntll_gaps(frame, folds),
        troubled=aggregate.troubled(frame),
        left_out=aggregate.left_out(frame, folds),
        runtimes=aggregate.runtimes(frame),
        runs=(entries := list(runs.entries(stamps, frame))),
        environments={name: stamps.environments[name] for e in entries if (name := e["environment"])},
        printed=published.printed(path),
        sizes=published.sizes(path),
        asterisks=published.asterisks(path),
        checks=verified.counting(checks, frame),
    )
