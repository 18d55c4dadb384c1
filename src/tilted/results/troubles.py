"""Lists of what went wrong, short enough to read and complete: every fit and seed is in them.

Fits with one reason share an entry and are named ``seed/fold``, so that a thousand fits that
stopped for the same reason are one paragraph and a single odd one still stands out.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tilted.results.aggregate import LeftOutSeed, TroubledFit

WIDTH = 108


def trouble_entries(troubles: Sequence[TroubledFit]) -> list[tuple[str, str]]:
    """Troubled fits gathered by row, method, protocol, outcome and reason.

    Returns
    -------
    entries : list of (heading, fits)
        Such as ``("Wine1 ep (as-released), 3 failed: no progress", "0/1 2/4-5")``.
    """
    found: dict[tuple, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for fit in troubles:
        name = (fit.row, fit.method, fit.protocol, fit.outcome, fit.reason)
        found[name][fit.seed].append(fit.fold)
    entries = []
    for (row, method, protocol, outcome, reason), seeds in found.items():
        count = sum(map(len, seeds.values()))
        fits = " ".join(f"{seed}/{spans(folds)}" for seed, folds in sorted(seeds.items()))
        entries.append((f"{row} {method} ({protocol}), {count} {outcome}: {reason}", fits))
    return entries


def left_out_entries(missing: Sequence[LeftOutSeed]) -> list[str]:
    """Left out seeds gathered by row, method, protocol and reason, both metrics together."""
    found: dict[tuple, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for seed in missing:
        found[seed.row, seed.method, seed.protocol, seed.reason][seed.seed].append(seed.metric)
    gathered: dict[tuple, list[int]] = defaultdict(list)
    for name, seeds in found.items():
        for seed, metrics in seeds.items():
            gathered[*name, tuple(metrics)].append(seed)
    return [
        f"{row} {method} ({protocol}), {' and '.join(metrics)}, seed {spans(seeds)}: {reason}"
        for (row, method, protocol, reason, metrics), seeds in gathered.items()
    ]


def trouble_lines(troubles: Sequence[TroubledFit]) -> list[str]:
    """`trouble_entries` as wrapped Markdown list items, or ``None.``"""
    items = trouble_entries(troubles)
    return _wrapped(f"{heading} (seed/fold: {fits})" for heading, fits in items)


def left_out_lines(missing: Sequence[LeftOutSeed]) -> list[str]:
    """`left_out_entries` as wrapped Markdown list items, or ``None.``"""
    return _wrapped(left_out_entries(missing))


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers as text with runs shortened: 0, 1, 2, 5 -> ``0-2,5``."""
    runs: list[list[int]] = []
    for value in sorted(numbers):
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _wrapped(items: Iterable[str]) -> list[str]:
    lines: list[str] = []
    for item in items:
        lines += textwrap.wrap(f"- {item}", WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    return lines or ["None."]
