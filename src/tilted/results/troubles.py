"""Lists of what went wrong, short enough to read and complete: every fit and seed is in them.

Fits with one cause share an entry and are named ``seeds/folds``, so that a thousand fits that
stopped for the same reason are one paragraph and a single odd one still stands out. The cause is the
first clause of a record's reason, without its numbers where they differ; the compact records have the rest.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tilted.results.published import row_of
from tilted.results.spans import spans

if TYPE_CHECKING:
    import pandas as pd

NUMBER = r"[-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|\b(?:inf|nan)\b)"
ENTRY = rf"(?:np\.float64\({NUMBER}\)|{NUMBER})"
VECTOR = rf"\({ENTRY}(?:, {ENTRY})+\)"


def reason_class(reason: str) -> str:
    """A reason's first clause without its numbers (``#``): what went wrong, not where."""
    return re.sub(NUMBER, "#", _clause(reason))


def _clause(reason: str) -> str:
    """A reason's first clause; of a vector, which may have sixty numbers, only that there is one."""
    return re.sub(VECTOR, "(#)", reason.split(";")[0]).strip(": ")


def trouble_entries(troubled: pd.DataFrame) -> list[tuple[str, str]]:
    """Troubled fits (`aggregate.troubled`) gathered by row, method, protocol, outcome and cause.

    Returns
    -------
    entries : list of (heading, fits)
        Such as ``("Wine1 ep (as-released), 5 failed: no progress", "0-2/1 7/4-5")``: seeds, then folds.
    """
    causes = troubled.assign(cause=troubled["reason"].map(reason_class))
    entries = []
    for name, fits in causes.groupby(["dataset", "method", "protocol", "outcome", "cause"], sort=False):
        dataset, method, protocol, outcome, cause = name
        seeds: dict[str, list[int]] = {}
        for seed, folds in fits.groupby("seed")["fold"]:
            seeds.setdefault(spans(folds), []).append(seed)
        named = " ".join(f"{spans(which)}/{folds}" for folds, which in seeds.items())
        clauses = {_clause(reason) for reason in fits["reason"]}
        shown = clauses.pop() if len(clauses) == 1 else cause
        heading = f"{row_of(dataset)} {method} ({protocol}), {len(fits)} {outcome}: {shown}"
        entries.append((heading, named))
    return entries


def left_out_entries(missing: pd.DataFrame) -> list[str]:
    """Left out seeds (`aggregate.left_out`) gathered by row, method, protocol and reason."""
    by_reason = missing.groupby(["dataset", "method", "protocol", "reason"], sort=False)["seed"]
    return [
        f"{row_of(dataset)} {method} ({protocol}), seed {spans(seeds)}: {reason}"
        for (dataset, method, protocol, reason), seeds in by_reason
    ]
